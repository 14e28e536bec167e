//! The solver against the public test sets, and against itself.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Connect4, Game, Move, Position, Rules};
use mavis_oracle::connect4::{Book, Connect4Solver, DEFAULT_MEMORY, plies_to_end};
use mavis_oracle::{Oracle, OracleError, Score};

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
fn verdicts_hold_distances_that_play_out() {
    let mut solver = Connect4Solver::new(8 << 20, Book::default());
    for line in include_str!("data/connect4/Test_L2_R1.txt").lines().step_by(100) {
        let mut position = Position::Connect4(played(line.split_once(' ').unwrap().0));
        let verdict = solver.evaluate(&position).unwrap();
        let mut left = verdict.moves[0].plies.unwrap();
        while position.outcome().is_none() {
            let verdict = solver.evaluate(&position).unwrap();
            assert_eq!(verdict.moves[0].plies, Some(left), "{line}");
            assert_eq!(verdict.moves.len(), position.legal_moves().len());
            position.play(verdict.best().unwrap()).unwrap();
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
    let verdict = solver.evaluate(&won).unwrap();
    assert_eq!((verdict.moves[0].mv, verdict.moves[0].score), (Move(0), Score::Solved(18)));
    assert_eq!((verdict.moves[0].plies, verdict.moves[0].win_probability), (Some(1), 1.0));
    assert_eq!(won.rules(), Rules::Connect4);
}
