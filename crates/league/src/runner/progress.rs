//! How far a game is, for the one who watches over hung players.

use mavis_game::Side;
use mavis_play::MoveRecord;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A game in hand: its moves so far, and since when the next one is thought about.
pub(super) struct Progress(Mutex<State>);

struct State {
    to_move: Side,
    since: Instant,
    moves: Vec<MoveRecord>,
}

impl Progress {
    pub(super) fn new(to_move: Side) -> Self {
        Self(Mutex::new(State { to_move, since: Instant::now(), moves: Vec::new() }))
    }

    pub(super) fn moved(&self, made: &MoveRecord, to_move: Side) {
        let mut state = self.state();
        state.to_move = to_move;
        state.since = Instant::now();
        state.moves.push(made.clone());
    }

    /// Who is to move.
    pub(super) fn to_move(&self) -> Side {
        self.state().to_move
    }

    /// How long the move has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.state().since.elapsed()
    }

    /// Moves so far.
    pub(super) fn moves(&self) -> Vec<MoveRecord> {
        self.state().moves.clone()
    }

    /// The number of moves so far.
    pub(super) fn n_moves(&self) -> u32 {
        u32::try_from(self.state().moves.len()).unwrap_or(u32::MAX)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
