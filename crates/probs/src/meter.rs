//! Where a run stands, for a watcher on another thread.

use mavis_queue::Beat;
use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What a run is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not yet in a round.
    #[default]
    Start,
    /// Games of self-play, counted by games that have ended.
    SelfPlay,
    /// Training of the value net, counted by minibatches.
    Value,
    /// Beam searches, counted by positions.
    Search,
    /// Training of the action net, counted by minibatches.
    Action,
    /// Games against the agents, counted by games that have ended.
    Rating,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::SelfPlay => "self-play, games",
            Self::Value => "training V, minibatches",
            Self::Search => "beam searches, positions",
            Self::Action => "training Q, minibatches",
            Self::Rating => "rating, games",
        })
    }
}

/// A phase and how much of it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The round it belongs to, from 1.
    pub round: u32,
    /// What is being done.
    pub phase: Phase,
    /// How much is done.
    pub done: usize,
    /// How much there is to do.
    pub total: usize,
}

/// The stage of a run. Training writes it, anybody may read it.
#[derive(Debug, Default)]
pub struct Meter {
    stage: Mutex<Stage>,
    beat: Beat,
}

impl Meter {
    /// A meter that keeps a job alive while its stage moves on.
    pub(crate) fn of_job(beat: &Beat) -> Self {
        Self { stage: Mutex::default(), beat: beat.clone() }
    }

    /// Where the run stands now.
    #[must_use]
    pub fn stage(&self) -> Stage {
        *self.lock()
    }

    pub(crate) fn begin(&self, round: u32, phase: Phase, total: usize) {
        *self.lock() = Stage { round, phase, done: 0, total };
    }

    pub(crate) fn add(&self, n: usize) {
        self.lock().done += n;
        self.beat.progress();
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        // Plain numbers: whatever a panic left is as good as before.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
