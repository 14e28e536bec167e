//! `mavis train predictor` and the player made of what it trains.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_data::bag::{BagRecord, BagWriter};
use mavis_game::{Game as _, Position, Rules};
use mavis_testkit::Program;
use std::path::Path;

const CONFIG: &str =
    "shape = [32, 1, 2, 64]\nbins = 16\nsamples = 8\nbudget = { steps = 3 }\nlog_every = 1\n";

fn mavis() -> Program {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    write_bag(&mavis.folder().join("values.bag"));
    mavis
}

/// Runs a command that must succeed: what it answered, and what it told beside.
fn check_good(mavis: &Program, line: &str) -> (String, String) {
    let output = mavis.output(line);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {message}");
    (String::from_utf8(output.stdout).unwrap(), message)
}

/// The values of the moves of the start position, made up, one record each.
pub(crate) fn write_bag(path: &Path) {
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
    let mavis = mavis();
    mavis.write("p.toml", format!("{CONFIG}[[data]]\npath = \"values.bag\"\n"));
    let train = "train predictor --target av --config p.toml --out run";
    let (_, told) = check_good(&mavis, train);
    assert!(told.contains("20 samples for target av, 8 a step"), "{told}");
    assert!(told.lines().any(|line| line.starts_with("step       3")), "{told}");
    let (_, told) = check_good(&mavis, &format!("{train} --set budget.steps=5"));
    assert!(told.contains("continuing from step 3"), "{told}");
    let read = |name: &str| std::fs::read_to_string(mavis.folder().join(name)).unwrap();
    let metrics = read("run/metrics.jsonl");
    assert_eq!(metrics.matches("\"event\":\"step\"").count(), 5, "{metrics}");

    mavis.run("train plot run --out run.svg");
    assert!(read("run.svg").contains("answers, nats"));

    let info = mavis.stdout("model info run/model.safetensors");
    assert!(info.contains("predictor av into 16 bins") && info.contains("after 5 steps"), "{info}");
    mavis.check_bad("model export run/model.safetensors --to hf --out x", "vocabulary");

    // A back-rank mate in one, after Black's set-up move.
    let puzzles = "FEN,Moves,Rating\n6k1/5ppp/p7/8/8/8/5PPP/3R2K1 b - - 0 30,a6a5 d1d8,600\n";
    mavis.write("puzzles.csv", puzzles);
    let player = "--player predictor:run/model.safetensors";
    let table = mavis.stdout(&format!("eval puzzles {player} --input puzzles.csv --json"));
    let shown: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(shown["n"], 1);
    let text = mavis.stdout(&format!("analyze --game chess {player}"));
    assert!(text.contains("e2e4") || text.contains("e4"), "{text}");
}

#[test]
fn positions_that_are_measured_are_not_learned_from() {
    let mavis = mavis();
    // Black's knight goes home, and the puzzle is the start position.
    let before = "rnbqkb1r/pppppppp/5n2/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 3 2";
    mavis.write("puzzles.csv", format!("FEN,Moves,Rating\n{before},f6g8 e2e4,600\n"));
    let config =
        format!("{CONFIG}[[data]]\npath = \"values.bag\"\n[puzzles]\npath = \"puzzles.csv\"\nlimit = 1\n");
    mavis.write("p.toml", config);
    mavis.check_bad("train predictor --config p.toml --out run", "no data to train on");
}

#[test]
fn bad_settings_and_files_are_one_line() {
    let mavis = mavis();
    let config = |text: &str| mavis.write("p.toml", text);
    let check_bad = |flags: &str, part: &str| {
        mavis.check_bad(&format!("train predictor --config p.toml --out run {flags}"), part);
    };
    config(CONFIG);
    check_bad("", "no data to train on");
    check_bad("--target xv", "unknown target 'xv' (known: av sv bc)");
    check_bad("--set bins=17", "bins must be a multiple of 8 from 16 to 256");
    check_bad("--set depth=3", "unknown field `depth`");
    config(&format!("{CONFIG}[[data]]\npath = \"values.bag\"\n"));
    check_bad("--target sv", "has no data for target sv");
    config(&format!("{CONFIG}[[data]]\npath = \"nothing.bag\"\n"));
    check_bad("", "nothing.bag");
    for (player, part) in [
        ("predictor", "expected the file of a predictor"),
        ("predictor:values.bag", "values.bag"),
        ("predictor:x,policy=best", "policy"),
    ] {
        mavis.check_bad(&format!("analyze --game chess --player {player}"), part);
    }
}
