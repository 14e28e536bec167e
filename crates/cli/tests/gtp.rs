//! The real binary as a GTP engine, alone and against itself.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use crate::support::nonsense;

use mavis_game::{Game as _, Position, Rules};
use mavis_oracle::{
    Oracle as _,
    gtp::{GtpCommand, GtpEngine},
    htp::{HtpOracle, HtpQuestion, HtpSettings},
    process::Patience,
};
use mavis_play::{Player as _, Referee, Registry, TimeControl, add_engines};
use nonsense::Nonsense;
use std::{path::Path, time::Duration};

const PATIENCE: Duration = Duration::from_secs(60);

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mavis"))
}

fn arguments(game: &str, player: &str) -> Vec<String> {
    ["gtp", "--game", game, "--player", player].map(str::to_owned).to_vec()
}

fn engine(game: &str, player: &str) -> GtpEngine {
    GtpEngine::start(program(), &arguments(game, player), &[], Patience::always(PATIENCE)).unwrap()
}

/// Asks and gives the answer, or `? REASON`.
fn ask(engine: &mut GtpEngine, line: &str) -> String {
    engine.send(&GtpCommand::parse(line).unwrap()).unwrap();
    let response = engine.receive(std::time::Instant::now() + PATIENCE).unwrap().unwrap();
    response.result.unwrap_or_else(|reason| format!("? {reason}"))
}

#[test]
fn a_session_as_a_controller_holds_it() {
    let mut engine = engine("hex:size=5", "mcts:sims=300");
    let mut check = |line: &str, expected: &str| {
        let answer = ask(&mut engine, line);
        assert!(answer.starts_with(expected), "{line}: {answer}");
        answer
    };
    check("1 protocol_version", "2");
    check("name", "Mavis");
    check("known_command genmove", "true");
    check("known_command nonsense", "false");
    check("boardsize 4", "");
    check("boardsize 2", "? unacceptable size");
    check("boardsize 7 8", "? unacceptable size");
    check("play black A1", "");
    check("play white a1", "? illegal move a1");
    check("play b", "? syntax error");
    check("play green a2", "? syntax error");
    // Stones may be set in any order, and the side asked for moves.
    check("play b b1", "");
    check("mavis-position", "xx../..../..../.... o");
    check("undo", "");
    check("play w d4", "");
    let legal = check("all_legal_moves", "b1");
    assert_eq!(legal.split(' ').count(), 14);
    let best = check("reg_genmove b", "");
    check("final_score", "? cannot score");
    let chosen = check("genmove b", "");
    assert_eq!(best.len(), 2);
    assert!(legal.split(' ').any(|mv| mv == chosen));
    assert_eq!(check("mavis-values", "").lines().count(), 13);
    check("time_settings 10 5 3", "");
    check("time_left w 1 2", "");
    check("time_left w soon 2", "? syntax error");
    check("genmove w", "");
    check("showboard", "hex:size=4, black to move");
    check("mavis-position xx../xo../x.../x... o", "");
    check("genmove w", "? the game is over");
    check("final_score", "B+");
    check("undo", "? cannot undo");
    check("genmove", "? syntax error");
    check("fly", "? unknown command");
    // A command that is refused does nothing.
    check("quit 1", "? syntax error");
    check("clear_board 1", "? syntax error");
    check("mavis-position", "xx../xo../x.../x... o");
    check("quit", "");
}

#[test]
fn a_size_that_the_player_does_not_know_is_unacceptable() {
    let mut engine = engine("hex:size=7", "probs");
    assert_eq!(ask(&mut engine, "boardsize 9"), "? unacceptable size");
    // The board stays as it was.
    assert_eq!(ask(&mut engine, "play black g7"), "");
    assert_eq!(ask(&mut engine, "boardsize 7"), "");
    assert!(!ask(&mut engine, "genmove black").is_empty());
}

