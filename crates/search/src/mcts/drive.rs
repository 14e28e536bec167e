//! The asynchronous main loop: `batch` evaluations in flight, answers taken as they come.

use super::{
    Report, Settings, Stopped,
    proof::Proof,
    report::Counts,
    simulator::{Begun, Simulator, Ticket},
    tree::NodeIdx,
    world::{Asked, World},
};
use crate::Stop;
use mavis_eval::{EvalError, Evaluation, Evaluator, Reply, Request};
use mavis_game::{Move, Outcome};
use mavis_value::Mistake;
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

/// One run of a search.
pub(crate) struct Drive<'a, W> {
    pub(crate) simulator: &'a mut Simulator<W>,
    pub(crate) evaluator: &'a dyn Evaluator,
    pub(crate) settings: &'a Settings,
    pub(crate) counts: Counts,
    root: Root<'a>,
    flights: Flights,
    moves: Vec<(Move, f32)>,
}

/// What belongs to the root of a search beyond its tree.
pub(crate) struct Root<'a> {
    /// Where the evaluator's answer goes.
    pub(crate) evaluation: &'a mut Option<Evaluation>,
    /// The only moves to look at; `None` means all.
    pub(crate) restriction: Option<&'a [Move]>,
}

impl<'a, W: Asked> Drive<'a, W> {
    pub(crate) fn new(
        simulator: &'a mut Simulator<W>,
        evaluator: &'a dyn Evaluator,
        settings: &'a Settings,
        root: Root<'a>,
    ) -> Self {
        let flights = Flights { queue: VecDeque::new(), in_order: settings.deterministic };
        Self { simulator, evaluator, settings, counts: Counts::default(), root, flights, moves: Vec::new() }
    }

    /// Runs until a limit is reached; `progress` is called whenever the number of simulations has doubled.
    pub(crate) async fn run(mut self, stop: &Stop, progress: &mut (dyn FnMut(&Report) + Send)) -> Report {
        if let Some(stopped) = self.evaluate_root(stop).await {
            return report(self.simulator, self.settings, &self.counts, stopped);
        }
        let mut next_progress = 1;
        let stopped = loop {
            if let Some(stopped) = self.launch(stop) {
                break stopped;
            }
            tokio::select! {
                biased;
                (flight, reply) = self.flights.next() => self.land(&flight, reply),
                () = stop.due() => break Stopped::Limit,
            }
            if self.counts.completed >= next_progress {
                next_progress = self.counts.completed.saturating_mul(2);
                progress(&report(self.simulator, self.settings, &self.counts, Stopped::Running));
                // An evaluator that answers at once never lets anyone else run; whoever takes the reports must.
                tokio::task::yield_now().await;
            }
        };
        // Dropping the futures cancels them; their paths are undone.
        for flight in std::mem::take(&mut self.flights.queue) {
            self.simulator.give_up(flight.ticket);
            self.counts.cancelled += 1;
        }
        report(self.simulator, self.settings, &self.counts, stopped)
    }

    /// Evaluates the root of a new tree; `Some` if the search cannot go on.
    async fn evaluate_root(&mut self, stop: &Stop) -> Option<Stopped> {
        if !self.simulator.tree.is_empty() {
            return None;
        }
        let request = self.simulator.world.root_request();
        let asked = with_timeout(self.settings.timeout, self.evaluator.evaluate_one(request.clone()));
        let reply = tokio::select! {
            biased;
            reply = asked => reply,
            () = stop.due() => None,
        };
        let Some(reply) = reply else {
            self.counts.timed_out += 1;
            return Some(Stopped::NoRoot);
        };
        match self.read(&request, reply) {
            Ok((evaluation, None)) => {
                if let Some(allowed) = self.root.restriction {
                    self.moves.retain(|(mv, _)| allowed.contains(mv));
                }
                if self.moves.is_empty() {
                    return Some(Stopped::NoRoot);
                }
                self.simulator.expand_root(&self.moves);
                self.simulator.world.keep(NodeIdx::ROOT, &evaluation);
                *self.root.evaluation = Some(evaluation);
                None
            }
            // The caller made sure that the game is not over: an evaluator that says so is wrong.
            Ok((_, Some(outcome))) => {
                self.count_error(&EvalError::hallucination(
                    Mistake::WrongEnd,
                    format!("root called {outcome}"),
                ));
                Some(Stopped::NoRoot)
            }
            Err(error) => {
                self.count_error(&error);
                Some(Stopped::NoRoot)
            }
        }
    }

