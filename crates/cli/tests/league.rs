//! `mavis league` and `mavis eval` with the real binary: the same games each time, also after kills.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mavis"));
    command.args(line.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    command.env("PATH", mavis_testkit::engine_path());
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
    assert!(output.stdout.is_empty(), "nothing on stdout");
}

/// Two opening pairs for each of three pairings: twelve games.
const SMALL: &str = "
name = 'small'
game = 'connect4'
seed = 7
openings.random_plies = 2
schedule.pairs = 2
adjudication.exact = { judge = 'solver', from_ply = 30 }
players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }]
";

/// Enough games that a kill finds some of them unfinished.
const LONGER: &str = "
name = 'longer'
game = 'connect4'
seed = 8
concurrency = 2
openings.random_plies = 2
schedule.pairs = 10
players = [{ player = 'random' }, { player = 'lookahead:2' }, { player = 'mcts:sims=300' }]
";

fn league(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.toml"), config).unwrap();
    folder
}

fn lines(folder: &Path, out: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(out).join("games.jsonl")).unwrap_or_default();
    // A line that is being written is not a game yet.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Every game without what the clock says, in the order of the schedule.
fn games(folder: &Path, out: &str) -> Vec<String> {
    let mut list = lines(folder, out);
    list.sort_by_key(|game| game["game"].as_u64());
    let show = |game: &Value| {
        let moves: Vec<&Value> = game["moves"].as_array().unwrap().iter().map(|made| &made["m"]).collect();
        assert!(moves.iter().all(|mv| mv.is_string()), "{game}");
        let keys = ["game", "first", "second", "opening", "result"].map(|key| &game[key]);
        format!("{keys:?} {moves:?}")
    };
    list.iter().map(show).collect()
}

#[test]
fn the_same_league_plays_the_same_games() {
    let folder = league(SMALL);
    let folder = folder.path();
    let table = stdout(folder, "league run --config c.toml --out a");
    assert!(table.contains("lookahead:2"), "{table}");
    stdout(folder, "league run --config c.toml --out b --concurrency 3");
    assert_eq!(games(folder, "a").len(), 12);
    assert_eq!(games(folder, "a"), games(folder, "b"));
    // A finished league plays nothing more and shows the same.
    assert_eq!(stdout(folder, "league run --config c.toml --out a"), table);
    assert_eq!(stdout(folder, "league table a"), table);
    let json: Value = serde_json::from_str(&stdout(folder, "league table a --json")).unwrap();
    assert_eq!((json["finished"].as_u64(), json["planned"].as_u64()), (Some(12), Some(12)));
    assert_eq!(json["players"].as_array().map(Vec::len), Some(3));
    let pgn = stdout(folder, "league pgn a");
    assert_eq!(pgn.matches("[Event \"small\"]").count(), 12);
    assert_eq!(stdout(folder, "league report a --html page.html"), "page.html\n");
    assert!(fs::read_to_string(folder.join("page.html")).unwrap().contains("<svg"));
}

