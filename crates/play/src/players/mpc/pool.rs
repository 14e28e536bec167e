//! Players at work on many positions at once.
//!
//! Each worker is a thread with an evaluator and an opponent of its own, made when the thread starts and recreated after
//! a failure. A worker that is still busy when the next move begins is left behind and replaced.

use crate::{Choice, Limit, Player, PlayerError, Turn};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_search::Cancel;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

/// Makes a player from a seed, as often as one is needed; the error says in one line why there is none.
pub type Maker = Arc<dyn Fn(u64) -> Result<Box<dyn Player>, String> + Send + Sync>;

/// What a player is asked as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Evaluator,
    Opponent,
}

/// How to make the player of each role.
#[derive(Clone)]
pub(super) struct Makers {
    pub(super) evaluator: Maker,
    /// `None` means that the evaluator plays both parts.
    pub(super) opponent: Option<Maker>,
}

impl Makers {
    fn make(&self, role: Role) -> Result<Box<dyn Player>, PlayerError> {
        let maker = match role {
            Role::Opponent => self.opponent.as_ref().unwrap_or(&self.evaluator),
            Role::Evaluator => &self.evaluator,
        };
        maker(0).map_err(PlayerError::Failed)
    }
}

/// One position to think about.
pub(super) struct Call {
    /// Which line it belongs to, for the one who asked.
    pub(super) number: usize,
    pub(super) role: Role,
    pub(super) start: Arc<Position>,
    /// All moves since the start.
    pub(super) moves: Vec<Move>,
    pub(super) position: Position,
    pub(super) limit: Limit,
    pub(super) cancel: Cancel,
    /// The same call with the same seed gives the same answer, whichever worker takes it.
    pub(super) seed: u64,
}

/// The answer to a call.
pub(super) struct CallResult {
    pub(super) number: usize,
    pub(super) result: Result<Choice, PlayerError>,
}

/// All workers.
pub(super) struct Pool {
    makers: Makers,
    workers: Vec<Worker>,
    answers: Receiver<(u64, CallResult)>,
    to_answers: Sender<(u64, CallResult)>,
    /// Numbers the workers; answers of workers that were left behind are ignored.
    next_worker: u64,
}

struct Worker {
    number: u64,
    calls: Sender<Call>,
    busy: bool,
}

impl Pool {
    /// `n` workers, the first with these players.
    pub(super) fn start(n: usize, makers: Makers, first: Seat) -> Result<Self, String> {
        let (to_answers, answers) = channel();
        let mut pool = Self { makers, workers: Vec::new(), answers, to_answers, next_worker: 0 };
        let mut first = Some(first);
        for _ in 0..n.max(1) {
            let worker = pool.spawn(first.take().unwrap_or_default())?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    fn spawn(&mut self, mut seat: Seat) -> Result<Worker, String> {
        let number = self.next_worker;
        self.next_worker += 1;
        let (calls, inbox) = channel::<Call>();
        let (makers, answers) = (self.makers.clone(), self.to_answers.clone());
        // Not joined: an engine that never answers must not keep the program from ending.
        std::thread::Builder::new()
            .name(format!("mavis-mpc-{number}"))
            .spawn(move || {
                seat.prepare(&makers);
                for call in inbox {
                    let asked = catch_unwind(AssertUnwindSafe(|| seat.answer(&call, &makers)));
                    // A player that panicked is gone with its panic.
                    let panicked = |_| Err(PlayerError::Failed("a player panicked".to_owned()));
                    let answer = CallResult { number: call.number, result: asked.unwrap_or_else(panicked) };
                    if answers.send((number, answer)).is_err() {
                        break;
                    }
                }
            })
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Worker { number, calls, busy: false })
    }

    /// Asks a player of each role whether it can play a game.
    pub(super) fn ready_for(&self, rules: Rules) -> Result<(), PlayerError> {
        self.makers.make(Role::Evaluator)?.ready_for(rules)?;
        match &self.makers.opponent {
            Some(_) => self.makers.make(Role::Opponent)?.ready_for(rules),
            None => Ok(()),
        }
    }

    /// Makes every worker free for a new move.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        // Those who came back since the last move are free again.
        while let Ok((number, _)) = self.answers.try_recv() {
            self.release(number);
        }
        for idx in 0..self.workers.len() {
            if self.workers[idx].busy {
                self.workers[idx] = self.spawn(Seat::default())?;
            }
        }
        Ok(())
    }

    pub(super) fn n_workers(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn has_free(&self) -> bool {
        self.workers.iter().any(|worker| !worker.busy)
    }

    /// Hands a call to a free worker; there must be one.
    pub(super) fn give(&mut self, call: Call) {
        if let Some(worker) = self.workers.iter_mut().find(|worker| !worker.busy) {
            // Cannot fail: a worker only leaves when its sender is dropped.
            worker.busy = worker.calls.send(call).is_ok();
        }
    }

    /// The next answer; `None` when none comes in this time.
    pub(super) fn wait(&mut self, time: Duration) -> Option<CallResult> {
        loop {
            match self.answers.recv_timeout(time) {
                Ok((number, answer)) if self.release(number) => return Some(answer),
                // Someone left behind.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn release(&mut self, number: u64) -> bool {
        let worker = self.workers.iter_mut().find(|worker| worker.number == number);
        worker.map(|worker| worker.busy = false).is_some()
    }
}

/// The players of one worker.
#[derive(Default)]
pub(super) struct Seat {
    pub(super) evaluator: Option<Box<dyn Player>>,
    pub(super) opponent: Option<Box<dyn Player>>,
}

impl Seat {
    /// Makes the players before they are needed, so that the first move loses no time; what fails is made, and reported, when
    /// it is called.
    fn prepare(&mut self, makers: &Makers) {
        let make = |role| catch_unwind(AssertUnwindSafe(|| makers.make(role))).ok().and_then(Result::ok);
        self.evaluator = self.evaluator.take().or_else(|| make(Role::Evaluator));
        if makers.opponent.is_some() {
            self.opponent = self.opponent.take().or_else(|| make(Role::Opponent));
        }
    }

    fn answer(&mut self, call: &Call, makers: &Makers) -> Result<Choice, PlayerError> {
        let apart = call.role == Role::Opponent && makers.opponent.is_some();
        let place = if apart { &mut self.opponent } else { &mut self.evaluator };
        let mut player = match place.take() {
            Some(player) => player,
            None => makers.make(call.role)?,
        };
        let choice = ask(&mut *player, call)?;
        // Only a player that answered well is kept; the next call makes another.
        *place = Some(player);
        Ok(choice)
    }
}

fn ask(player: &mut dyn Player, call: &Call) -> Result<Choice, PlayerError> {
    // Nothing is carried over from another call: neither random numbers nor a hash.
    player.reseed(call.seed);
    player.new_game(call.position.rules());
    let choice = player.choose(&mut Turn {
        start: &call.start,
        moves: &call.moves,
        position: &call.position,
        limit: call.limit.clone(),
        cancel: call.cancel.clone(),
        sink: &mut |_| {},
    })?;
    if call.position.is_legal(choice.mv) {
        Ok(choice)
    } else {
        Err(PlayerError::Failed(format!("{} chose an illegal move", player.name())))
    }
}
