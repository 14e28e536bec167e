//! All lines of one step at once, over the pool.

use super::{
    branch::Branch,
    budget::Budget,
    pool::{Call, CallResult, Pool, Role},
};
use crate::PlayerError;
use mavis_game::{Move, Position, Side};
use mavis_search::Cancel;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How often it is looked whether the move was cancelled.
const GLANCE: Duration = Duration::from_millis(5);
/// How long engines may take after `stop` where no clock runs.
const UNTIMED_GRACE: Duration = Duration::from_millis(500);
/// Calls of one line that may fail before it is left without a value.
const ATTEMPTS: u32 = 3;

/// One move in the making.
pub(super) struct Explorer<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) budget: Budget,
    /// Raised from outside to end the move.
    pub(super) cancel: &'a Cancel,
    pub(super) start: Arc<Position>,
    pub(super) played: &'a [Move],
    pub(super) root: Side,
    pub(super) seed: u64,
    /// Calls handed out so far.
    pub(super) n_calls: usize,
    /// Positions searched by all players.
    pub(super) nodes: u64,
    /// The last failure, in words.
    pub(super) failure: Option<String>,
    /// Set when lines were left without a value though nobody failed: time was up, the move was cancelled, or the
    /// evaluator had no opinion when the time of its call was up.
    pub(super) cut_short: bool,
}

impl Explorer<'_> {
    /// Asks until every branch has its value, time is up or the move is cancelled. `n_later` is the number of calls
    /// expected after these; `done` sees each branch that got its value.
    pub(super) fn explore(
        &mut self,
        branches: &mut [Branch],
        n_later: usize,
        done: &mut dyn FnMut(&Branch, u64),
    ) -> Result<(), PlayerError> {
        let stop = Cancel::new();
        let mut give_up: Option<Instant> = None;
        branches.iter().filter(|branch| branch.next.is_none()).for_each(|branch| done(branch, self.nodes));
        loop {
            if give_up.is_none() && self.must_stop() {
                self.cut_short = true;
                stop.cancel();
                give_up = Some(self.budget.hard.unwrap_or_else(|| Instant::now() + UNTIMED_GRACE));
            }
            if give_up.is_none() {
                self.hand_out(branches, n_later, &stop);
            }
            let waiting = branches.iter().any(|branch| branch.in_flight);
            if !waiting || give_up.is_some_and(|limit| Instant::now() >= limit) {
                return Ok(());
            }
            if let Some(answer) = self.pool.wait(self.patience(give_up)) {
                self.take(branches, answer, done)?;
            }
        }
    }

    fn must_stop(&self) -> bool {
        self.cancel.is_cancelled() || self.budget.soft.is_some_and(|soft| Instant::now() >= soft)
    }

    fn patience(&self, give_up: Option<Instant>) -> Duration {
        let due = give_up.or(self.budget.soft).map(|due| due.saturating_duration_since(Instant::now()));
        due.map_or(GLANCE, |due| due.min(GLANCE)).max(Duration::from_micros(200))
    }

    fn hand_out(&mut self, branches: &mut [Branch], n_later: usize, stop: &Cancel) {
        while self.pool.has_free() {
            // Replies first: a line has its two calls one after the other, so the longest chains begin soonest, and when
            // time runs out every line has at least the opponent's word.
            let open =
                |role| branches.iter().position(|branch| branch.next == Some(role) && !branch.in_flight);
            let Some(number) = open(Role::Opponent).or_else(|| open(Role::Evaluator)) else { return };
            let n_left = branches.iter().map(Branch::n_calls).sum::<usize>() + n_later;
            let n_all = self.n_calls + n_left;
            let branch = &mut branches[number];
            let Some(role) = branch.next else { return };
            branch.in_flight = true;
            self.pool.give(Call {
                number,
                role,
                start: self.start.clone(),
                moves: self.played.iter().chain(&branch.moves).copied().collect(),
                position: branch.position.clone(),
                limit: self.budget.call(Instant::now(), n_left, n_all, self.pool.n_workers()),
                cancel: stop.clone(),
                seed: call_seed(self.seed, &branch.moves, role),
            });
            self.n_calls += 1;
        }
    }

    fn take(
        &mut self,
        branches: &mut [Branch],
        answer: CallResult,
        done: &mut dyn FnMut(&Branch, u64),
    ) -> Result<(), PlayerError> {
        let branch = &mut branches[answer.number];
        branch.in_flight = false;
        match answer.result {
            Ok(choice) => {
                self.nodes += choice.thought.nodes;
                if !branch.settle(&choice, self.root) {
                    self.cut_short = true;
                    let note = choice.thought.note.map(|note| format!(" ({note})")).unwrap_or_default();
                    let text = branch.position.to_string();
                    self.failure = Some(format!("the evaluator gave no value of {text}{note}"));
                }
            }
            Err(error @ (PlayerError::Unsupported { .. } | PlayerError::Broken(_))) => return Err(error),
            Err(error) => {
                branch.n_failures += 1;
                self.failure = Some(error.to_string());
                if branch.n_failures >= ATTEMPTS {
                    branch.next = None;
                }
            }
        }
        if branch.next.is_none() {
            done(branch, self.nodes);
        }
        Ok(())
    }
}

/// A seed of its own for each call, the same whichever worker takes it and in whatever order.
fn call_seed(seed: u64, moves: &[Move], role: Role) -> u64 {
    let draw = |seed| Xoshiro256PlusPlus::seed_from_u64(seed).random::<u64>();
    let by_moves = moves.iter().fold(draw(seed), |seed, mv| draw(seed ^ u64::from(mv.0)));
    draw(by_moves ^ (u64::from(role == Role::Opponent) << 40))
}
