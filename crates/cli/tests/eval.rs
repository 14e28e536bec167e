//! `mavis eval` with the real binary, on answers that are known.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_testkit::Program;
use serde_json::Value;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

fn json(mavis: &Program, line: &str) -> Value {
    serde_json::from_str(&mavis.stdout(&format!("eval {line} --json"))).unwrap()
}

/// The value of the metric of a name.
fn value(metrics: &Value, name: &str) -> f64 {
    let metric = metrics.as_array().unwrap().iter().find(|metric| metric["name"] == name);
    metric.unwrap_or_else(|| panic!("{name} in {metrics}"))["overall"]["value"].as_f64().unwrap()
}

/// A mate in one and a mate in two.
const PUZZLES: &str = "PuzzleId,FEN,Moves,Rating
one,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a3 b1b8,700
077Js,3rk3/6b1/5pP1/4p3/pp1P4/P1P1B3/qPK5/3R2Q1 w - - 0 32,d4e5 b4b3 c2c1 a2a1,1604
";

#[test]
fn puzzles_are_solved_and_counted() {
    let mavis = program();
    mavis.write("p.csv", PUZZLES);
    let one = json(&mavis, "puzzles --player lookahead:1 --input p.csv --limit 1");
    assert_eq!((one["n"].as_u64(), value(&one["metrics"], "puzzles solved")), (Some(1), 1.0), "{one}");
    let both = json(&mavis, "puzzles --player oracle:nodes=20000 --input p.csv --jobs 2");
    assert_eq!(both["n"].as_u64(), Some(2), "{both}");
    let model = mavis.stdout("eval puzzles --input p.csv");
    assert!(model.contains("puzzles solved"), "{model}");
    mavis.check_bad("eval puzzles --input p.csv --limit 0", "expected a whole number from 1");
    mavis.check_bad("eval puzzles --input none.csv", "cannot read none.csv");
    mavis.write("bad.csv", "FEN,Moves\nno position,e2e4 e7e5\n");
    mavis.check_bad("eval puzzles --input bad.csv", "line 2");
    mavis.check_bad("eval puzzles --player probs --input p.csv", "no bundled net plays chess");
}

#[test]
fn the_oracle_keeps_the_value_of_every_position() {
    let mavis = program();
    let share = |player: &str| {
        let shown = json(&mavis, &format!("solver --positions 30 --from-ply 20 --player {player}"));
        value(&shown["metrics"], "moves that keep the value")
    };
    assert_eq!(share("oracle"), 1.0);
    assert!(share("random") < 1.0);
    mavis.check_bad("eval solver --from-ply 30 --to-ply 20", "no plies");
}

/// The program beside a table of Connect Four positions that the exact solver judged.
fn with_annotations() -> Program {
    let mavis = program();
    // Late positions are solved in no time.
    let start = "......./x..x..o/oo.xo.o/xxooxox/oxxxoox/xooxxxo o";
    let line = "data selfplay --game connect4 --n-games 30 --seed 3 --out made --position";
    assert!(mavis.command(line).arg(start).output().unwrap().status.success());
    mavis
}

#[test]
fn actions_are_measured_against_annotations() {
    let mavis = with_annotations();
    let shown = json(&mavis, "actions --player oracle --input made/annotations");
    let metrics = &shown["metrics"];
    assert_eq!(shown["n"], shown["n_asked"]);
    assert_eq!((value(metrics, "action accuracy"), value(metrics, "regret")), (1.0, 0.0), "{shown}");
    assert_eq!((value(metrics, "value error"), value(metrics, "Kendall's tau-b")), (0.0, 1.0), "{shown}");
    assert!(!metrics[0]["bands"].as_array().unwrap().is_empty(), "{shown}");
    let limited = json(&mavis, "actions --player random --input made/annotations --limit 20 --seed 4");
    assert_eq!(limited["n"].as_u64(), Some(20), "{limited}");
    assert!(value(&limited["metrics"], "action accuracy") < 1.0, "{limited}");
    // The same whatever the threads.
    let again = "actions --player random --input made/annotations --limit 20 --seed 4 --jobs 3";
    assert_eq!(json(&mavis, again), limited);
    mavis.check_bad("eval actions --input none.parquet", "none.parquet");
    mavis.check_bad("eval actions --input made/games", "expected a table of annotations");
    mavis.check_bad("eval actions --input made/annotations --game chess", "no such position");
}

#[test]
fn a_pair_of_files_is_read_by_its_name() {
    let mavis = program();
    // Pawn promotes to a queen (best), rook, bishop, knight, or the king moves.
    let pack = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    mavis.write("one.fen.zst", pack(b"8/P7/8/8/8/8/8/k1K5 w - - 0 1\n"));
    mavis.write("one.val.zst", pack(&[7, 2, 1, 2, 255, 4, 5, 6, 0]));
    for name in ["one", "one.fen.zst"] {
        let shown = json(&mavis, &format!("actions --input {name} --player lookahead:1"));
        assert_eq!(shown["n"].as_u64(), Some(1), "{shown}");
    }
    mavis.check_bad("eval actions --input two", "cannot read two.fen.zst");
}

