//! The asynchronous main loop: up to `batch` evaluations in flight.
//!
//! In the order of launch a whole group of leaves is asked for, and enters the tree when all of it is back; what the tree looks
//! like then does not depend on which answer came first. A batch is one group, or several where the evaluator works on several
//! at a time: then the next group is selected and prepared while others are evaluated. In the order of arrival answers are taken
//! as they come, and others are asked for in their place.

use super::{
    MctsSettings, Order, Report, Stopped,
    pace::Pace,
    proof::Proof,
    report::Counts,
    simulator::{Begun, Simulator, Ticket},
    tree::NodeIdx,
    world::{Asked, World},
};
use crate::stop::{Stop, now};
use mavis_eval::{EvalError, Evaluation, Evaluator, OneReply, Reply, Request};
use mavis_game::{Game, Move, Outcome};
use mavis_value::Mistake;
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

/// Simulations that wait for nothing after which others get their turn, however many more there are.
const IN_A_ROW: u32 = 1000;

/// One run of a search.
pub(crate) struct Drive<'a, W: World> {
    pub(crate) simulator: &'a mut Simulator<W>,
    pub(crate) evaluator: &'a dyn Evaluator<W::Root>,
    pub(crate) settings: &'a MctsSettings,
    pub(crate) counts: Counts,
    root: Root<'a, W::Root>,
    flights: Flights<W::Root>,
    /// Groups that a batch is divided into.
    n_groups: usize,
    /// Leaves of the group that is being made.
    leaves: Vec<(Ticket, W::Cursor)>,
    moves: Vec<(Move, f32)>,
    /// Simulations answered at once since others last got their turn.
    n_at_once: u32,
    /// Why the evaluator will not answer again.
    broken: Option<String>,
}

/// What belongs to the root of a search beyond its tree.
pub(crate) struct Root<'a, G> {
    /// Where the evaluator's answer goes.
    pub(crate) evaluation: &'a mut Option<Evaluation<G>>,
    /// The only moves to look at; `None` means all.
    pub(crate) restriction: Option<&'a [Move]>,
    /// By when the evaluation must be there, if later than the end of the search.
    pub(crate) deadline: Option<Instant>,
    /// How long evaluations take.
    pub(crate) pace: &'a mut Pace,
}

impl<'a, W: Asked> Drive<'a, W> {
    pub(crate) fn new(
        simulator: &'a mut Simulator<W>,
        evaluator: &'a dyn Evaluator<W::Root>,
        settings: &'a MctsSettings,
        root: Root<'a, W::Root>,
    ) -> Self {
        let flights = Flights { queue: VecDeque::new(), order: settings.order };
        let n_groups = match (settings.order, settings.groups) {
            (Order::Arrival, _) => 1,
            (Order::Launch, 0) => evaluator.concurrent_batches().max(1),
            (Order::Launch, groups) => usize::from(groups),
        };
        let counts = Counts { kept: simulator.n_visits(), ..Counts::default() };
        Self {
            simulator,
            evaluator,
            settings,
            counts,
            root,
            flights,
            n_groups,
            leaves: Vec::new(),
            moves: Vec::new(),
            n_at_once: 0,
            broken: None,
        }
    }

    /// Runs until a limit is reached; `progress` is called whenever the number of simulations has doubled.
    pub(crate) async fn run(mut self, stop: &Stop, progress: &mut (dyn FnMut(&Report) + Send)) -> Report {
        if let Some(stopped) = self.evaluate_root(stop).await {
            return self.end(stopped);
        }
        let mut next_progress = 1;
        let stopped = loop {
            let n_before = self.flights.queue.len();
            if let Some(stopped) = self.launch(stop) {
                break stopped;
            }
            if self.flights.queue.len() > n_before && self.flights.n_groups() < self.n_groups {
                continue;
            }
            if self.flights.queue.is_empty() {
                // Nothing that was begun is waited for: whoever may stop this search gets to run.
                if self.n_at_once >= IN_A_ROW {
                    self.n_at_once = 0;
                    tokio::task::yield_now().await;
                }
            } else {
                tokio::select! {
                    biased;
                    landed = self.flights.landed() => {
                        if let Some((oldest, _)) = landed.first() {
                            self.root.pace.add(now() - oldest.began);
                        }
                        landed.into_iter().for_each(|(flight, reply)| self.land(&flight, reply));
                    }
                    () = stop.due() => break Stopped::Limit,
                }
                if self.broken.is_some() {
                    break Stopped::Broken;
                }
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
        self.end(stopped)
    }

    /// The last report.
    fn end(&mut self, stopped: Stopped) -> Report {
        let broken = self.broken.take();
        Report { broken, ..report(self.simulator, self.settings, &self.counts, stopped) }
    }

    /// Evaluates the root of a new tree; `Some` if the search cannot continue.
    async fn evaluate_root(&mut self, stop: &Stop) -> Option<Stopped> {
        if !self.simulator.tree.is_empty() {
            return None;
        }
        let request = self.simulator.world.root_request();
        self.counts.evaluations += 1;
        let asked = with_timeout(self.settings.timeout, self.evaluator.evaluate_one(request.clone()));
        let began = now();
        // Without a deadline of the search there is none here either.
        let deadline =
            stop.deadline.map(|deadline| self.root.deadline.map_or(deadline, |root| root.max(deadline)));
        let patience = Stop { deadline, cancel: stop.cancel.clone() };
        let reply = tokio::select! {
            biased;
            reply = asked => reply,
            () = patience.due() => None,
        };
        self.root.pace.add(now() - began);
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
                Some(if self.broken.is_some() { Stopped::Broken } else { Stopped::NoRoot })
            }
        }
    }

