//! Players between requests: building one may load a model or start an engine, so they are kept.

use crate::ApiError;
use mavis_game::Rules;
use mavis_play::{BuildError, Kind, Player, PlayerSpec, Registry};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Idle players kept; the one unused for longest goes first.
const MOST_IDLE: usize = 12;
/// The player whose model stays in memory.
const RESIDENT: &str = "mav";

pub(crate) struct Pool {
    registry: Registry,
    idle: Mutex<VecDeque<Seat>>,
    /// Keeps the evaluator of the bundled model alive, with what it remembers.
    resident: Mutex<Option<Box<dyn Player>>>,
}

/// A player and the game it is ready for.
pub(crate) struct Seat {
    line: String,
    rules: Rules,
    pub(crate) player: Box<dyn Player>,
}

impl Pool {
    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry, idle: Mutex::default(), resident: Mutex::default() }
    }

    /// Every kind of player there is.
    pub(crate) fn kinds(&self) -> &[Arc<Kind>] {
        self.registry.kinds()
    }

    /// Whether the registry knows a player and its options.
    pub(crate) fn check(&self, spec: &PlayerSpec) -> Result<&Kind, BuildError> {
        self.registry.check(spec)
    }

    /// A player for a new game. It blocks while a model loads or an engine starts.
    pub(crate) fn take(&self, spec: &PlayerSpec, rules: Rules, seed: u64) -> Result<Seat, ApiError> {
        self.load_resident(spec);
        let line = spec.to_string();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle.iter().position(|seat| seat.line == line && seat.rules == rules);
        let found = found.or_else(|| idle.iter().position(|seat| seat.line == line));
        let found = found.and_then(|at| idle.remove(at));
        drop(idle);
        let mut seat = match found {
            Some(seat) => seat,
            None => {
                let player = self.registry.build(spec, seed).map_err(ApiError::bad)?;
                let mut seat = Seat { line, rules, player };
                seat.player.ready_for(rules).map_err(ApiError::bad)?;
                seat
            }
        };
        if seat.rules != rules {
            seat.player.ready_for(rules).map_err(ApiError::bad)?;
            seat.rules = rules;
        }
        seat.player.reseed(seed);
        seat.player.new_game(rules);
        Ok(seat)
    }

    /// Loads the bundled model before the first request needs it.
    pub(crate) fn warm_up(&self) {
        if let Ok(spec) = RESIDENT.parse()
            && let Ok(seat) = self.take(&spec, Rules::Chess, 0)
        {
            self.put_back(seat);
        }
    }

    /// Takes a player back for the next request.
    pub(crate) fn put_back(&self, seat: Seat) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back(seat);
        let dropped = if idle.len() > MOST_IDLE { idle.pop_front() } else { None };
        drop(idle);
        // An engine may take a while to end, and nobody should wait for it with the lock.
        drop(dropped);
    }

    fn load_resident(&self, spec: &PlayerSpec) {
        if !spec.kind.starts_with(RESIDENT) {
            return;
        }
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        if resident.is_none()
            && let Ok(spec) = RESIDENT.parse()
        {
            // A model that does not load is reported by the player that needs it.
            *resident = self.registry.build(&spec, 0).ok();
        }
    }
}
