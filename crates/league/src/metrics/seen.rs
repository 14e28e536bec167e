//! How much of a game a model has seen in training, figure 8 of paper 001.

use super::{Bands, Metric};
use crate::openings::BookError;
use crate::wire::StoredGame;
use mavis_game::{Game, Position, Rules};

/// One position of a game.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeenSample {
    /// Full move number, from 1.
    pub move_number: u32,
    /// Whether the position is in the training table.
    pub seen: bool,
}

/// Every position of a game in which `player` was to move (opening excluded), looked up by `known`.
///
/// # Errors
/// When the stored moves do not replay under the rules.
pub fn positions_seen(
    game: &StoredGame,
    rules: Rules,
    player: &str,
    known: &mut dyn FnMut(&Position) -> bool,
) -> Result<Vec<SeenSample>, BookError> {
    let mut samples = Vec::new();
    for (position, _) in game.positions::<Position>(rules)?.into_iter().skip(game.opening.len()) {
        let mover =
            if position.side_to_move() == mavis_game::Side::First { &game.first } else { &game.second };
        if mover == player {
            samples.push(SeenSample { move_number: 1 + position.ply() / 2, seen: known(&position) });
        }
    }
    Ok(samples)
}

/// The share of positions seen in training, over all and by move number.
#[must_use]
pub fn seen(samples: &[SeenSample]) -> Vec<Metric> {
    let last = samples.iter().map(|sample| sample.move_number).max().unwrap_or(1);
    let bands = Bands::every(5.0, 1.0, f64::from(last) + 1.0);
    let hits: Vec<_> = samples.iter().map(|sample| (f64::from(sample.move_number), sample.seen)).collect();
    vec![Metric::share("positions seen in training", &hits, &bands)]
}
