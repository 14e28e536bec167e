//! Worker threads, and the watch over them.

use super::progress::Progress;
use super::task::Task;
use super::{Broken, GameQueue, RunError, RunOptions};
use crate::adjudication::Adjudicator;
use crate::openings::Opening;
use crate::pairing::GamePlan;
use crate::seeds::{Purpose, mix};
use crate::wire::StoredGame;
use mavis_game::{FromRules, Game, Outcome, Side};
use mavis_play::referee::Observer;
use mavis_play::{BuildError, GameRecord, MoveRecord, Player, Termination, Verdict};
use mavis_search::Cancel;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How many players a worker keeps between games: engines are slow to start, but hold memory.
pub(super) const KEPT_PLAYERS: usize = 4;

/// Players by their number in the league, ready to play.
pub(super) type Built<G> = Vec<(usize, Box<dyn Player<G>>)>;

/// How often the watch looks at the games in hand.
const LOOK: Duration = Duration::from_millis(100);

/// A game in a worker's hand.
#[derive(Clone)]
struct Job<G> {
    plan: GamePlan,
    opening: Opening,
    start: G,
    progress: Arc<Progress>,
    cancel: Cancel,
}

/// What a worker hands back: the game, nothing where it was abandoned, or whose network failed.
struct Report {
    worker: usize,
    game: Result<Option<StoredGame>, Broken>,
}

/// One worker as the pool sees it.
struct Slot<G> {
    jobs: Sender<Job<G>>,
    job: Option<Job<G>>,
    /// Set once the game was cancelled because a move took too long.
    hung_since: Option<Instant>,
}

/// All workers.
pub(super) struct Pool<G: Game> {
    task: Arc<Task<G>>,
    slots: Vec<Slot<G>>,
    reports: Receiver<Report>,
    to_reports: Sender<Report>,
    /// The number of the next worker; reports that arrive after a worker was given up are ignored.
    next_worker: usize,
    numbers: Vec<usize>,
    stopped: bool,
    /// The first player whose network failed.
    broken: Option<Broken>,
}

impl<G: FromRules> Pool<G> {
    /// The first worker begins with the players that are already built.
    pub(super) fn start(n: usize, task: &Arc<Task<G>>, mut built: Built<G>) -> std::io::Result<Self> {
        let (to_reports, reports) = channel();
        let mut pool = Self {
            task: Arc::clone(task),
            slots: Vec::new(),
            reports,
            to_reports,
            next_worker: 0,
            numbers: Vec::new(),
            stopped: false,
            broken: None,
        };
        for _ in 0..n {
            let (slot, number) = pool.spawn(std::mem::take(&mut built))?;
            pool.slots.push(slot);
            pool.numbers.push(number);
        }
        Ok(pool)
    }

    fn spawn(&mut self, kept: Built<G>) -> std::io::Result<(Slot<G>, usize)> {
        let number = self.next_worker;
        self.next_worker += 1;
        let (jobs, inbox) = channel::<Job<G>>();
        let (task, to_reports) = (Arc::clone(&self.task), self.to_reports.clone());
        // Not joined: a player that never returns must not keep the program from ending.
        std::thread::Builder::new().name(format!("league-{number}")).spawn(move || {
            let mut worker = Worker { task, kept, judge: None };
            for job in inbox {
                let game = worker.play(&job);
                if to_reports.send(Report { worker: number, game }).is_err() {
                    break;
                }
            }
        })?;
        Ok((Slot { jobs, job: None, hung_since: None }, number))
    }