#[test]
fn the_final_score_of_othello_is_a_number_of_discs() {
    let mut engine = engine("othello", "random");
    // The winner gets the empty squares.
    for (discs, score) in [((48, 16), "B+32"), ((0, 40), "W+64"), ((32, 32), "0")] {
        let board = "X".repeat(discs.0) + &"O".repeat(discs.1);
        assert_eq!(ask(&mut engine, &format!("mavis-position {board:-<64} X")), "", "{discs:?}");
        assert_eq!(ask(&mut engine, "final_score"), score);
    }
}

#[test]
fn the_final_score_of_togyz_is_a_number_of_stones() {
    let mut engine = engine("togyz", "random");
    // The first player is White, as the board calls that side. The last move takes two stones, with which White has more than half; those left in pits
    // are nobody's.
    let start = "0,0,0,0,0,0,0,0,1/1,0,0,0,0,0,0,0,70 80,10 w";
    assert_eq!(ask(&mut engine, &format!("mavis-position {start}")), "");
    assert_eq!(ask(&mut engine, "final_score"), "? cannot score: the game is not over");
    assert_eq!(ask(&mut engine, "play white 9"), "");
    assert_eq!(ask(&mut engine, "final_score"), "W+72");
    // A side without stones to move leaves the others to its opponent.
    let none = "0,0,0,0,0,0,0,0,0";
    for (end, score) in [
        (format!("{none}/5,0,0,0,0,0,0,0,0 80,77 w"), "B+2"),
        (format!("0,4,0,0,0,0,0,0,0/{none} 90,68 b"), "W+26"),
        (format!("{none}/1,0,0,0,0,0,0,0,0 81,80 w"), "0"),
    ] {
        assert_eq!(ask(&mut engine, &format!("mavis-position {end}")), "", "{end}");
        assert_eq!(ask(&mut engine, "final_score"), score, "{end}");
    }
}

#[test]
fn every_game_is_played_to_its_end_by_two_engines_through_the_gtp_player() {
    for (game, kind) in [
        ("hex:size=4,swap", "htp"),
        ("connect4", "gtp"),
        ("othello", "gtp"),
        ("togyz", "gtp"),
        ("chess", "gtp"),
    ] {
        let mut registry = Registry::basic();
        add_engines(&mut registry, None);
        let build = |player: &str, seed: u64| {
            let spec = format!(
                "{kind}:{},args={{gtp --game {game} --player {player} --seed {seed}}},patience=60000",
                program().display()
            );
            registry.build(&spec.parse().unwrap(), 0).unwrap_or_else(|error| panic!("{error}"))
        };
        let (mut first, mut second) = (build("mcts:sims=20", 1), build("lookahead:1", 2));
        let rules: Rules = game.parse().unwrap();
        let control = TimeControl { base: Duration::from_secs(600), increment: Duration::ZERO };
        let referee = Referee { max_plies: Some(80), time_control: Some(control), ..Referee::default() };
        let record = referee.play(&Position::start(rules), [&mut *first, &mut *second]);
        let verdict = record.verdict.unwrap();
        let reason = verdict.termination.to_string();
        assert!(!reason.contains("player"), "{game}: {reason} after {} moves", record.moves.len());
        assert!(record.moves.len() > 6, "{game}: {} moves", record.moves.len());
        // The same engines play another game, from another place.
        let start = &record.moves[..3].iter().fold(Position::start(rules), |mut position, made| {
            position.play_unchecked(made.mv);
            position
        });
        let short = Referee { max_plies: Some(4), ..Referee::default() };
        let record = short.play(start, [&mut *first, &mut *second]);
        assert_eq!(record.moves.len(), 4, "{game}: {:?}", record.verdict);
    }
}

