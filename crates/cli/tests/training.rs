//! `mavis train` by the real binary: data from self-play, a few steps, going on, starting from weights, curves.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use std::{fs, path::Path, process::Command};

fn mavis(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mavis"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8(text).expect("output is text"))
}

const SETTINGS: &str = r#"
shape = [32, 1, 1, 64]
budget = { steps = 6 }
log_every = 2
measure_every = 3
validation_positions = 20
[[data]]
path = "games/annotations"
game = "connect4"
[[validation]]
path = "valid/annotations"
game = "connect4"
[batch]
examples = 8
[examples]
mirrored = 0.5
ended = 0.3
"#;

#[test]
fn a_run_is_trained_continued_started_from_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let done = |arguments: &[&str]| {
        let (code, text) = mavis(folder, arguments);
        assert_eq!(code, 0, "{arguments:?}: {text}");
        text
    };
    for (out, seed) in [("games", "1"), ("valid", "2")] {
        let game = ["data", "selfplay", "--game", "connect4", "--random-plies", "22", "--epsilon", "1"];
        done(&[&game[..], &["-n", "12", "--seed", seed, "--jobs", "1", "--out", out]].concat());
    }
    fs::write(folder.join("settings.toml"), SETTINGS).unwrap();
    let train = ["train", "mav", "--config", "settings.toml"];
    done(&[&train[..], &["--out", "one"]].concat());
    let again = done(&[&train[..], &["--out", "one", "--set", "budget={steps=8}"]].concat());
    assert!(again.contains("going on from step 6"), "{again}");
    done(&[&train[..], &["--out", "two", "--from", "one/model.safetensors", "--set", "seed=2"]].concat());

    let lines = fs::read_to_string(folder.join("one/metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let measured: Vec<_> = lines.iter().filter(|line| line["event"] == "measure").collect();
    assert!(measured.len() >= 3, "at steps 3, 6 and 8: {measured:?}");
    let quality = &measured[0]["quality"]["annotations"];
    assert!(quality["ends"].is_f64() && quality["false_ends"].is_f64(), "{quality}");

    done(&[
        "train",
        "plot",
        "one",
        "two",
        "--name",
        "from nothing",
        "--against",
        "steps",
        "--out",
        "curves.svg",
    ]);
    let picture = fs::read_to_string(folder.join("curves.svg")).unwrap();
    for word in ["from nothing", "two", "F1 of the legal set", "regret", "steps"] {
        assert!(picture.contains(word), "{word}");
    }
    let (code, text) = mavis(folder, &["train", "plot", "nowhere", "--out", "x.svg"]);
    assert!(code == 2 && text.contains("nowhere"), "{code}: {text}");
    let wrong = [&train[..], &["--out", "three", "--set", "examples.mirored=1"]].concat();
    let (code, text) = mavis(folder, &wrong);
    assert!(code == 2 && text.contains("mirored"), "{code}: {text}");
}