#[test]
fn a_killed_league_ends_with_exactly_the_planned_games() {
    let folder = league(LONGER);
    let folder = folder.path();
    let spawn = || -> Child {
        let mut command = command(folder, "league run --config c.toml --out killed");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for target in [5, 20] {
        let mut child = spawn();
        while lines(folder, "killed").len() < target && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let n = lines(folder, "killed").len();
        assert!((target..60).contains(&n), "{n} games after {target}");
    }
    stdout(folder, "league run --config c.toml --out killed");
    stdout(folder, "league run --config c.toml --out whole");
    let numbers: Vec<u64> = {
        let mut list: Vec<u64> =
            lines(folder, "killed").iter().map(|game| game["game"].as_u64().unwrap()).collect();
        list.sort_unstable();
        list
    };
    assert_eq!(numbers, (0..60).collect::<Vec<_>>(), "each planned game once");
    assert_eq!(games(folder, "killed"), games(folder, "whole"), "the same as without a kill");
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_games_in_hand() {
    let folder = league(&LONGER.replace("pairs = 10", "pairs = 200"));
    let folder = folder.path();
    let child = command(folder, "league run --config c.toml --out a")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while lines(folder, "a").len() < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(message.contains("of 1200 games; the same command goes on"), "{message}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("mcts:sims=300"), "the table so far");
}

#[test]
fn a_test_stops_at_its_verdict() {
    let folder = league(
        "
        name = 'test'
        game = 'connect4'
        openings.random_plies = 2
        schedule.pairs = 500
        players = [{ player = 'lookahead:3' }, { player = 'random' }]
        ",
    );
    let folder = folder.path();
    let answer = stdout(folder, "league sprt --config c.toml --out t --elo0 0 --elo1 100");
    assert!(answer.contains("SPRT: "), "{answer}");
    let json: Value = serde_json::from_str(&stdout(folder, "league table t --json")).unwrap();
    assert!(json["finished"].as_u64().is_some_and(|n| n < 1000), "{json}");
    assert!(json["sprt"]["llr"].as_f64() >= json["sprt"]["upper"].as_f64(), "{json}");
    check_bad(folder, "league sprt --config c.toml --out t --elo0 5 --elo1 100", "another configuration");
    check_bad(folder, "league sprt --config c.toml --out u --elo0 5 --elo1 0", "");
}

#[test]
fn bad_leagues_are_refused_on_one_line() {
    let folder = league(&SMALL.replace("seed = 7", "sead = 7"));
    let folder = folder.path();
    check_bad(folder, "league run --config c.toml --out a", "sead");
    check_bad(folder, "league run --config none.toml --out a", "cannot read none.toml");
    check_bad(folder, "league table a", "config.toml");
    fs::write(folder.join("c.toml"), SMALL.replace("lookahead:2", "lookahed:2")).unwrap();
    check_bad(folder, "league run --config c.toml --out b", "did you mean 'lookahead'");
    assert!(!folder.join("b").exists(), "nothing is written for a bad league");
    fs::write(folder.join("c.toml"), SMALL).unwrap();
    check_bad(folder, "league sprt --config c.toml --out c", "two players");
}

/// A mate in one and a mate in two.
const PUZZLES: &str = "PuzzleId,FEN,Moves,Rating
one,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a3 b1b8,700
077Js,3rk3/6b1/5pP1/4p3/pp1P4/P1P1B3/qPK5/3R2Q1 w - - 0 32,d4e5 b4b3 c2c1 a2a1,1604
";

#[test]
fn puzzles_are_solved_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("p.csv"), PUZZLES).unwrap();
    let json = |line: &str| -> Value { serde_json::from_str(&stdout(folder, line)).unwrap() };
    let solved = |value: &Value| value["metrics"][0]["overall"]["value"].as_f64();
    let one = json("eval puzzles --player lookahead:1 --input p.csv --limit 1 --json");
    assert_eq!((one["n"].as_u64(), solved(&one)), (Some(1), Some(1.0)), "{one}");
    let both = json("eval puzzles --player oracle:nodes=20000 --input p.csv --jobs 2 --json");
    assert_eq!(both["n"].as_u64(), Some(2), "{both}");
    let model = stdout(folder, "eval puzzles --input p.csv");
    assert!(model.contains("puzzles solved"), "{model}");
    check_bad(folder, "eval puzzles --input none.csv", "cannot read none.csv");
    fs::write(folder.join("bad.csv"), "FEN,Moves\nno position,e2e4 e7e5\n").unwrap();
    check_bad(folder, "eval puzzles --input bad.csv", "line 2");
}

#[test]
fn the_oracle_keeps_the_value_of_every_position() {
    let folder = tempfile::tempdir().unwrap();
    let line = "eval solver --positions 30 --from-ply 20 --json --player";
    let share = |player: &str| -> f64 {
        let value: Value = serde_json::from_str(&stdout(folder.path(), &format!("{line} {player}"))).unwrap();
        value["metrics"][0]["overall"]["value"].as_f64().unwrap()
    };
    assert_eq!(share("oracle"), 1.0);
    assert!(share("random") < 1.0);
    check_bad(folder.path(), "eval solver --from-ply 30 --to-ply 20", "no plies");
}
