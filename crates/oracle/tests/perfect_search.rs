//! MCTS over the exact solver finds the win wherever there is one. All won positions are searched by the example
//! `perfect_search`, which takes a while.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

#[path = "perfect/wins.rs"]
mod wins;

use mavis_game::{Connect4, Position, Rules};
use mavis_oracle::{OracleEvaluator, connect4::Connect4Solver};
use wins::{Finder, Known, won};

#[test]
fn the_win_is_found_in_a_sample() {
    let mut finder = Finder::new(256 << 20, &Known::default());
    let sample: Vec<&str> = won(14..=14).step_by(20).collect();
    assert_eq!(sample.len(), 7);
    for columns in sample {
        let (best, wins) = finder.search(columns);
        assert!(wins, "{columns}: {best:?} does not win");
    }
}

#[test]
fn an_illegal_move_is_a_hallucination_and_another_game_a_failure() {
    use mavis_eval::{EvalError, Evaluator, Request};
    let evaluator = OracleEvaluator::new(Connect4Solver::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let illegal = Request::child(Position::Connect4(Connect4::default()), mavis_game::Move(9));
    let other = Request::state(Position::start(Rules::Othello));
    let replies = runtime.block_on(evaluator.evaluate(vec![illegal, other]));
    assert!(matches!(replies[..], [Err(EvalError::Hallucination { .. }), Err(EvalError::Failed(_))]));
}