#[test]
fn values_are_checked_for_reliability_and_both_ways_of_scoring() {
    let mavis = with_annotations();
    let exact = json(&mavis, "calibration --player oracle --input made/annotations --limit 60");
    assert_eq!(value(&exact["metrics"], "expected calibration error"), 0.0, "{exact}");
    let bundled = mavis.stdout("eval calibration --input made/annotations --limit 60");
    assert!(bundled.contains("Brier score") && bundled.contains("[0.9, 1)"), "{bundled}");
    let ways = mavis.stdout("eval scoring --input made/annotations --limit 60");
    assert!(ways.contains("regret, gain of mean scoring"), "{ways}");
    mavis.check_bad("eval scoring --player random --input made/annotations", "no distributions");
    mavis.check_bad("eval calibration --player random --input made/annotations", "no values");
    // It gives a value only where it sees the end of the game.
    let sees_ends = mavis.output("eval calibration --player lookahead:1 --input made/annotations");
    let noted = String::from_utf8(sees_ends.stderr).unwrap();
    assert!(noted.contains("positions got no value from lookahead:1"), "{noted}");
    assert!(!noted.contains("stopped"), "{noted}");
    for bins in [0, 1001] {
        let line = format!("eval calibration --input made/annotations --bins {bins}");
        mavis.check_bad(&line, "is not in 1..=1000; see mavis eval calibration --help");
    }
}

#[test]
fn legality_has_a_column_for_each_input() {
    let mavis = with_annotations();
    mavis.write("p.csv", PUZZLES);
    let table = mavis.stdout("eval legality --input p.csv --input made/annotations --ood 4 --limit 20");
    for part in
        ["p.csv", "annotations", "OOD positions", "%best_action legal", "%top_all F1 score", "state after"]
    {
        assert!(table.contains(part), "{part} in {table}");
    }
    let shown = json(&mavis, "legality --input made/annotations --limit 20");
    let metrics = &shown["sets"][0]["metrics"];
    // The bundled model knows the rules of Connect Four.
    assert!(value(metrics, "%top_all F1 score") > 0.95, "{shown}");
    assert!(value(metrics, "state after a given move right") > 0.9, "{shown}");
    // `%top_1 %best_action %state`: lines after a list of K moves.
    assert!(value(metrics, "%best_action legal") > 0.9, "{shown}");
    assert!(value(metrics, "state after %best_action right") > 0.9, "{shown}");
    mavis.check_bad("eval legality", "nothing to measure on");
    mavis.check_bad("eval legality --player random --ood 2", "no model");
    mavis.check_bad("eval legality --player mav:model=none --ood 2", "none");
}

#[test]
fn agreement_counts_what_is_wrong_with_written_lists() {
    let mavis = with_annotations();
    for (option, repeats, order) in [
        ("", false, "likeliest"),
        ("--repeats true", true, "likeliest"),
        ("--list-order drawn", false, "drawn"),
    ] {
        let shown = json(&mavis, &format!("agreement --input made/annotations --limit 10 {option}"));
        assert!(shown["repeats"] == repeats && shown["list_order"] == order, "{shown}");
        for row in shown["rows"].as_array().unwrap() {
            let count = |kind: &str| row["wrong"][kind].as_u64().unwrap();
            let n_broken = count("named_twice") + count("malformed") + count("other_state");
            assert_eq!(row["n_broken"], n_broken, "{row}");
            assert!(repeats || count("named_twice") == 0, "{row}");
            // The bundled model knows the rules of Connect Four.
            assert!(row["same_set"].as_f64().unwrap() >= 0.8, "{row}");
        }
    }
    let table = mavis.stdout("eval agreement --input made/annotations --limit 4");
    assert!(table.contains("twice  missing  extra  malformed  state"), "{table}");
    mavis.check_bad("eval agreement --input made/annotations --list-order best", "likeliest or drawn");
}

#[test]
fn positions_of_games_are_looked_up_in_the_training_table() {
    let mavis = with_annotations();
    mavis.write(
        "c.toml",
        "name = 'seen'\ngame = 'connect4'\nschedule.pairs = 2\nplayers = [{ player = 'random' }, { player = 'lookahead:1' }]",
    );
    mavis.run("league run --config c.toml --out l");
    let shown = json(&mavis, "seen --league l --input made/annotations");
    assert_eq!(value(&shown["metrics"], "positions seen in training"), 0.0, "late positions only: {shown}");
    // The league's own games as the training table.
    mavis.write("columns.txt", own_columns(&mavis.folder().join("l")));
    mavis.run("data import columns.txt --format connect4 --out own.parquet");
    let shown = json(&mavis, "seen --league l --player random --input own.parquet");
    let (share, n) = (value(&shown["metrics"], "positions seen in training"), shown["n"].as_u64().unwrap());
    assert_eq!((share * n as f64).round() as u64, n - 2, "all but the empty boards of two games: {shown}");
    mavis.check_bad("eval seen --league l --player nobody --input own.parquet", "no player 'nobody'");
    mavis.check_bad("eval seen --league none --input own.parquet", "none");
    mavis.write("chess.txt", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n");
    mavis.run("data import chess.txt --out chess.parquet");
    mavis.check_bad("eval seen --league l --input chess.parquet", "no position of connect4");
}

/// The columns that lead to every position of a league's games but the first, one position per line.
fn own_columns(league: &std::path::Path) -> String {
    let log = std::fs::read_to_string(league.join("games.jsonl")).unwrap();
    let mut text = String::new();
    for line in log.lines() {
        let game: Value = serde_json::from_str(line).unwrap();
        let mut columns = String::new();
        for made in game["moves"].as_array().unwrap() {
            columns.push_str(made["m"].as_str().unwrap());
            text.push_str(&format!("{columns}\n"));
        }
    }
    text
}
