//! Evaluators for tests and for scale: they need no model.

mod faulty;
mod free;
mod mistaken;
mod scripted;

pub use faulty::{Faults, Faulty};
pub use free::Free;
pub use mistaken::{Mistaken, Mistakes};
pub use scripted::Scripted;

use crate::{EndOrMoves, EvalError, Evaluation, MoveValue, Reply, Request, Value};
use mavis_game::{Game, Move};
use mavis_stable::seed;
use mavis_value::Mistake;

/// Answers by the rules, with `value` for the worth of each move.
pub(crate) fn by_rules<G: Game>(request: &Request<G>, value: impl Fn(&G, Move) -> Value) -> Reply<G> {
    let Some(state) = request.by_rules() else {
        return Err(EvalError::hallucination(
            Mistake::IllegalMove,
            "the move cannot be played in the parent state",
        ));
    };
    let content = match request.end(&state) {
        Some(outcome) => EndOrMoves::Ended(outcome),
        None => {
            let moves = request.legal(&state);
            EndOrMoves::Moves(moves.iter().map(|&mv| MoveValue { mv, value: value(&state, mv) }).collect())
        }
    };
    Ok(Evaluation { state, content })
}

/// Mixes a key and a seed into 64 well-spread bits.
fn mix(key: u64, seed: u64) -> u64 {
    seed::mix(key ^ seed.wrapping_mul(seed::GOLDEN))
}

/// 53 of the bits as a number from 0 up to 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
