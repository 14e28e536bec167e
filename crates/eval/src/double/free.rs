//! The evaluator that costs nothing.

use super::by_rules;
use crate::{Evaluator, Replies, Request, Value, ready};
use mavis_game::{Game, Move, Moves};
use mavis_value::Scoring;

/// Every legal move is worth a draw.
#[derive(Clone, Copy, Default, Debug)]
pub struct Free;

impl<G: Game> Evaluator<G> for Free {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        ready(requests.iter().map(|request| by_rules(request, |_, _| Value::certain(0.5))).collect())
    }

    fn at_once(&self, state: &G, _: Scoring, moves: &mut Vec<(Move, f32)>) -> bool {
        let mut legal = Moves::new();
        state.legal_moves_into(&mut legal);
        moves.extend(legal.iter().map(|&mv| (mv, 0.5)));
        true
    }

    fn describe(&self) -> String {
        "free".to_owned()
    }
}
