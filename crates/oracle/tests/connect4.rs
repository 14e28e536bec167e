//! The solver against the public test sets, and against itself.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Connect4, Game, Move, Position, Rules};
use mavis_oracle::connect4::{Book, Connect4Solver, DEFAULT_MEMORY, build_book, plies_to_end};
use mavis_oracle::{Oracle, OracleError, Score};
use std::process::{Command, Stdio};

fn played(columns: &str) -> Connect4 {
    let mut position = Connect4::default();
    for column in columns.chars() {
        let mv = position.parse_move(&column.to_string()).unwrap();
        position.play(mv).unwrap();
    }
    position
}

#[track_caller]
fn check_set(text: &str, n_lines: usize) {
    let mut solver = Connect4Solver::new(DEFAULT_MEMORY, Book::default());
    for line in text.lines().take(n_lines) {
        let (columns, score) = line.split_once(' ').unwrap();
        assert_eq!(solver.score(played(columns)), score.parse::<i32>().unwrap(), "{line}");
    }
}

#[test]
fn end_easy() {
    check_set(include_str!("data/connect4/Test_L3_R1.txt"), 1000);
}

#[test]
fn middle_easy() {
    check_set(include_str!("data/connect4/Test_L2_R1.txt"), 1000);
}

#[test]
fn begin_easy() {
    check_set(include_str!("data/connect4/Test_L1_R1.txt"), 1000);
}

#[test]
fn begin_medium_some() {
    check_set(include_str!("data/connect4/Test_L1_R2.txt"), 25);
}

#[test]
#[ignore = "two minutes of search"]
fn begin_medium_all() {
    check_set(include_str!("data/connect4/Test_L1_R2.txt"), 1000);
}

/// The definition of the score, without any cleverness.
fn plain_score(position: Connect4) -> i32 {
    if let Some(outcome) = position.outcome() {
        return if outcome.winner().is_some() { -(44 - position.ply() as i32) / 2 } else { 0 };
    }
    let moves = (0..7).map(Move).filter(|&mv| position.is_legal(mv));
    moves
        .map(|mv| {
            let mut next = position;
            next.play_unchecked(mv);
            -plain_score(next)
        })
        .max()
        .unwrap()
}

#[test]
fn every_move_equals_plain_minimax() {
    let mut solver = Connect4Solver::new(1 << 20, Book::default());
    for line in include_str!("data/connect4/Test_L3_R1.txt").lines().step_by(10) {
        let position = played(line.split_once(' ').unwrap().0);
        if position.ply() < 30 {
            continue;
        }
        for (mv, score) in solver.score_moves(position) {
            let mut next = position;
            next.play_unchecked(mv);
            assert_eq!(score, -plain_score(next), "{line}");
        }
    }
}

