//! `mavis probs` with the real binary: trained, killed in the middle, played with.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mavis"));
    command.args(line.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command
}

fn mavis(folder: &Path, line: &str) -> Output {
    command(folder, line).output().expect("the binary starts")
}

fn stdout(folder: &Path, line: &str) -> String {
    let output = mavis(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("answers are text")
}

fn check_bad(folder: &Path, line: &str, part: &str) {
    let output = mavis(folder, line);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {message}");
    assert!(message.contains(part), "{line}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
}

const TINY: &str = "probs train --game connect4 --rounds 6 --set net=10k --set games=20 --set expansions=12 \
                    --set evaluation.every=3 --set evaluation.games=4 --set evaluation.plies=1 --json --out";

#[test]
fn a_killed_run_ends_with_the_same_weights() {
    let folder = tempfile::tempdir().unwrap();
    stdout(folder.path(), &format!("{TINY} whole"));
    // Killed once after the first round was told, and once more wherever it then is.
    for n_lines in [2, 4] {
        let mut child =
            command(folder.path(), &format!("{TINY} killed")).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.take(n_lines).all(|line| line.is_ok()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let end = stdout(folder.path(), &format!("{TINY} killed"));
    assert!(end.lines().last().unwrap().contains("\"rounds\":6"), "{end}");
    for name in ["model.safetensors", "best.safetensors"] {
        let [whole, killed] =
            ["whole", "killed"].map(|run| fs::read(folder.path().join(run).join(name)).unwrap());
        assert!(whole == killed, "{name} differs");
    }
    let n_lines = |run: &str| {
        let text = fs::read_to_string(folder.path().join(run).join("metrics.jsonl")).unwrap();
        text.lines().count()
    };
    assert_eq!(n_lines("whole"), n_lines("killed"));
}

#[test]
fn a_model_plays_at_once_and_with_search() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in ["probs", "azero"] {
        let tiny = TINY.replace("--rounds 6", "--rounds 1 --set simulations=8");
        stdout(folder.path(), &format!("{tiny} {algorithm} --algorithm {algorithm}"));
        for more in ["", ",expand=40", ",time=0.02"] {
            let player = format!("probs:{algorithm}/best.safetensors{more}");
            let line = format!("play --game connect4 --first {player} --second random --seed 1 --json");
            assert!(mavis(folder.path(), &line).status.success(), "{player}");
        }
    }
    stdout(folder.path(), "probs plot one=probs two=azero --axis evaluations --out both.svg");
    let svg = fs::read_to_string(folder.path().join("both.svg")).unwrap();
    assert!(svg.contains("one") && svg.contains("network evaluations"));
}

#[test]
fn bad_input_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    check_bad(folder, "probs train --game draughts --out a", "unknown game 'draughts'");
    check_bad(folder, "probs train --game connect4 --preset big --out a", "unknown preset 'big'");
    check_bad(folder, "probs train --game connect4 --algorithm sarsa --out a", "unknown algorithm 'sarsa'");
    check_bad(folder, "probs train --game connect4 --set expansion=3 --out a", "expansion");
    check_bad(folder, "probs train --game connect4 --set net=20k --out a", "20k");
    check_bad(
        folder,
        "probs train --game connect4 --set epsilon=2 --out a",
        "epsilon must be from 0 to 1, not 2",
    );
    check_bad(folder, "probs train --game connect4 --max-minutes=-1 --out a", "minutes");
    check_bad(folder, "probs plot nowhere --out a.svg", "nowhere/metrics.jsonl");
    check_bad(folder, "play --game connect4 --first probs --second random", "name a model");
    check_bad(
        folder,
        "play --game connect4 --first probs:none.safetensors --second random",
        "none.safetensors",
    );
    check_bad(folder, "play --game connect4 --first probs:x,expand=0 --second random", "expand");
    fs::write(folder.join("text.safetensors"), "not a model").unwrap();
    check_bad(
        folder,
        "play --game connect4 --first probs:text.safetensors --second random",
        "text.safetensors",
    );
}