#[test]
fn an_htp_oracle_asks_our_engine_for_every_move() {
    let settings = HtpSettings {
        program: program().to_owned(),
        arguments: arguments("hex", "mcts:sims=400"),
        preparation: Vec::new(),
        question: HtpQuestion::Rates("mavis-values".to_owned()),
        patience: PATIENCE,
    };
    let mut oracle = HtpOracle::start(settings).unwrap();
    let position = Position::parse(Rules::Hex { size: 3, swap: false }, "x.o/x../.o. x").unwrap();
    let ranking = oracle.evaluate(&position).unwrap();
    assert_eq!(ranking.moves.len(), 5);
    assert_eq!(position.move_text(ranking.best().unwrap()), "a3");
}

#[test]
fn an_engine_that_is_killed_is_started_again_and_one_that_is_none_is_named() {
    let mut registry = Registry::basic();
    add_engines(&mut registry, None);
    let spec = |program: &str| format!("gtp:{program},args={{gtp --game connect4 --player random}}");
    let error = registry.build(&spec("/no/such/engine").parse().unwrap(), 0).err().unwrap();
    assert!(error.to_string().contains("not found"), "{error}");
    let cat = registry.build(&"htp:/bin/cat,patience=500".parse().unwrap(), 0).err().unwrap().to_string();
    assert!(cat.contains("response"), "{cat}");
    let settings = mavis_play::GtpSettings {
        program: program().to_owned(),
        arguments: arguments("connect4", "random"),
        preparation: Vec::new(),
        patience: Patience::always(PATIENCE),
        hex_only: false,
    };
    let mut player = mavis_play::GtpPlayer::start(settings).unwrap();
    let killed = player.process_id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &killed]).status().unwrap().success());
    let mut other = mavis_play::RandomPlayer::new(1);
    let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut player, &mut other]);
    assert!(record.end.outcome().is_some(), "{:?}", record.verdict);
    assert_eq!((player.n_restarts(), player.name().as_str()), (1, "Mavis"));
}

const HEADS: &[&str] = &[
    "boardsize",
    "clear_board",
    "play",
    "play",
    "play",
    "genmove",
    "reg_genmove",
    "undo",
    "showboard",
    "time_settings",
    "time_left",
    "final_score",
    "all_legal_moves",
    "mavis-position",
    "mavis-values",
    "komi",
    "xyzzy",
    "known_command",
];
const WORDS: &[&str] = &[
    "black",
    "white",
    "b",
    "w",
    "a1",
    "B2",
    "c3",
    "pass",
    "resign",
    "swap-pieces",
    "3",
    "5",
    "-1",
    "99999999999999999999",
    "0.001",
    "NaN",
    "x../.../... o",
    "\u{1F600}\u{7}",
];

#[test]
fn ten_thousand_random_lines_do_not_stop_it() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    for game in ["hex:size=3,swap", "othello"] {
        let mut nonsense = Nonsense::new(11, HEADS, WORDS, 3);
        // Some commands have a number in front.
        let mut line = || match nonsense.below(4) {
            0 => format!("{} {}\n", nonsense.below(100), nonsense.line()),
            _ => format!("{}\n", nonsense.line()),
        };
        let mut lines: String = (0..5_000).map(|_| line()).collect();
        lines.push_str("77 protocol_version\nquit\n");
        let mut child = Command::new(program())
            .args(arguments(game, "random"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("=77 2\n\n= \n\n"), "{game}");
        assert_eq!(text.matches("\n\n").count(), 5_002, "{game}: a response to every command");
    }
}

#[test]
fn bad_arguments_are_one_line_and_code_2() {
    for (game, player, part) in [
        ("go", "mcts", "unknown game"),
        ("hex", "mctz", "did you mean 'mcts'"),
        ("hex", "human", "a human"),
        ("hex:size=9", "probs", "no bundled net plays hex:size=9"),
        ("othello", "probs:connect4", "othello"),
    ] {
        let output = std::process::Command::new(program()).args(arguments(game, player)).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(part) && text.lines().count() == 1, "{text}");
    }
}