    /// Begins a group of simulations, which is in flight then, or answered already; `Some` when the search is over.
    fn launch(&mut self, stop: &Stop) -> Option<Stopped> {
        let mut leaves = std::mem::take(&mut self.leaves);
        let stopped = self.descend(stop, &mut leaves);
        if let Some(stopped @ (Stopped::Limit | Stopped::Settled)) = stopped {
            // Nobody waits for what was about to be asked.
            for (ticket, _) in leaves {
                self.simulator.give_up(ticket);
                self.counts.cancelled += 1;
            }
            return Some(stopped);
        }
        self.counts.evaluations += leaves.len() as u32;
        let began = now();
        let n_answered = self.answer_at_once(&leaves);
        leaves.drain(..n_answered);
        if n_answered > 0 {
            self.root.pace.add(now() - began);
        }
        if leaves.is_empty() {
            self.leaves = leaves;
            // Without a leaf there were as many known ends as others need to wait for.
            self.n_at_once = if n_answered > 0 { self.n_at_once + n_answered as u32 } else { IN_A_ROW };
            // What was answered may have opened new leaves; only the next call can tell.
            return stopped.filter(|_| n_answered == 0 && self.flights.queue.is_empty());
        }
        let asked = leaves.into_iter().map(|(ticket, cursor)| (ticket, self.simulator.world.request(cursor)));
        let (tickets, requests): (Vec<Ticket>, Vec<Request<W::Root>>) = asked.unzip();
        let replies = self.evaluator.evaluate_each(requests.clone());
        let group = self.flights.queue.back().map_or(0, |last| last.group + 1);
        for ((ticket, request), reply) in tickets.into_iter().zip(requests).zip(replies) {
            let reply = Box::pin(with_timeout(self.settings.timeout, reply));
            let state = State::Waiting(reply);
            self.flights.queue.push_back(Flight { ticket, request, group, began, state });
        }
        // What is in flight still counts.
        stopped.filter(|_| self.flights.queue.is_empty())
    }

    /// Takes leaves into the tree as long as the evaluator has their values at once; how many that were.
    fn answer_at_once(&mut self, leaves: &[(Ticket, W::Cursor)]) -> usize {
        let Self { simulator, counts, .. } = self;
        let known = leaves.iter().map_while(|(_, cursor)| simulator.world.state(cursor));
        let states: Vec<&W::Root> = known.collect();
        let mut tickets = leaves.iter().map(|&(ticket, _)| ticket);
        self.evaluator.all_at_once(&states, self.settings.scoring, &mut |moves| {
            if let Some(ticket) = tickets.next() {
                counts.completed += 1;
                simulator.answer(ticket, moves);
            }
        })
    }

    /// Goes down until the group is full, and says why no further simulation can begin, if that is so.
    fn descend(&mut self, stop: &Stop, leaves: &mut Vec<(Ticket, W::Cursor)>) -> Option<Stopped> {
        let mut n_known = 0;
        let batch = usize::from(self.settings.batch);
        let room = batch.div_ceil(self.n_groups).min(batch.saturating_sub(self.flights.queue.len()));
        while leaves.len() < room {
            if stop.is_due() {
                return Some(Stopped::Limit);
            }
            // One batch is begun in any case: without it the pace of another day would hold for good.
            if leaves.is_empty() && self.counts.evaluations > 0 && self.is_too_late(stop) {
                // What is in flight may still be back in time.
                return if self.flights.queue.is_empty() { Some(Stopped::Limit) } else { None };
            }
            if self.counts.kept.saturating_add(self.counts.simulations) >= self.settings.simulations {
                return Some(Stopped::Simulations);
            }
            if self.simulator.is_full() {
                return Some(Stopped::Full);
            }
            match self.simulator.begin() {
                Begun::Leaf(ticket, cursor) => leaves.push((ticket, cursor)),
                Begun::Known => {
                    self.counts.completed += 1;
                    self.counts.known += 1;
                    n_known += 1;
                }
                Begun::Blocked if leaves.is_empty() && self.flights.queue.is_empty() => {
                    return Some(Stopped::Settled);
                }
                Begun::Blocked => return None,
                Begun::Settled => return Some(Stopped::Settled),
            }
            self.counts.simulations += 1;
            if n_known >= IN_A_ROW {
                return None;
            }
        }
        None
    }

