//! The search in the background: one thread that owns the player.

use super::report::{Shown, best_move, info};
use crate::commands::answer;
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_oracle::uci::{EngineMessage, Info};
use mavis_play::{Limit, Player, Thought, Turn};
use mavis_search::Cancel;
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// One search to do.
pub(super) struct Order {
    pub(super) start: Position,
    pub(super) moves: Vec<Move>,
    pub(super) position: Position,
    pub(super) limit: Limit,
    /// Whether scores come with chances of win, draw and loss.
    pub(super) wdl: bool,
    /// Whether `bestmove` waits for `stop` or `ponderhit`.
    pub(super) wait: bool,
}

/// The handle of the searching thread.
pub(super) struct Searcher {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
    running: Option<(Cancel, Arc<Gate>)>,
}

/// Commands to the thread.
enum Job {
    Search(Box<Order>, Cancel, Arc<Gate>),
    NewGame(Rules),
    Player(Box<dyn Player>),
}

/// How far one search is, as both threads see it.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// `bestmove` must not be said yet.
    hold: bool,
    /// `bestmove` is out.
    done: bool,
}

impl Gate {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until the state is as wanted, or for `time` at most.
    fn wait(&self, time: Option<Duration>, ready: impl Fn(&State) -> bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match time {
            Some(time) => drop(self.changed.wait_timeout_while(state, time, |state| !ready(state))),
            None => drop(self.changed.wait_while(state, |state| !ready(state))),
        }
    }
}

/// Says that a search is over, also when the player panicked.
struct Done(Arc<Gate>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.set(|state| state.done = true);
    }
}

impl Searcher {
    pub(super) fn start(player: Box<dyn Player>) -> std::io::Result<Self> {
        let (jobs, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("mavis-uci".to_owned())
            .spawn(move || work(player, &receiver))?;
        Ok(Self { jobs, thread, running: None })
    }

    /// Begins a search; one under way is stopped, and its `bestmove` comes first.
    pub(super) fn go(&mut self, order: Order) {
        self.finish();
        let (cancel, gate) = (Cancel::new(), Arc::new(Gate::default()));
        gate.set(|state| state.hold = order.wait);
        self.running = Some((cancel.clone(), gate.clone()));
        self.send(Job::Search(Box::new(order), cancel, gate));
    }

    /// Ends the search under way; its `bestmove` comes soon.
    pub(super) fn stop(&self) {
        if let Some((cancel, gate)) = &self.running {
            gate.set(|state| state.hold = false);
            cancel.cancel();
        }
    }

    /// The move pondered on was played: the search continues for `time`, or until its own limits end it.
    pub(super) fn ponder_hit(&self, time: Option<Duration>) {
        let Some((cancel, gate)) = &self.running else { return };
        gate.set(|state| state.hold = false);
        let Some(time) = time else { return };
        let (cancel, gate) = (cancel.clone(), gate.clone());
        // A thread keeps the time; it ends with the search at the latest.
        std::thread::spawn(move || {
            gate.wait(Some(time), |state| state.done);
            cancel.cancel();
        });
    }

    /// Stops what is under way and waits until its `bestmove` is out.
    pub(super) fn finish(&mut self) {
        self.stop();
        if let Some((_, gate)) = self.running.take() {
            gate.wait(None, |state| state.done);
        }
    }

    pub(super) fn new_game(&mut self, rules: Rules) {
        self.finish();
        self.send(Job::NewGame(rules));
    }

    pub(super) fn replace(&mut self, player: Box<dyn Player>) {
        self.finish();
        self.send(Job::Player(player));
    }

    /// Stops everything and waits for the thread.
    pub(super) fn end(mut self) {
        self.finish();
        drop(self.jobs);
        // A panic of the thread was reported where it happened.
        drop(self.thread.join());
    }

    fn send(&self, job: Job) {
        if let Err(mpsc::SendError(Job::Search(_, _, gate))) = self.jobs.send(job) {
            // The thread is gone: nothing may wait for it.
            gate.set(|state| state.done = true);
        }
    }
}

/// The thread: jobs in order until the handle is gone.
fn work(mut player: Box<dyn Player>, jobs: &mpsc::Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        match job {
            Job::NewGame(rules) => player.new_game(rules),
            Job::Player(other) => player = other,
            Job::Search(order, cancel, gate) => {
                let done = Done(gate.clone());
                let answer = search(&mut *player, &order, cancel);
                gate.wait(None, |state| !state.hold);
                say(&answer);
                drop(done);
            }
        }
    }
}

/// Searches and reports its progress; there is always an answer.
fn search(player: &mut dyn Player, order: &Order, cancel: Cancel) -> EngineMessage {
    let position = &order.position;
    if position.outcome().is_some() || position.legal_moves().is_empty() {
        note("the game is over here");
        return EngineMessage::BestMove { best: None, ponder: None };
    }
    let began = Instant::now();
    let shown = Shown { several: order.limit.lines > 1, wdl: order.wdl };
    let mut tell = |thought: &Thought| {
        say(&EngineMessage::Info(Box::new(info(position, thought, began.elapsed(), shown))));
    };
    let mut turn = Turn {
        start: &order.start,
        moves: &order.moves,
        position,
        limit: order.limit.clone(),
        cancel,
        sink: &mut tell,
    };
    match player.choose(&mut turn) {
        Ok(choice) if position.is_legal(choice.mv) => best_move(position, &choice),
        Ok(_) => first_legal(order, "the player chose an illegal move"),
        Err(error) => first_legal(order, &error.to_string()),
    }
}

/// A game continues even if the player cannot: the first move there is, with the reason.
fn first_legal(order: &Order, reason: &str) -> EngineMessage {
    note(&format!("{reason}; playing the first legal move"));
    let legal = order.position.legal_moves();
    let best = legal.iter().copied().find(|&mv| order.limit.allows(mv)).or_else(|| legal.first().copied());
    EngineMessage::BestMove { best: best.map(|mv| order.position.move_text(mv)), ponder: None }
}

/// A line of free text for the GUI's log.
pub(super) fn note(text: &str) {
    // One line, whatever the text holds.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    say(&EngineMessage::Info(Box::new(Info { string: Some(text), ..Info::default() })));
}

fn say(line: &EngineMessage) {
    // A GUI that closed its end is noticed where its commands are read.
    drop(answer(&line.to_string()));
}
