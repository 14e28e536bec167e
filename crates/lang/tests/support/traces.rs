//! Traces over made-up values.

use super::{random, random_play};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_lang::{
    Top, grow_trace,
    trace::{Evaluation, Order, Shape, Trace},
};
use rand::Rng as _;

/// Values that depend on position and move alone, so that they can be asked for again.
pub fn evaluate(position: &Position) -> Evaluation {
    let mut rng = random(position.key());
    let moves: Vec<(Move, f32)> = position.legal_moves().into_iter().map(|mv| (mv, rng.random())).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    Evaluation { best: best.map(|(mv, _)| mv), moves }
}

/// A trace of a position of random play, often near the end of a game.
pub fn random_trace(rules: Rules, seed: u64) -> Trace {
    let mut rng = random(seed);
    let plays = random_play(rules, 200, seed);
    // The last plies of a game, so that ends are met.
    let over = plays.iter().position(|(position, _)| position.outcome().is_some()).unwrap_or(150);
    let near_end = over.saturating_sub(rng.random_range(1..4));
    let idx = if rng.random() { near_end } else { rng.random_range(0..plays.len()) };
    let shape = Shape {
        rules,
        breadth: rng.random_range(1..5),
        depth: rng.random_range(1..3),
        compact: rng.random(),
        top: if rng.random() { Top::All } else { Top::Best(rng.random_range(4..9)) },
        order: if seed & 2 == 0 { Order::DepthFirst } else { Order::BreadthFirst },
    };
    grow_trace(shape, &plays[idx].0, &mut evaluate, &mut rng)
}
