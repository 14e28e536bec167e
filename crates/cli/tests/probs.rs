//! `mavis probs` with the real binary: trained, killed in the middle, played with.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::pty::Terminal;
use mavis_testkit::Program;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn mavis() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

const TINY: &str = "probs train --game connect4 --rounds 6 --set net=10k --set games=20 --set expansions=12 \
                    --set evaluation.every=3 --set evaluation.games=4 --set evaluation.plies=1 --json --out";

#[test]
fn a_killed_run_ends_with_the_same_weights() {
    let mavis = mavis();
    mavis.run(&format!("{TINY} whole"));
    // Killed once after the first round was told, and once more wherever it then is.
    for n_lines in [2, 4] {
        let mut child = mavis.command(&format!("{TINY} killed")).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.take(n_lines).all(|line| line.is_ok()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let end = mavis.stdout(&format!("{TINY} killed"));
    assert!(end.lines().last().unwrap().contains("\"rounds\":6"), "{end}");
    for name in ["model.safetensors", "best.safetensors"] {
        let [whole, killed] =
            ["whole", "killed"].map(|run| fs::read(mavis.folder().join(run).join(name)).unwrap());
        assert!(whole == killed, "{name} differs");
    }
    let n_lines = |run: &str| {
        let text = fs::read_to_string(mavis.folder().join(run).join("metrics.jsonl")).unwrap();
        text.lines().count()
    };
    assert_eq!(n_lines("whole"), n_lines("killed"));
}

/// The first rating and the first games of a round that would take long, and then the program is killed.
#[test]
fn a_round_shows_how_far_it_is() {
    let mavis = mavis();
    let long = "probs train --game connect4 --rounds 2 --set net=10k --set games=5000 \
                --set evaluation.games=4 --set evaluation.plies=1 --out shown";
    let mut terminal = Terminal::start(mavis.command(long));
    terminal.expect("rated after 0 rounds: ");
    let mut done = String::from("0");
    while done == "0" {
        terminal.expect("round 1 of 2: self-play, games ");
        let line = terminal.expect(" of 5000");
        line.trim_end_matches(" of 5000").clone_into(&mut done);
    }
    let done: u32 = done.parse().unwrap();
    assert!(done <= 5000, "{done}");
}

#[test]
fn a_model_plays_at_once_and_with_search() {
    let mavis = mavis();
    for algorithm in ["probs", "azero"] {
        let tiny = TINY.replace("--rounds 6", "--rounds 1 --set simulations=8");
        mavis.run(&format!("{tiny} {algorithm} --algorithm {algorithm}"));
        for more in ["", ",expand=40", ",time=0.02"] {
            let player = format!("probs:{algorithm}/best.safetensors{more}");
            let line = format!("play --game connect4 --first {player} --second random --seed 1 --json");
            mavis.run(&line);
        }
    }
    mavis.run("probs plot one=probs two=azero --axis evaluations --out both.svg");
    let svg = fs::read_to_string(mavis.folder().join("both.svg")).unwrap();
    assert!(svg.contains("one") && svg.contains("network evaluations"));
}

#[test]
fn bundled_nets_play_by_name_and_by_the_game_without_a_file() {
    let mavis = mavis();
    // Where nothing is said the net of Hex 11x11 searches, which takes long.
    for (game, by_name, by_game) in [
        ("connect4", "probs:connect4", "probs"),
        ("othello", "probs:othello", "probs"),
        ("togyz", "probs:togyz", "probs"),
        ("hex:size=7", "probs:hex7", "probs"),
        ("hex", "probs:hex11,expand=1", "probs:expand=1"),
    ] {
        // The same nets either way: against the same opponent the games are equal, move for move.
        let [named, found] = [by_name, by_game].map(|player| {
            let line = format!("play --game {game} --first {player} --second random --seed 5 --json");
            let game: serde_json::Value = serde_json::from_str(&mavis.stdout(&line)).unwrap();
            let moves = game["moves"].as_array().unwrap().iter();
            moves.map(|mv| mv["move"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        assert!(named.len() > 6, "{by_name}: {named:?}");
        assert_eq!(named, found, "{by_name}");
    }
    let search = "play --game connect4 --first probs:connect4,expand=30 --second probs:time=0.02 --json";
    mavis.run(search);
    mavis.run("data selfplay --game connect4 -n 2 --oracle net:connect4,sims=20 --seed 1 --out judged");
    mavis.check_bad(
        "play --game chess --first probs --second random",
        "no bundled net plays chess (bundled: connect4, hex11, hex7, othello, togyz); name a file: probs:FILE",
    );
    mavis
        .check_bad("play --game hex:size=9 --first probs --second random", "no bundled net plays hex:size=9");
    mavis.check_bad("play --game othello --first probs:connect4 --second random", "does not play othello");
    mavis.check_bad(
        "play --game connect4 --first probs:connect5 --second random",
        "'connect5' is neither a file nor a bundled net (bundled: connect4",
    );
}

#[test]
fn bad_input_is_one_clear_line() {
    let mavis = mavis();
    mavis.check_bad("probs train --game draughts --out a", "unknown game 'draughts'");
    mavis.check_bad("probs train --game connect4 --preset big --out a", "unknown preset 'big'");
    mavis.check_bad("probs train --game connect4 --algorithm sarsa --out a", "unknown algorithm 'sarsa'");
    mavis.check_bad("probs train --game connect4 --set expansion=3 --out a", "expansion");
    mavis.check_bad("probs train --game connect4 --set net=20k --out a", "20k");
    mavis.check_bad(
        "probs train --game connect4 --set epsilon=2 --out a",
        "epsilon must be from 0 to 1, not 2",
    );
    mavis.check_bad("probs train --game connect4 --max-minutes=-1 --out a", "minutes");
    // The games have other settings of their own, but the game is what the user got wrong.
    fs::create_dir(mavis.folder().join("begun")).unwrap();
    mavis.write("begun/settings.toml", "algorithm = 'azero'\ngame = 'connect4'\n");
    mavis.check_bad(
        "probs train --game othello --out begun",
        "holds a run with game = \"connect4\", not \"othello\"",
    );
    mavis.check_bad("probs plot nowhere --out a.svg", "nowhere/metrics.jsonl");
    mavis
        .check_bad("play --game connect4 --first probs:none.safetensors --second random", "none.safetensors");
    mavis.check_bad("play --game connect4 --first probs:x,expand=0 --second random", "expand");
    mavis.write("text.safetensors", "not a model");
    mavis
        .check_bad("play --game connect4 --first probs:text.safetensors --second random", "text.safetensors");
}
