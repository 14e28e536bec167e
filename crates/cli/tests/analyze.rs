//! The real binary analyzes positions and whole games.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_testkit::Program;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

fn analyze(pgn: &str, player: &str, more: &str) -> String {
    let mavis = program();
    mavis.write("games.pgn", pgn);
    mavis.stdout(&format!("analyze --pgn games.pgn --player {player} {more}"))
}

#[test]
fn a_blunder_of_chess_is_marked_and_comments_stay() {
    let pgn = "[Event \"A trap\"]\n[White \"a\"]\n\n1. e4 e5 {book} 2. Nf3 Nc6 3. Bc4 Nd4 {[%eval 0.1] greedy} 4. Nxe5 Qg5 \
               5. Nxf7 $2 Qxg2 6. Rf1 Qxe4+ 7. Be2 Nf3# 0-1\n";
    let output = analyze(pgn, "uci:stockfish,nodes=20000", "");
    let text = output.replace('\n', " ");
    assert!(text.starts_with("[Event \"A trap\"] [White \"a\"] [Annotator \"Mavis (Stockfish"), "{output}");
    assert!(text.contains("book} 2. Nf3"), "{output}");
    assert!(text.contains("7. Be2 $6 {[%eval #-1] Inaccuracy: Qe2 was better by"), "{output}");
    assert!(text.contains("7... Nf3# 0-1"), "{output}");
    assert!(text.contains("greedy}") && !text.contains("%eval 0.1]"), "{output}");
    assert!(text.contains("5. Nxf7 $2 {[%eval -"), "the glyph of the file stays alone: {output}");
    assert!(text.contains("Blunder: Bxf7+ was better by"), "{output}");
    assert!(output.lines().all(|line| line.len() < 80), "{output}");
    // What comes out goes in again and comes out the same.
    assert_eq!(analyze(&output, "uci:stockfish,nodes=20000", ""), output);
}

#[test]
fn every_variant_is_analyzed() {
    for (variant, moves, fen) in [
        ("connect4", "1. 4 4 2. 3 1 3. 5 1 4. 2 1-0", None),
        ("othello", "1. d3 c3 2. c4 c5 *", None),
        ("togyz", "1. 5 5 2. 3 1 *", None),
        ("hex:size=4", "1. b2 c3 2. b3 *", None),
        (
            "Chess960",
            "9. Nf3 Ne7 *",
            Some("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"),
        ),
    ] {
        let fen = fen.map(|fen| format!("[FEN \"{fen}\"]\n")).unwrap_or_default();
        let output = analyze(&format!("[Variant \"{variant}\"]\n{fen}\n{moves}\n"), "mcts:sims=200", "");
        let n_moves = moves.split(' ').filter(|word| !word.ends_with('.')).count() - 1;
        let finished = usize::from(moves.ends_with("1-0"));
        let n_evaluations = output.matches("[%value").count() + output.matches("[%eval").count();
        assert_eq!(n_evaluations, n_moves - finished, "{output}");
    }
}

#[test]
fn connect_four_by_the_solver_names_the_losing_move_and_speaks_json() {
    let start = "......./o....../o..x.x./xo.oxox/xxoxxxo/oooxxoo x";
    let pgn = format!("[Variant \"connect4\"]\n[FEN \"{start}\"]\n\n13. 2 5 0-1\n");
    let output = analyze(&pgn, "oracle", "--json");
    let game: serde_json::Value = serde_json::from_str(&output).unwrap();
    let made = &game["moves"][0];
    assert_eq!((made["move"].as_str(), made["best"].as_str()), (Some("2"), Some("5")), "{output}");
    assert_eq!((made["loss"].as_f64(), made["swing"].as_str()), (Some(1.0), Some("Blunder")), "{output}");
    assert_eq!((game["moves"][1]["value"].as_f64(), game["result"].as_str()), (Some(0.0), Some("0-1")));
    let text = analyze(&pgn, "oracle", "");
    assert!(text.contains("13. 2 $4 {[%value 0.000] Blunder: 5 was better by 100 %} 13... 5 0-1"), "{text}");
}

#[test]
fn a_bad_game_costs_no_other() {
    let mavis = program();
    let good = "[Variant \"connect4\"]\n\n1. 4 4 2. 3 *\n\n";
    mavis.write("games.pgn", format!("{good}[Event \"bad\"]\n\n1. e4 e5 2. Ke3 Ke7 1-0\n\n{good}"));
    mavis.check_bad("analyze --pgn games.pgn --player random", "random does not evaluate positions");
    let output = mavis.output("analyze --pgn games.pgn --player mcts:sims=20");
    let (text, faults) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{faults}");
    assert_eq!(text.matches("[Variant").count(), 2, "{text}");
    assert!(faults.contains("2 games, 1 refused"), "{faults}");
    assert!(faults.contains("games.pgn: game 2, line 7: illegal move"), "{faults}");
    let json = mavis.stdout("analyze --pgn games.pgn --player mcts:sims=20 --json");
    assert!(json.lines().nth(1).unwrap().contains("\"refused\":\"game 2, line 7"), "{json}");
}

#[test]
fn ctrl_c_ends_the_search_and_shows_what_it_found() {
    use std::io::{BufRead as _, BufReader};
    let mavis = program();
    let mut child = mavis
        .command("analyze --game connect4 --player mcts:sims=4000000000 --movetime 600")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut notices = BufReader::new(child.stderr.take().unwrap()).lines();
    wait_for_search(child.id());
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert!(notices.next().unwrap().unwrap().starts_with("finishing the search in hand; Ctrl-C again"));
    let output = child.wait_with_output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && table.lines().count() == 9, "{table}");
}

/// Waits until a process handles Ctrl-C, which would end it before, and has then searched for a fifth of a second.
fn wait_for_search(process: u32) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap();
    let is_handled = || {
        let status = read("status");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGINT - 1) & 1 == 1
    };
    // Hundredths of a second of the processor; the fields before it follow the name in brackets.
    let spent =
        || -> u64 { read("stat").rsplit_once(") ").unwrap().1.split(' ').nth(11).unwrap().parse().unwrap() };
    let wait = || std::thread::sleep(std::time::Duration::from_millis(20));
    while !is_handled() {
        wait();
    }
    let before = spent();
    while spent() < before + 20 {
        wait();
    }
}

const SIGINT: u32 = 2;

#[test]
fn an_engine_lists_every_move() {
    let output = program().stdout("analyze --game chess --player uci:stockfish,nodes=20000 --json");
    let shown: serde_json::Value = serde_json::from_str(&output).unwrap();
    let moves = shown["moves"].as_array().unwrap();
    assert_eq!((moves.len(), &moves[0]["move"]), (20, &shown["best"]), "{output}");
    assert!(moves.iter().all(|row| row["centipawns"].is_i64()), "{output}");
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let mavis = program();
    mavis.write("bad.pgn", "1. e4 e5\n2. Ke3 *\n");
    for (line, part) in [
        ("analyze --pgn bad.pgn", "bad.pgn: game 1, line 2: illegal move"),
        ("analyze --pgn none.pgn", "none.pgn"),
        ("analyze --game connect4 --moves 9", "9"),
        ("analyze --game chess --position '8/8 w'", "bad chess position"),
        ("analyze --game hex --player uci:stockfish", "does not play hex"),
        ("analyze --game chess --player mcts,sims=3", "such as 'mcts:sims=3'"),
        ("analyze --game chess --player mcts:sims=x", "bad value 'x' for sims of player 'mcts' (simulations"),
    ] {
        mavis.check_bad(line, part);
    }
    let output = mavis.output("analyze");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--game"));
}
