//! `mavis play` with a person: at a real pseudo-terminal, and over a pipe; and what is saved of games without one.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use crate::support::pty;

use mavis_testkit::Program;
use pty::Terminal;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

/// The program with its data in its own folder.
fn command(program: &Program, line: &str) -> Command {
    let mut command = program.command(line);
    command.env("XDG_DATA_HOME", program.folder());
    command
}

/// The games that were saved.
fn games(program: &Program) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(program.folder().join("mavis/games")) else { return Vec::new() };
    // A file in the making stands beside the one it replaces.
    let files = folder.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "pgn")).collect()
}

fn only_game(program: &Program) -> String {
    let games = games(program);
    assert_eq!(games.len(), 1, "{games:?}");
    fs::read_to_string(&games[0]).unwrap()
}

#[test]
fn a_game_of_chess_with_all_commands() {
    let program = program();
    let mut terminal = Terminal::start(command(&program, "play --against mav --seed 1"));
    let board = terminal.expect("1. White> ");
    assert!(board.contains("Chess. White: you, Black: mav") && board.contains('♜'), "{board}");
    assert!(board.contains("\x1b[48;5;"), "color at a terminal: {board}");
    terminal.line("help");
    terminal.expect("takes back your last move");
    terminal.expect("White> ");
    terminal.line("e9");
    terminal.expect("'e9' is not a move");
    terminal.line("hint");
    terminal.expect("thinking");
    terminal.expect("hint: ");
    terminal.expect("White> ");
    // The line editor: a typing error is taken back with backspaces.
    terminal.line("e5\x7f4");
    terminal.expect("1. e4");
    terminal.expect("1... ");
    terminal.expect("2. White> ");
    assert!(only_game(&program).contains("1. e4 "), "saved while it is played");
    terminal.line("undo");
    terminal.expect("1. White> ");
    terminal.line("flip");
    let board = terminal.expect("White> ");
    assert!(board.contains("h  g  f  e  d  c  b  a"), "{board}");
    terminal.line("d4");
    terminal.expect("2. White> ");
    terminal.line("quit");
    let end = terminal.expect("continues it");
    assert!(end.contains("The game is kept in "), "{end}");
    assert!(terminal.child.wait().unwrap().success());
    let saved = only_game(&program);
    assert!(saved.contains("[Result \"*\"]") && saved.contains("1. d4 "), "{saved}");

    let mut terminal = Terminal::start(command(&program, "play --continue"));
    terminal.expect("2. White> ");
    terminal.line("Nf3");
    terminal.expect("3. White> ");
    terminal.line("resign");
    let end = terminal.expect("The game is in ");
    assert!(end.contains("0-1: you lose (resignation)"), "{end}");
    terminal.child.wait().unwrap();
    let saved = only_game(&program);
    assert!(saved.contains("[Result \"0-1\"]") && saved.contains("2. Nf3 "), "{saved}");
    let over = command(&program, "play --continue").output().unwrap();
    assert_eq!(over.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&over.stderr).contains("no unfinished game"));
}

#[test]
fn the_second_player_sees_the_board_turned_and_a_kill_loses_nothing() {
    let program = program();
    let mut terminal = Terminal::start(command(&program, "play chess --against random --side black"));
    let board = terminal.expect("1... Black> ");
    assert!(board.contains("h  g  f  e  d  c  b  a"), "{board}");
    terminal.line("e5");
    terminal.expect("2... Black> ");
    terminal.child.kill().unwrap();
    terminal.child.wait().unwrap();
    let saved = only_game(&program);
    assert!(saved.contains(" e5 2. "), "{saved}");
    let mut terminal = Terminal::start(command(&program, "play --continue"));
    terminal.expect("2... Black> ");
    // Ctrl-D leaves, too.
    terminal.keys("\x04");
    terminal.expect("continues it");
    assert!(terminal.child.wait().unwrap().success());
}

