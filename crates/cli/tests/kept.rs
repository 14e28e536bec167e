//! Files and answers that a mistake of the user must not cost.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_testkit::Program;
use std::fs;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

const TWO_GAMES: &str = "[White \"human\"]\n[Black \"random\"]\n[Result \"*\"]\n\n1. e4 e5 *\n\n\
                         [White \"a\"]\n[Black \"b\"]\n[Result \"1-0\"]\n\n1. d4 d5 1-0\n";

/// A line is refused, and a file is still what it was.
fn keeps(mavis: &Program, file: &str, text: &str, line: &str, part: &str) {
    mavis.write(file, text);
    mavis.check_bad(line, part);
    assert_eq!(fs::read_to_string(mavis.folder().join(file)).unwrap(), text, "{line}");
}

#[test]
fn a_new_game_replaces_no_file_and_a_continued_one_no_other_game() {
    let mavis = program();
    keeps(&mavis, "two.pgn", TWO_GAMES, "play --continue two.pgn", "more than one game");
    let save = "play connect4 --first random --second random --save notes.txt";
    keeps(&mavis, "notes.txt", "precious", save, "notes.txt is there already");
    mavis.check_bad("play connect4 --against random --save .", ". is there already");
    mavis.write("empty.pgn", "");
    mavis.run("play connect4 --first random --second random --quiet --save empty.pgn");
    assert!(fs::read_to_string(mavis.folder().join("empty.pgn")).unwrap().contains("[Result"));
}

#[test]
fn tables_are_written_only_where_there_is_something_to_write() {
    let mavis = program();
    mavis.write("bad.pgn", "[Variant \"connect4\"]\n\n1. e4 e5 *\n");
    let import = "data import bad.pgn --out old.parquet";
    keeps(&mavis, "old.parquet", "old", import, "nothing could be read, 1 refused");
    mavis.write("good.pgn", "1. e4 e5 2. Nf3 Nc6 *\n");
    mavis.run("data import good.pgn --out chess.parquet");
    let split = "data split chess.parquet --train old.parquet --valid ./old.parquet";
    keeps(&mavis, "old.parquet", "old", split, "--train and --valid are the same file, old.parquet");
    let import = "data import good.pgn --out old.parquet --games ./old.parquet";
    keeps(&mavis, "old.parquet", "old", import, "--out and --games are the same file, old.parquet");
}

#[test]
fn oracles_that_cannot_judge_say_so() {
    let mavis = program();
    let game = "4 4 4 4 4 4 3 3 3 3 3 3 1 2 1 2 1 1 2";
    let moves: Vec<&str> = game.split(' ').collect();
    let numbered: Vec<String> =
        moves.chunks(2).enumerate().map(|(idx, pair)| format!("{}. {}", idx + 1, pair.join(" "))).collect();
    mavis.write("c4.pgn", format!("[Variant \"connect4\"]\n\n{} *\n", numbered.join(" ")));
    mavis.run("data import c4.pgn --out c4.parquet");
    let annotate = "data annotate c4.parquet --out judged --oracle";
    let output = mavis.output(&format!("{annotate} stockfish:nodes=50"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("does not evaluate connect4"), "{message}");
    for limit in ["nodes", "depth", "movetime"] {
        let part = format!("bad value '0' for {limit} (expected a whole number of 1 or more)");
        mavis.check_bad(&format!("{annotate} stockfish:{limit}=0"), &part);
    }
}

#[test]
fn an_analysis_is_printed_though_its_tree_cannot_be_saved() {
    let mavis = program();
    let output =
        mavis.output("analyze --game connect4 --player scripted-mcts:sims=50 --tree absent/tree.json");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("cannot write absent/tree.json"), "{message}");
    assert!(!output.stdout.is_empty());
}

#[test]
fn a_game_that_cannot_be_saved_is_not_begun() {
    let mavis = program();
    let output = mavis.output("play connect4 --first random --second random --json --save absent/x.pgn");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("cannot write absent/x.pgn"), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn only_a_game_at_the_terminal_has_a_seat_for_a_person() {
    let mavis = program();
    for line in [
        "match random human --game connect4",
        "analyze --game connect4 --player human",
        "eval solver --player human --positions 3",
    ] {
        mavis.check_bad(line, "a person plays in mavis play only");
    }
    for player in ["mav:threads=100000", "mav-is:context=99999999", "mav-is:breadth=401"] {
        mavis.check_bad(&format!("analyze --game connect4 --player {player}"), "a whole number from 1 to ");
    }
}
