//! Moves against an exact solver.

use super::{Bands, Metric};
use mavis_game::{Game, Position};
use mavis_oracle::connect4::Connect4Solver;
use mavis_play::{Limit, Player, PlayerError, Turn};

/// One move in a solved game; values are the mover's points with best play, 0, ½ or 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SolverSample {
    /// The ply it was played at.
    pub ply: u32,
    /// What the position was worth.
    pub before: f64,
    /// What was left of it after the move.
    pub after: f64,
    /// Whether there was a worse move to choose.
    pub could_err: bool,
}

/// The share of moves that keep the game's value, the same where a mistake was possible, and the mean loss in points.
#[must_use]
pub fn solver(samples: &[SolverSample], bands: &Bands) -> Vec<Metric> {
    let kept = |sample: &SolverSample| sample.after >= sample.before;
    let all: Vec<_> = samples.iter().map(|sample| (f64::from(sample.ply), kept(sample))).collect();
    let hard: Vec<_> = samples
        .iter()
        .filter(|sample| sample.could_err)
        .map(|sample| (f64::from(sample.ply), kept(sample)))
        .collect();
    let losses: Vec<_> = samples
        .iter()
        .map(|sample| (f64::from(sample.ply), (sample.before - sample.after).max(0.0)))
        .collect();
    vec![
        Metric::share("moves that keep the value", &all, bands),
        Metric::share("the same where it could be lost", &hard, bands),
        Metric::mean("mean loss in points", &losses, bands, 0.0..=1.0),
    ]
}

/// What a player's move in one Connect Four position is worth; `None` for positions of other games or ended ones.
///
/// An illegal move leaves nothing.
///
/// # Errors
/// When the player fails.
pub fn solver_sample(
    player: &mut dyn Player,
    solver: &mut Connect4Solver,
    position: &Position,
    limit: &Limit,
) -> Result<Option<SolverSample>, PlayerError> {
    let Position::Connect4(board) = position else { return Ok(None) };
    if position.outcome().is_some() {
        return Ok(None);
    }
    player.new_game(position.rules());
    let chosen = player.choose(&mut Turn::alone(position, limit.clone(), &mut |_| {}))?.mv;
    let points = |score: i32| 0.5 + 0.5 * f64::from(score.signum());
    let values: Vec<_> =
        solver.score_moves(*board).into_iter().map(|(mv, score)| (mv, points(score))).collect();
    let before = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let after = values.iter().find(|(mv, _)| *mv == chosen).map_or(0.0, |(_, value)| *value);
    let could_err = values.iter().any(|(_, value)| *value < before);
    Ok(Some(SolverSample { ply: position.ply(), before, after, could_err }))
}
