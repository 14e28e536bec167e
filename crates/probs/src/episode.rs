//! Games of self-play and the states learned from.

use crate::Planes;
use mavis_game::{Move, Outcome};

/// A finished or cut off game.
pub(crate) struct Episode<G> {
    /// The states in which a move was made.
    pub(crate) states: Vec<G>,
    /// The move made in each of them.
    pub(crate) moves: Vec<Move>,
    /// What a search wanted to play in each of them: shares of visits. Empty where nobody searched.
    pub(crate) policies: Vec<Vec<(Move, f32)>>,
    /// How it ended; `None` when it was cut off.
    pub(crate) outcome: Option<Outcome>,
}

impl<G> Default for Episode<G> {
    fn default() -> Self {
        Self { states: Vec::new(), moves: Vec::new(), policies: Vec::new(), outcome: None }
    }
}

/// A state with what the nets should say about it.
pub(crate) struct Sample<G> {
    pub(crate) state: G,
    /// The game it comes from, by its number in the round, and how many moves led to it.
    pub(crate) place: (usize, usize),
    /// The end of its game for the side to move: 1, 0 or -1; a game cut off counts as drawn.
    pub(crate) value: f32,
    /// Targets for every legal move: q-values or shares of visits.
    pub(crate) moves: Vec<(Move, f32)>,
}

/// The outcome of a game, if it has ended; a draw that can be claimed is one.
pub(crate) fn end<G: Planes>(state: &G) -> Option<Outcome> {
    state.outcome().or_else(|| state.claimable_draw().then_some(Outcome::Draw))
}

/// What an outcome is worth to the side to move in a state.
pub(crate) fn worth<G: Planes>(state: &G, outcome: Option<Outcome>) -> f32 {
    match outcome.and_then(Outcome::winner) {
        Some(winner) if winner == state.side_to_move() => 1.0,
        Some(_) => -1.0,
        None => 0.0,
    }
}

/// The last `capacity` states of all games in order.
pub(crate) fn replay<G: Planes>(episodes: Vec<Episode<G>>, capacity: usize) -> Vec<Sample<G>> {
    let n_states: usize = episodes.iter().map(|episode| episode.states.len()).sum();
    let samples = episodes.into_iter().enumerate().flat_map(|(number, episode)| {
        let outcome = episode.outcome;
        let policies = episode.policies.into_iter().chain(std::iter::repeat_with(Vec::new));
        episode.states.into_iter().zip(policies).enumerate().map(move |(ply, (state, moves))| {
            let value = worth(&state, outcome);
            Sample { state, place: (number, ply), value, moves }
        })
    });
    samples.skip(n_states.saturating_sub(capacity)).collect()
}
