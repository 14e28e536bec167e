//! The evaluator that costs nothing.

use super::by_rules;
use crate::{Evaluator, Replies, Request, Value, ready};
use mavis_game::Game;

/// Every legal move is worth a draw.
#[derive(Clone, Copy, Default, Debug)]
pub struct Free;

impl<G: Game> Evaluator<G> for Free {
    fn evaluate(&self, requests: Vec<Request<G>>) -> Replies<G> {
        ready(requests.iter().map(|request| by_rules(request, |_, _| Value::certain(0.5))).collect())
    }

    fn describe(&self) -> String {
        "free".to_owned()
    }
}