#[test]
fn the_winner_is_the_sign_of_the_score() {
    let mut solver = Connect4Solver::new(8 << 20, Book::default());
    let mut seen = [0; 3];
    for file in [include_str!("data/connect4/Test_L3_R1.txt"), include_str!("data/connect4/Test_L2_R1.txt")] {
        for (columns, score) in file.lines().step_by(7).map(|line| line.split_once(' ').unwrap()) {
            let sign = score.parse::<i32>().unwrap().signum();
            assert_eq!(solver.winner(played(columns)), sign, "{columns}");
            seen[(sign + 1) as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&n| n > 5), "{seen:?}");
    assert_eq!(solver.winner(played("1212121")), -1, "a finished game");
}

#[test]
fn rankings_hold_distances_that_play_out() {
    let mut solver = Connect4Solver::new(8 << 20, Book::default());
    for line in include_str!("data/connect4/Test_L2_R1.txt").lines().step_by(100) {
        let mut position = Position::Connect4(played(line.split_once(' ').unwrap().0));
        let ranking = solver.evaluate(&position).unwrap();
        let mut left = ranking.moves[0].plies.unwrap();
        while position.outcome().is_none() {
            let ranking = solver.evaluate(&position).unwrap();
            assert_eq!(ranking.moves[0].plies, Some(left), "{line}");
            assert_eq!(ranking.moves.len(), position.legal_moves().len());
            position.play(ranking.best().unwrap()).unwrap();
            left -= 1;
        }
        assert_eq!(left, 0, "{line}");
        assert!(matches!(solver.evaluate(&position), Err(OracleError::GameOver { .. })));
    }
}

#[test]
fn distances_of_known_scores() {
    assert_eq!(plies_to_end(0, 1), 41);
    assert_eq!(plies_to_end(6, 18), 1);
    assert_eq!(plies_to_end(7, 0), 35);
    let mut solver = Connect4Solver::default();
    let won = Position::Connect4(played("121212"));
    let ranking = solver.evaluate(&won).unwrap();
    assert_eq!((ranking.moves[0].mv, ranking.moves[0].score), (Move(0), Score::Solved(18)));
    assert_eq!((ranking.moves[0].plies, ranking.moves[0].win_probability), (Some(1), 1.0));
    assert_eq!(won.rules(), Rules::Connect4);
}

const WHOLE_BOOK: &str = include_str!("../data/connect4.book");

/// The child of the test below: builds the book that the environment names until it is killed.
#[test]
#[ignore = "runs in a process of its own, which another test starts and kills"]
fn build_the_book_of_the_environment() {
    if let Some(path) = std::env::var_os("MAVIS_TEST_BOOK") {
        build_book(path.as_ref(), DEFAULT_MEMORY, |_| ()).unwrap();
    }
}

/// A builder killed in the middle of a search, and a line cut off as a kill in the middle of writing leaves it: what stands in the
/// file is not searched again, the rest is.
#[test]
fn building_the_book_goes_on_after_a_kill() {
    let score = |line: &str| line.split_once(' ').unwrap().1.parse::<i32>().unwrap();
    let whole: Vec<&str> = WHOLE_BOOK.lines().collect();
    // Scores of 18 are won with the next stone but one and solved at once; the one in the middle takes minutes.
    // The file was itself built in several runs; the builder goes by the columns.
    let mut quick: Vec<&str> = whole.iter().copied().filter(|line| score(line) == 18).collect();
    quick.sort_unstable();
    let between = |at: usize| {
        let mut lines = whole.iter().copied().filter(|line| score(line).abs() <= 1);
        lines.find(|line| (quick[at - 1]..quick[at]).contains(line))
    };
    let (at, hard) = (10..quick.len()).find_map(|at| between(at).map(|hard| (at, hard))).unwrap();
    let (before, after) = quick.split_at(at);
    let begun = whole.iter().filter(|line| !quick.contains(line) && **line != hard);
    let begun: String = begun.map(|line| format!("{line}\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("connect4.book");
    std::fs::write(&path, &begun).unwrap();

    let mut builder = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "connect4::build_the_book_of_the_environment"])
        .env("MAVIS_TEST_BOOK", &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let at_kill = format!("{begun}{}", before.iter().map(|line| format!("{line}\n")).collect::<String>());
    while std::fs::read_to_string(&path).unwrap() != at_kill {
        assert!(builder.try_wait().unwrap().is_none(), "the builder ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    builder.kill().unwrap();
    builder.wait().unwrap();

    // The hard one is put in by hand; the next is cut off.
    std::fs::write(&path, format!("{at_kill}{hard}\n{}", &after[0][..3])).unwrap();
    let mut written = Vec::new();
    let book = build_book(&path, DEFAULT_MEMORY, |progress| {
        let n_done = whole.len() - after.len() + 1 + written.len();
        assert_eq!((progress.n_done, progress.n_total), (n_done, whole.len()));
        written.push(progress.line.clone());
    })
    .unwrap();
    assert_eq!(written, after);
    assert_eq!(book.len(), Book::shipped().len());
    // Once more finds nothing to do, and a file that is no book is left alone.
    build_book(&path, 1 << 20, |_| panic!("searched again")).unwrap();
    std::fs::write(&path, "no book\n").unwrap();
    assert!(build_book(&path, 1 << 20, |_| ()).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "no book\n");
}
