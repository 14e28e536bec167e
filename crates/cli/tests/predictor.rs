//! `mavis train predictor` and the player made of what it trains.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_data::bag::{BagRecord, BagWriter};
use mavis_game::{Game as _, Position, Rules};
use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

const CONFIG: &str =
    "shape = [32, 1, 2, 64]\nbins = 16\nsamples = 8\nbudget = { steps = 3 }\nlog_every = 1\n";

fn mavis(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mavis"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[track_caller]
fn check_good(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = mavis(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {message}");
    (String::from_utf8(output.stdout).unwrap(), message)
}

#[track_caller]
fn check_bad(folder: &Path, arguments: &[&str], part: &str) {
    let output = mavis(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.contains(part), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
}

/// The values of the moves of the start position, made up, one record each.
fn write_bag(path: &Path) {
    let start = Position::start(Rules::Chess);
    let mut bag = BagWriter::create(path).unwrap();
    for (idx, mv) in start.legal_moves().into_iter().enumerate() {
        let record = BagRecord::ActionValue(start.to_string(), start.move_text(mv), idx as f64 / 20.0);
        bag.write(&record).unwrap();
    }
    bag.finish().unwrap();
}

#[test]
fn a_predictor_is_trained_goes_on_and_plays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_bag(&folder.join("values.bag"));
    std::fs::write(folder.join("p.toml"), format!("{CONFIG}[[data]]\npath = \"values.bag\"\n")).unwrap();
    let train = ["train", "predictor", "--target", "av", "--config", "p.toml", "--out", "run"];
    let (_, told) = check_good(folder, &train);
    assert!(told.contains("20 samples for target av, 8 a step"), "{told}");
    assert!(told.lines().any(|line| line.starts_with("step       3")), "{told}");
    let (_, told) = check_good(folder, &[&train[..], &["--set", "budget.steps=5"]].concat());
    assert!(told.contains("going on from step 3"), "{told}");
    let metrics = std::fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap();
    assert_eq!(metrics.matches("\"event\":\"step\"").count(), 5, "{metrics}");

    check_good(folder, &["train", "plot", "run", "--out", "run.svg"]);
    assert!(std::fs::read_to_string(folder.join("run.svg")).unwrap().contains("answers, nats"));

    let (info, _) = check_good(folder, &["model", "info", "run/model.safetensors"]);
    assert!(info.contains("predictor av into 16 bins") && info.contains("after 5 steps"), "{info}");
    check_bad(
        folder,
        &["model", "export", "run/model.safetensors", "--to", "hf", "--out", "x"],
        "vocabulary",
    );

    // A back-rank mate in one, after Black's set-up move.
    let puzzles = "FEN,Moves,Rating\n6k1/5ppp/p7/8/8/8/5PPP/3R2K1 b - - 0 30,a6a5 d1d8,600\n";
    std::fs::write(folder.join("puzzles.csv"), puzzles).unwrap();
    let player = "predictor:run/model.safetensors";
    let (table, _) =
        check_good(folder, &["eval", "puzzles", "--player", player, "--input", "puzzles.csv", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(shown["n"], 1);
    let (text, _) = check_good(folder, &["analyze", "--game", "chess", "--player", player]);
    assert!(text.contains("e2e4") || text.contains("e4"), "{text}");
}

#[test]
fn bad_settings_and_files_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_bag(&folder.join("values.bag"));
    let config = |text: &str| std::fs::write(folder.join("p.toml"), text).unwrap();
    let train = ["train", "predictor", "--config", "p.toml", "--out", "run"];
    config(CONFIG);
    check_bad(folder, &train, "no data to train on");
    check_bad(folder, &[&train[..], &["--target", "xv"]].concat(), "unknown target 'xv' (known: av sv bc)");
    check_bad(
        folder,
        &[&train[..], &["--set", "bins=17"]].concat(),
        "bins must be a multiple of 8 from 16 to 256",
    );
    check_bad(folder, &[&train[..], &["--set", "depth=3"]].concat(), "unknown field `depth`");
    config(&format!("{CONFIG}[[data]]\npath = \"values.bag\"\n"));
    check_bad(
        folder,
        &[&train[..], &["--target", "sv"]].concat(),
        "is not of the kind that target sv learns from",
    );
    config(&format!("{CONFIG}[[data]]\npath = \"nothing.bag\"\n"));
    check_bad(folder, &train, "nothing.bag");
    let play = |player: &str, part: &str| {
        let arguments = ["analyze", "--game", "chess", "--player", player];
        check_bad(folder, &arguments, part);
    };
    play("predictor", "needs the file of a predictor");
    play("predictor:values.bag", "values.bag");
    play("predictor:x,policy=best", "policy");
}