    /// Begins simulations until the batch is in flight; `Some` when the search is over.
    fn launch(&mut self, stop: &Stop) -> Option<Stopped> {
        let stopped = loop {
            if self.flights.queue.len() >= usize::from(self.settings.batch) {
                return None;
            }
            if stop.is_due() {
                return Some(Stopped::Limit);
            }
            if self.counts.simulations >= self.settings.simulations {
                break Stopped::Simulations;
            }
            if self.simulator.is_full() {
                break Stopped::Full;
            }
            match self.simulator.begin() {
                Begun::Leaf(ticket, cursor) => {
                    let request = self.simulator.world.request(cursor);
                    let asked = self.evaluator.evaluate_one(request.clone());
                    let reply = Box::pin(with_timeout(self.settings.timeout, asked));
                    self.flights.queue.push_back(Flight { ticket, request, state: State::Waiting(reply) });
                }
                Begun::Known => {
                    self.counts.completed += 1;
                    self.counts.known += 1;
                }
                Begun::Blocked => break Stopped::Settled,
                Begun::Settled => return Some(Stopped::Settled),
            }
            self.counts.simulations += 1;
        };
        // What is in flight still counts.
        self.flights.queue.is_empty().then_some(stopped)
    }

    /// Takes the reply of a flight into the tree.
    fn land(&mut self, flight: &Flight, reply: Option<Reply>) {
        let Some(reply) = reply else {
            self.counts.timed_out += 1;
            return self.simulator.give_up(flight.ticket);
        };
        match self.read(&flight.request, reply) {
            Ok((evaluation, None)) => {
                self.counts.completed += 1;
                let node = self.simulator.answer(flight.ticket, &self.moves);
                self.simulator.world.keep(node, &evaluation);
            }
            Ok((_, Some(outcome))) => {
                self.counts.completed += 1;
                self.simulator.answer_end(flight.ticket, outcome);
            }
            Err(error) => {
                self.count_error(&error);
                match error {
                    EvalError::Hallucination { .. } => self.simulator.answer_dead(flight.ticket),
                    EvalError::Failed(_) => self.simulator.give_up(flight.ticket),
                }
            }
        }
    }

    /// What a reply means: an end, or moves into the list of this run.
    fn read(&mut self, request: &Request, reply: Reply) -> Result<(Evaluation, Option<Outcome>), EvalError> {
        let evaluation = reply?;
        let scoring = self.settings.scoring;
        let end = self.simulator.world.read(request, &evaluation, scoring, &mut self.moves)?;
        Ok((evaluation, end))
    }

    fn count_error(&mut self, error: &EvalError) {
        match error {
            EvalError::Hallucination { kind, .. } => self.counts.hallucinations.add(*kind),
            EvalError::Failed(_) => self.counts.failed += 1,
        }
    }
}

/// How a tree stands, with the move to play.
pub(crate) fn report<W: World>(
    simulator: &mut Simulator<W>,
    settings: &Settings,
    counts: &Counts,
    stopped: Stopped,
) -> Report {
    let counts = simulator.fill_counts(counts);
    if simulator.tree.is_empty() {
        return Report {
            best: None,
            fallback: true,
            value: 0.0,
            proof: Proof::Unknown,
            line: Vec::new(),
            moves: Vec::new(),
            counts,
            stopped,
        };
    }
    let chosen = simulator.tree.final_edge(settings, &mut simulator.random);
    let best = chosen.or_else(|| simulator.tree.best_by_model(NodeIdx::ROOT));
    let tree = &simulator.tree;
    Report {
        best: best.map(|edge| tree.link(edge).mv),
        fallback: chosen.is_none(),
        value: best.map_or(0.0, |edge| tree.mean(edge).unwrap_or(tree.link(edge).value)),
        proof: tree.node(NodeIdx::ROOT).proof,
        line: best.map(|edge| tree.line_from(edge)).unwrap_or_default(),
        moves: simulator.move_reports(),
        counts,
        stopped,
    }
}

/// The reply, or `None` after the timeout.
async fn with_timeout(timeout: Option<Duration>, asked: impl Future<Output = Reply>) -> Option<Reply> {
    match timeout {
        None => Some(asked.await),
        Some(timeout) => tokio::time::timeout(timeout, asked).await.ok(),
    }
}

/// Evaluations under way, oldest first.
struct Flights {
    queue: VecDeque<Flight>,
    /// Whether the oldest must land first.
    in_order: bool,
}

struct Flight {
    ticket: Ticket,
    request: Request,
    state: State,
}

enum State {
    Waiting(Pin<Box<dyn Future<Output = Option<Reply>> + Send>>),
    Ready(Option<Reply>),
}

impl Flights {
    /// The next one to land; never, if there is none.
    async fn next(&mut self) -> (Flight, Option<Reply>) {
        poll_fn(|context| {
            let mut landed = None;
            for (index, flight) in self.queue.iter_mut().enumerate() {
                if let State::Waiting(reply) = &mut flight.state
                    && let Poll::Ready(reply) = reply.as_mut().poll(context)
                {
                    flight.state = State::Ready(reply);
                }
                if matches!(flight.state, State::Ready(_)) && (index == 0 || !self.in_order) {
                    landed = Some(index);
                    break;
                }
            }
            let Some(mut flight) = landed.and_then(|index| self.queue.remove(index)) else {
                return Poll::Pending;
            };
            let state = std::mem::replace(&mut flight.state, State::Ready(None));
            let reply = match state {
                State::Ready(reply) => reply,
                State::Waiting(_) => None,
            };
            Poll::Ready((flight, reply))
        })
        .await
    }
}