#[test]
fn one_word_is_enough() {
    let program = program();
    let mut terminal = Terminal::start(command(&program, "play hex"));
    let board = terminal.expect("1. Red> ");
    assert!(board.contains("Hex. Red: you, Blue: mav-mcts"), "{board}");
    terminal.line("quit");
    terminal.expect("Nothing was played");
    assert!(terminal.child.wait().unwrap().success() && games(&program).is_empty());
}

#[test]
fn the_winning_line_is_marked() {
    let program = program();
    let mut terminal = Terminal::start(command(&program, "play hex:size=3 --first human --second human"));
    for (prompt, cell) in
        [("1. Red", "b1"), ("1... Blue", "a1"), ("2. Red", "b2"), ("2... Blue", "a2"), ("3. Red", "b3")]
    {
        terminal.expect(&format!("{prompt}> "));
        terminal.line(cell);
    }
    let end = terminal.expect("The game is in ");
    assert_eq!(end.matches('◆').count(), 3, "{end}");
    assert!(end.contains("1-0: Red wins (connection)"), "{end}");
    assert!(only_game(&program).contains("[Result \"1-0\"]"));
}

#[test]
fn over_a_pipe_moves_are_lines_and_nothing_is_painted() {
    let program = program();
    program.write("moves.txt", "4\n\nmoves\nnonsense\n4\n");
    let mut command = command(&program, "play connect4 --against mcts:sims=50 --save game.pgn");
    command.stdin(fs::File::open(program.folder().join("moves.txt")).unwrap());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !text.contains('\x1b'), "{text}");
    assert!(text.contains("1 2 3 4 5 6 7\n") && text.contains("'nonsense' is not a move"), "{text}");
    assert!(text.contains("mavis play --continue game.pgn continues it"), "{text}");
    let saved = fs::read_to_string(program.folder().join("game.pgn")).unwrap();
    assert!(
        saved.contains("[Variant \"connect4\"]") && saved.contains("1. 4 ") && saved.contains(" 2. 4 "),
        "{saved}"
    );
    assert!(games(&program).is_empty());
}

#[test]
fn bad_seats_are_refused() {
    let program = program();
    program.check_bad("play hex --against tinker", "unknown player 'tinker'");
    program.check_bad("play hex --side green", "'green' is not first, second, red or blue");
    program.check_bad("play --continue no.pgn", "cannot read no.pgn");
    program.check_bad("play chess --json", "--json is for games between two players");
}

/// A GTP engine that plays the first column and stops in its second move, so that the game stays unfinished.
const STOPS: &str = r#"#!/bin/sh
moves=0
while read command rest; do
  case $command in
    genmove)
      moves=$((moves + 1))
      if [ $moves -gt 1 ]; then touch second; exec cat >/dev/null; fi
      printf '= 1\n\n';;
    quit) exit;;
    known_command) printf '= false\n\n';;
    *) printf '= \n\n';;
  esac
done
"#;

#[test]
fn a_game_between_two_players_is_saved_after_every_move() {
    let program = program();
    program.write("engine.sh", STOPS);
    let line = "play connect4 --first 'gtp:sh,args=engine.sh' --second random --save game.pgn --quiet";
    let mut playing = command(&program, line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let second = program.folder().join("second");
    while !second.exists() {
        assert!(playing.try_wait().unwrap().is_none(), "the game ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    playing.kill().unwrap();
    playing.wait().unwrap();
    let saved = fs::read_to_string(program.folder().join("game.pgn")).unwrap();
    assert!(saved.contains("[Result \"*\"]") && saved.contains("1. 1 "), "{saved}");

    let whole = "play connect4 --first random --second random --save whole.pgn --quiet";
    program.run(whole);
    let saved = fs::read_to_string(program.folder().join("whole.pgn")).unwrap();
    assert!(!saved.contains("[Result \"*\"]"), "{saved}");
}

#[test]
fn a_path_that_cannot_be_written_is_known_before_the_first_move() {
    let program = program();
    let output = program.output("play connect4 --first random --second random --save none/game.pgn --quiet");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("cannot write none/game.pgn"), "{message}");
    assert!(output.stdout.is_empty(), "no move was played");
}
