//! The real binary: answers on stdout, one line and exit code 2 for bad input.

use std::process::{Command, Output, Stdio};

fn mavis(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mavis"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

fn stdout(arguments: &[&str]) -> String {
    let output = mavis(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("answers are text")
}

fn check_bad(arguments: &[&str], part: &str) {
    let output = mavis(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.contains(part), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
    assert!(output.stdout.is_empty(), "nothing on stdout");
}

#[test]
fn perft_counts_and_divides() {
    assert_eq!(stdout(&["perft", "--game", "chess", "--depth", "4"]), "197281\n");
    let divided = stdout(&["perft", "--game", "togyz", "--depth", "3", "--divide"]);
    assert_eq!(divided.lines().count(), 10);
    assert_eq!(divided.lines().last(), Some("613"));
    let json = stdout(&["perft", "--game", "connect4", "--depth", "3", "--json"]);
    assert!(json.contains("\"nodes\":343"), "{json}");
}

#[test]
fn the_same_seed_plays_the_same_game_in_every_game() {
    for game in ["chess", "chess960", "connect4", "hex", "othello", "togyz"] {
        let play = |seed: &str| {
            stdout(&[
                "play",
                "--game",
                game,
                "--first",
                "random",
                "--second",
                "lookahead:1",
                "--seed",
                seed,
                "--quiet",
            ])
        };
        assert_eq!(play("5"), play("5"), "{game}");
        assert_ne!(play("5"), play("6"), "{game}");
    }
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    check_bad(&["show", "--game", "ches"], "unknown game 'ches'");
    check_bad(&["show", "--game", "chess", "--position", "8/8/8/8/8/8/8/8 w - - 0 1"], "bad chess position");
    check_bad(&["show", "--game", "connect4", "--moves", "8"], "'8' is not a move");
    check_bad(&["show", "--game", "othello", "--moves", "a1"], "illegal move a1");
    check_bad(&["show", "--game", "hex:size=40"], "size=40");
    check_bad(
        &["play", "--game", "chess", "--first", "randon", "--second", "random"],
        "did you mean 'random'",
    );
    check_bad(&["play", "--game", "chess", "--first", "lookahead:9", "--second", "random"], "bad value '9'");
}

#[test]
fn without_a_terminal_the_main_job_plays_itself_once() {
    let game = stdout(&[]);
    let result = game.lines().rev().nth(1).expect("a result line");
    assert!(["1-0", "0-1", "1/2-1/2"].iter().any(|outcome| result.contains(outcome)), "{result}");
}

#[test]
fn language_commands_show_examples_and_judge_answers() {
    let example = stdout(&["lang", "example", "--game", "hex", "--seed", "3"]);
    assert!(example.starts_with("<mav game=hex size=11>"), "{example}");
    assert_eq!(example, stdout(&["lang", "example", "--game", "hex", "--seed", "3"]));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("answers.txt");
    std::fs::write(&file, &example).expect("a file");
    let path = file.to_str().expect("a plain path");
    assert!(stdout(&["lang", "check", path, "--json"]).contains("\"n_right\":1"));
    assert!(stdout(&["lang", "tokenize", path]).contains("\"<mav game=hex size=11>\""));
    check_bad(&["lang", "check", "/no/such/file"], "cannot read");
}

#[test]
fn connect_four_is_solved_on_the_command_line() {
    let solved = stdout(&["solve", "--game", "connect4", "2252576253462244111563365343671351441"]);
    assert!(solved.ends_with("score -1\n"), "{solved}");
    let empty = stdout(&["solve", "--game", "connect4"]);
    assert!(empty.contains("4    1  wins in 41 plies"), "the first player wins in the center: {empty}");
    check_bad(&["solve", "--game", "connect4", "1111111"], "move 7");
    check_bad(&["solve", "--game", "chess", "1"], "no exact solver");
}

#[test]
fn training_settings_are_checked_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("c.toml");
    let out = folder.path().join("run");
    std::fs::write(&config, "presett = \"test\"\n").expect("a file");
    let (config, out) = (config.to_str().expect("plain"), out.to_str().expect("plain"));
    check_bad(&["train", "mav", "--config", config, "--out", out], "presett");
    std::fs::write(config, "preset = \"test\"\n").expect("a file");
    check_bad(&["train", "mav", "--config", config, "--out", out], "no data");
    check_bad(&["train", "mav", "--config", config, "--out", out, "--set", "seed"], "bad override 'seed'");
    assert!(!std::path::Path::new(out).exists(), "nothing is written for bad settings");
}

#[test]
fn analysis_lists_every_move_with_its_value() {
    let table = stdout(&[
        "analyze",
        "--game",
        "connect4",
        "--moves",
        "1",
        "4",
        "1",
        "4",
        "1",
        "4",
        "--player",
        "mcts:sims=2000",
    ]);
    assert!(table.starts_with("mcts:sims=2000 plays 1\n"), "{table}");
    assert_eq!(table.lines().count(), 9, "a head, a title and seven moves: {table}");
    let json =
        stdout(&["analyze", "--game", "togyz", "--player", "oracle-mcts:sims=20,oracle_nodes=200", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["moves"].as_array().map(Vec::len), Some(9));
    assert!(value["moves"][0]["visits"].as_u64().is_some_and(|visits| visits > 0), "{json}");
    check_bad(
        &["analyze", "--game", "chess", "--position", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"],
        "the game is over",
    );
}