    /// Gives a game with its opening to a free worker, if there is one.
    pub(super) fn play(&mut self, plan: GamePlan, opening: Opening) -> Result<(), RunError> {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.job.is_none()) {
            slot.begin(job(&self.task, plan, opening)?);
        }
        Ok(())
    }

    fn take(&mut self, report: Report) -> Option<StoredGame> {
        let idx = self.numbers.iter().position(|&number| number == report.worker)?;
        let slot = &mut self.slots[idx];
        let (job, hung) = (slot.job.take()?, slot.hung_since.take());
        match report.game {
            // An abandoned game of a hung player is lost by that player; of a stopped league it is nothing.
            Ok(game) => game.or_else(|| hung.map(|_| lost_on_time(&self.task, &job))),
            Err(broken) => {
                self.broken.get_or_insert(broken);
                None
            }
        }
    }

    /// Cancels games whose mover is far beyond its limit, and leaves workers behind that do not come back.
    fn watch(&mut self, options: &RunOptions<G>) -> Result<Vec<StoredGame>, RunError> {
        let mut games = Vec::new();
        for idx in 0..self.slots.len() {
            let slot = &mut self.slots[idx];
            let Some(job) = &slot.job else { continue };
            let elapsed = job.progress.elapsed();
            if let Some(since) = slot.hung_since {
                if since.elapsed() > options.patience {
                    games.push(lost_on_time(&self.task, job));
                    let (fresh, number) = self.spawn(Vec::new()).map_err(RunError::Thread)?;
                    self.slots[idx] = fresh;
                    self.numbers[idx] = number;
                }
            } else if self.stopped || elapsed > allowed(&self.task, job, options) + options.patience {
                job.cancel.cancel();
                if !self.stopped {
                    slot.hung_since = Some(Instant::now());
                } else if elapsed > options.patience {
                    // The league is stopping: the game is played anew next time.
                    slot.job = None;
                }
            }
        }
        Ok(games)
    }
}

impl<G: FromRules> GameQueue<G> for Pool<G> {
    fn is_idle(&self) -> bool {
        self.slots.iter().all(|slot| slot.job.is_none())
    }

    fn hand_out(&mut self, pending: &mut VecDeque<GamePlan>) -> Result<(), RunError> {
        for slot in self.slots.iter_mut().filter(|slot| slot.job.is_none()) {
            let Some(plan) = pending.pop_front() else { break };
            slot.begin(job(&self.task, plan, self.task.openings.opening(plan.pair)?)?);
        }
        Ok(())
    }

    fn stop_all(&mut self) -> Result<(), RunError> {
        self.stopped = true;
        for job in self.slots.iter().filter_map(|slot| slot.job.as_ref()) {
            job.cancel.cancel();
        }
        Ok(())
    }

    fn failure(&self) -> Option<Broken> {
        self.broken.clone()
    }

