//! MCTS over the exact solver finds the win wherever there is one.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_game::{Connect4, Position, Rules};
use mavis_oracle::{OracleEvaluator, connect4::Connect4Solver};
use mavis_search::{
    Stop,
    mcts::{Search, Settings},
};
use std::sync::Arc;

/// Searches every `step`-th won position with at least so many stones, and returns how many there were.
fn find_wins(least_stones: usize, step: usize) -> usize {
    let evaluator: Arc<OracleEvaluator<Connect4Solver>> =
        Arc::new(OracleEvaluator::new(Connect4Solver::default()));
    let mut judge = Connect4Solver::default();
    let settings: Settings = "sims=200,batch=1".parse().unwrap();
    let mut n_won = 0;
    let lines =
        include_str!("data/connect4/Test_L1_R1.txt").lines().map(|line| line.split_once(' ').unwrap());
    let won =
        lines.filter(|(columns, score)| columns.len() >= least_stones && score.parse::<i32>().unwrap() > 0);
    for (columns, _) in won.step_by(step) {
        n_won += 1;
        let mut position = Position::start(Rules::Connect4);
        for column in columns.chars() {
            position.play_text(&column.to_string()).unwrap();
        }
        let mut search = Search::new(position.clone(), evaluator.clone(), settings.clone());
        let report = search.run_blocking(&Stop::never()).unwrap();
        let best = report.best.unwrap();
        let Position::Connect4(game) = position else { panic!("it is Connect Four") };
        let scores = judge.score_moves(game);
        let found = scores.iter().any(|&(mv, score)| mv == best && score > 0);
        assert!(found, "{columns}: {best:?} of {scores:?}");
    }
    n_won
}

#[test]
fn the_win_is_found_in_a_sample() {
    // With 14 stones on the board the solver needs milliseconds for what the search asks about it.
    assert_eq!(find_wins(14, 20), 7);
}

#[test]
#[ignore = "minutes: all won positions from thirteen stones on"]
fn the_win_is_found_from_thirteen_stones_on() {
    println!("{} won positions", find_wins(13, 1));
}

#[test]
#[ignore = "hours: early positions make the solver work for every bad move the search looks at"]
fn the_win_is_found_in_every_won_position() {
    println!("{} won positions", find_wins(0, 1));
}

#[test]
fn an_illegal_move_is_a_hallucination_and_another_game_a_failure() {
    use mavis_eval::{EvalError, Evaluator, Request};
    let evaluator = OracleEvaluator::new(Connect4Solver::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let illegal = Request::child(Position::Connect4(Connect4::default()), mavis_game::Move(9));
    let other = Request::state(Position::start(Rules::Othello));
    let replies = runtime.block_on(evaluator.evaluate(vec![illegal, other]));
    assert!(matches!(replies[..], [Err(EvalError::Hallucination(_)), Err(EvalError::Failed(_))]));
}