    /// Whether an evaluation begun now would come after the deadline, as far as one can tell.
    fn is_too_late(&self, stop: &Stop) -> bool {
        let left = stop.deadline.map(|deadline| deadline.saturating_duration_since(now()));
        left.is_some_and(|left| left < self.root.pace.expected())
    }

    /// Takes the reply of a flight into the tree.
    fn land(&mut self, flight: &Flight<W::Root>, reply: Option<Reply<W::Root>>) {
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
                    EvalError::Failed(_) | EvalError::Broken(_) => self.simulator.give_up(flight.ticket),
                }
            }
        }
    }

    /// What a reply means: an end, or moves into the list of this run.
    fn read(
        &mut self,
        request: &Request<W::Root>,
        reply: Reply<W::Root>,
    ) -> Result<(Evaluation<W::Root>, Option<Outcome>), EvalError> {
        let evaluation = reply?;
        let scoring = self.settings.scoring;
        let end = self.simulator.world.read(request, &evaluation, scoring, &mut self.moves)?;
        Ok((evaluation, end))
    }

    fn count_error(&mut self, error: &EvalError) {
        match error {
            EvalError::Hallucination { kind, .. } => self.counts.hallucinations.add(*kind),
            EvalError::Failed(_) => self.counts.failed += 1,
            EvalError::Broken(reason) => {
                self.counts.failed += 1;
                self.broken = Some(reason.clone());
            }
        }
    }
}

/// A report on a tree, with the move to play.
pub(crate) fn report<W: World>(
    simulator: &mut Simulator<W>,
    settings: &MctsSettings,
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
            broken: None,
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
        line: best.map(|edge| simulator.line_from(edge)).unwrap_or_default(),
        moves: simulator.move_reports(),
        counts,
        stopped,
        broken: None,
    }
}

/// The reply, or `None` after the timeout.
async fn with_timeout<G: Game>(timeout: Option<Duration>, asked: OneReply<G>) -> Option<Reply<G>> {
    match timeout {
        None => Some(asked.await),
        Some(timeout) => tokio::time::timeout(timeout, asked).await.ok(),
    }
}

/// Evaluations under way, oldest first.
struct Flights<G> {
    queue: VecDeque<Flight<G>>,
    /// Which may land before others.
    order: Order,
}

struct Flight<G> {
    ticket: Ticket,
    request: Request<G>,
    /// Those with the same number were asked for together.
    group: usize,
    /// When it was asked for.
    began: Instant,
    state: State<G>,
}

enum State<G> {
    Waiting(Pin<Box<dyn Future<Output = Option<Reply<G>>> + Send>>),
    Ready(Option<Reply<G>>),
}

impl<G: Game> Flights<G> {
    /// Groups under way.
    fn n_groups(&self) -> usize {
        let ends = self.queue.front().zip(self.queue.back());
        ends.map_or(0, |(oldest, newest)| newest.group - oldest.group + 1)
    }

    /// Those that land together: the oldest group in the order of launch, and in the order of arrival what is back.
    async fn landed(&mut self) -> Vec<(Flight<G>, Option<Reply<G>>)> {
        poll_fn(|context| {
            let oldest = self.queue.front().map_or(0, |flight| flight.group);
            let (mut n_ready, mut complete) = (0, true);
            for flight in &mut self.queue {
                if let State::Waiting(reply) = &mut flight.state
                    && let Poll::Ready(reply) = reply.as_mut().poll(context)
                {
                    flight.state = State::Ready(reply);
                }
                let is_ready = matches!(flight.state, State::Ready(_));
                n_ready += usize::from(is_ready);
                complete &= is_ready || flight.group != oldest;
            }
            match self.order {
                Order::Launch if complete => Poll::Ready(self.take_ready(|flight| flight.group == oldest)),
                Order::Arrival if n_ready > 0 => Poll::Ready(self.take_ready(|_| true)),
                Order::Launch | Order::Arrival => Poll::Pending,
            }
        })
        .await
    }

    /// Takes out those that are back and may land.
    fn take_ready(&mut self, may_land: impl Fn(&Flight<G>) -> bool) -> Vec<(Flight<G>, Option<Reply<G>>)> {
        let mut landed = Vec::with_capacity(self.queue.len());
        for mut flight in std::mem::take(&mut self.queue) {
            if !may_land(&flight) {
                self.queue.push_back(flight);
                continue;
            }
            match std::mem::replace(&mut flight.state, State::Ready(None)) {
                State::Ready(reply) => landed.push((flight, reply)),
                waiting => {
                    flight.state = waiting;
                    self.queue.push_back(flight);
                }
            }
        }
        landed
    }
}