    /// Every game in hand was begun, and is finished.
    fn drain(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn wait(&mut self, options: &RunOptions<G>) -> Result<Vec<StoredGame>, RunError> {
        let mut games = Vec::new();
        match self.reports.recv_timeout(LOOK) {
            Ok(report) => games.extend(self.take(report)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        while let Ok(report) = self.reports.try_recv() {
            games.extend(self.take(report));
        }
        games.extend(self.watch(options)?);
        Ok(games)
    }
}

impl<G: Clone> Slot<G> {
    fn begin(&mut self, job: Job<G>) {
        self.job = Some(job.clone());
        // Cannot fail: a worker only leaves when its sender is dropped.
        let _ = self.jobs.send(job);
    }
}

/// The most a single move may take.
fn allowed<G: FromRules>(task: &Task<G>, job: &Job<G>, options: &RunOptions<G>) -> Duration {
    let player = if job.progress.to_move() == Side::First { job.plan.first } else { job.plan.second };
    let clock =
        task.time_control.map(|control| control.base + control.increment * (job.progress.n_moves() / 2 + 1));
    [task.limits[player].time, clock].into_iter().flatten().min().unwrap_or(options.move_timeout)
}

fn lost_on_time<G: FromRules>(task: &Task<G>, job: &Job<G>) -> StoredGame {
    let side = job.progress.to_move();
    let verdict = Verdict { outcome: Outcome::Win(side.other()), termination: Termination::Time(side) };
    let mut game = StoredGame::new(job.plan, &task.names, &job.opening, &job.progress.moves(), &verdict);
    game.end.reason.push_str(" (did not answer)");
    game
}

fn job<G: FromRules>(task: &Task<G>, plan: GamePlan, opening: Opening) -> Result<Job<G>, RunError> {
    let start: G = opening.position(task.openings.rules())?;
    let progress = Arc::new(Progress::new(start.side_to_move()));
    Ok(Job { plan, opening, start, progress, cancel: Cancel::new() })
}

/// A thread's own state: players it has built.
struct Worker<G: Game> {
    task: Arc<Task<G>>,
    /// Least recently used first.
    kept: Built<G>,
    judge: Option<Box<dyn Player<G>>>,
}

impl<G: FromRules> Worker<G> {
    fn play(&mut self, job: &Job<G>) -> Result<Option<StoredGame>, Broken> {
        let plan = job.plan;
        let mut players = Vec::new();
        for (side, player) in [(Side::First, plan.first), (Side::Second, plan.second)] {
            match self.player(player) {
                Ok(mut built) => {
                    built.reseed(mix(self.task.seed, Purpose::Player, 2 * plan.game + side.index() as u64));
                    players.push((player, built));
                }
                Err(BuildError::Broken { reason, .. }) => return Err(self.broken(player, reason)),
                Err(error) => {
                    self.kept.append(&mut players);
                    let verdict = failure(side, format!("cannot be started: {error}"));
                    return Ok(Some(self.stored(job, &[], &verdict)));
                }
            }
        }
        let (moves, verdict) = match self.referee(job, &mut players)? {
            Ok(GameRecord { broken: Some((side, reason)), .. }) => {
                return Err(self.broken(if side == Side::First { plan.first } else { plan.second }, reason));
            }
            Ok(record) => (record.moves, record.verdict),
            Err(side) => {
                // Whatever state a panic left behind is not played with again.
                players.clear();
                self.judge = None;
                (job.progress.moves(), Some(failure(side, "panicked".to_owned())))
            }
        };
        if let Some(Verdict { termination, .. }) = &verdict {
            let fault = match termination {
                Termination::Failure { side, .. } | Termination::Time(side) => Some(*side),
                _ => None,
            };
            let broken = fault.map(|side| if side == Side::First { plan.first } else { plan.second });
            players.retain(|(player, _)| Some(*player) != broken);
        } else {
            players.clear();
        }
        self.kept.append(&mut players);
        let surplus = self.kept.len().saturating_sub(KEPT_PLAYERS);
        self.kept.drain(..surplus);
        Ok(verdict.map(|verdict| self.stored(job, &moves, &verdict)))
    }

    fn player(&mut self, player: usize) -> Result<Box<dyn Player<G>>, BuildError> {
        match self.kept.iter().position(|(kept, _)| *kept == player) {
            Some(at) => Ok(self.kept.remove(at).1),
            None => self.task.build(player),
        }
    }

    fn broken(&self, player: usize, reason: String) -> Broken {
        Broken { name: self.task.names[player].clone(), reason }
    }

    /// Plays the game; the side whose move panicked otherwise. The outer error is a judge whose network failed.
    fn referee(
        &mut self,
        job: &Job<G>,
        players: &mut [(usize, Box<dyn Player<G>>)],
    ) -> Result<Result<GameRecord<G>, Side>, Broken> {
        let broken_judge = |reason: String| Broken { name: "judge".to_owned(), reason };
        if self.judge.is_none() {
            self.judge = match self.task.build_judge() {
                Some(Err(BuildError::Broken { reason, .. })) => return Err(broken_judge(reason)),
                // A judge that fails to start has already been reported at league start; without it no game ends early.
                built => built.and_then(Result::ok),
            };
        }
        let task = Arc::clone(&self.task);
        let referee = task.referee([job.plan.first, job.plan.second], job.cancel.clone());
        let mut adjudicator = Adjudicator::new(&task.adjudication, &task.judges, &job.start);
        if let Some(judge) = &mut self.judge {
            adjudicator =
                adjudicator.with_early_judge(&mut **judge, task.judge_limit.clone(), job.cancel.clone());
        }
        let mut watch = Watch { adjudicator, progress: &job.progress };
        let [(_, first), (_, second)] = players else { return Ok(Err(Side::First)) };
        let played = catch_unwind(AssertUnwindSafe(|| {
            referee.play_observed(&job.start, [&mut **first, &mut **second], &mut watch)
        }));
        match watch.adjudicator.broken.take() {
            Some(reason) => Err(broken_judge(reason)),
            None => Ok(played.map_err(|_| job.progress.to_move())),
        }
    }

    fn stored(&self, job: &Job<G>, moves: &[MoveRecord], verdict: &Verdict) -> StoredGame {
        StoredGame::new(job.plan, &self.task.names, &job.opening, moves, verdict)
    }
}

fn failure(side: Side, reason: String) -> Verdict {
    Verdict { outcome: Outcome::Win(side.other()), termination: Termination::Failure { side, reason } }
}

/// Tells the watch of every move and asks the adjudicator.
struct Watch<'a, G: Game> {
    adjudicator: Adjudicator<'a, G>,
    progress: &'a Progress,
}

impl<G: Game> Observer<G> for Watch<'_, G> {
    fn moved(&mut self, made: &MoveRecord, position: &G) -> Option<Verdict> {
        let verdict = self.adjudicator.moved(made, position);
        self.progress.moved(made, position.side_to_move());
        verdict
    }
}
