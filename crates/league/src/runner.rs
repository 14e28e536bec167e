//! Plays the games of a league that are not on disk yet.
//!
//! One thread hands out games and writes results; each worker thread plays one game at a time with players it keeps
//! from game to game. Whatever a player does, its game has a result: crashes, illegal moves and lost time are reasons,
//! a player that neither moves nor stops is left behind with its thread. The exception is a player whose network fails: every
//! later result of this process would be wrong too, so the game is dropped and the league stops.

mod elsewhere;
mod job;
mod progress;
mod state;
mod task;
mod worker;

use crate::adjudication::{Judges, SyzygyJudge};
use crate::openings::{Book, BookError, Openings};
use crate::pairing::GamePlan;
use crate::sprt::{Sprt, SprtError};
use crate::wire::{ConfigError, LeagueConfig, LeagueSession, LeagueStore, StoreError, StoredGame};
use elsewhere::Elsewhere;
pub use job::{GameInput, GameJob, GameRunner};
use mavis_game::{FromRules, Game, Position};
use mavis_play::{BuildError, Player, PlayerError, Registry};
use mavis_queue::{QueueError, Submitter};
use mavis_search::Cancel;
use state::Running;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use task::Task;
use worker::{Built, KEPT_PLAYERS, Pool};

/// How to run; nothing here changes what is played.
#[derive(Clone)]
pub struct RunOptions<G: Game = Position> {
    /// Games at once. `None` means the configuration's number, or as many as cores allow.
    pub concurrency: Option<usize>,
    /// Allow timed players to share cores.
    pub oversubscribe: bool,
    /// Cores of this machine.
    pub cores: usize,
    /// Time after which a player that ignores its limit is given up.
    pub patience: Duration,
    /// Time after which a move without a time limit counts as hung.
    pub move_timeout: Duration,
    /// Cancelled to finish the games in hand and stop.
    pub drain: Cancel,
    /// Cancelled to stop at once; games in hand are played anew next time.
    pub cancel: Cancel,
    /// Exact judges that adjudication may name.
    pub judges: Judges<G>,
}

impl<G: Game> Default for RunOptions<G> {
    fn default() -> Self {
        Self {
            concurrency: None,
            oversubscribe: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            patience: Duration::from_secs(5),
            move_timeout: Duration::from_secs(600),
            drain: Cancel::new(),
            cancel: Cancel::new(),
            judges: Judges::new(),
        }
    }
}

/// What happens while a league runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Event<'a> {
    /// The run begins.
    Begin {
        /// Games on disk.
        finished: u64,
        /// Games planned.
        planned: u64,
        /// Games at once.
        concurrency: usize,
        /// Bytes of a torn line that was dropped.
        dropped_bytes: usize,
    },
    /// A game is on disk.
    Finished {
        /// The game.
        game: &'a StoredGame,
        /// Games on disk.
        finished: u64,
        /// Games planned.
        planned: u64,
    },
    /// The sequential test after a pair.
    Tested(Sprt),
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Games played in this run.
    pub played: u64,
    /// Games on disk.
    pub finished: u64,
    /// Games planned.
    pub planned: u64,
    /// Why it ended.
    pub stop: Stop,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stop {
    /// Every planned game is on disk.
    Complete,
    /// The sequential test is decided.
    Decided(Sprt),
    /// Stopped from outside.
    Stopped,
}

/// A league that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A bad configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A bad sequential test.
    #[error(transparent)]
    Sprt(#[from] SprtError),
    /// A bad book.
    #[error(transparent)]
    Book(#[from] BookError),
    /// A player that cannot be built.
    #[error("player '{name}': {error}")]
    Player {
        /// Its name in the league.
        name: String,
        /// Why.
        error: BuildError,
    },
    /// A player that cannot play the league's game.
    #[error("player '{name}': {error}")]
    Unready {
        /// Its name in the league.
        name: String,
        /// Why.
        error: PlayerError,
    },
    /// The network of a player failed during a game, which then counts for nobody; games stored before stay.
    #[error("player '{name}': the network failed: {reason}")]
    Broken {
        /// Its name in the league.
        name: String,
        /// Why.
        reason: String,
    },
    /// A judge without an opinion.
    #[error("adjudication.early.judge: '{0}' gives no value of a position")]
    SilentJudge(String),
    /// The folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// More timed players than cores.
    #[error(
        "{games} games at once of timed players that need {cores_each} core(s) each do not fit on {cores} core(s), \
         which would change their strength; lower the concurrency or let them share (--oversubscribe)"
    )]
    Oversubscribed {
        /// Games at once.
        games: usize,
        /// Cores for each.
        cores_each: usize,
        /// Cores there are.
        cores: usize,
    },
    /// Adjudication names a judge that is not there.
    #[error("no exact judge named '{name}' (known: {known})")]
    UnknownJudge {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// Adjudication names a judge of another game.
    #[error("adjudication.exact: '{name}' does not evaluate {game}")]
    OtherJudge {
        /// The name.
        name: String,
        /// The league's game.
        game: String,
    },
    /// Tablebases that cannot be used.
    #[error("adjudication.exact: {0}")]
    Tables(mavis_oracle::syzygy::SyzygyError),
    /// A stored game that the schedule does not have.
    #[error("game {0} on disk is not the one this league plans; was it made by another version?")]
    OtherPlan(u64),
    /// No worker thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The queue gave no result.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// A player whose network failed, by its name in the league.
#[derive(Clone, Debug)]
struct Broken {
    name: String,
    reason: String,
}

impl From<Broken> for RunError {
    fn from(Broken { name, reason }: Broken) -> Self {
        Self::Broken { name, reason }
    }
}

/// Who plays the games of a league: threads of this process, or workers elsewhere.
trait GameQueue<G: Game> {
    /// Whether no game is in hand.
    fn is_idle(&self) -> bool;
    /// Takes as many games as there is room for.
    fn hand_out(&mut self, pending: &mut VecDeque<GamePlan>) -> Result<(), RunError>;
    /// Abandons all games in hand.
    fn stop_all(&mut self) -> Result<(), RunError>;
    /// No further game will be handed out: gives up those that were not begun.
    fn drain(&mut self) -> Result<(), RunError>;
    /// Why no further result can be trusted, if that is so.
    fn failure(&self) -> Option<Broken> {
        None
    }
    /// Waits a moment for finished games.
    fn wait(&mut self, options: &RunOptions<G>) -> Result<Vec<StoredGame>, RunError>;
}

/// A league, where it is kept, and where relative paths of its configuration start.
#[derive(Clone, Copy, Debug)]
pub struct LeaguePlace<'a> {
    /// What is played.
    pub config: &'a LeagueConfig,
    /// Its folder.
    pub folder: &'a Path,
    /// The folder that relative paths of a book or of tablebases start from.
    pub base: &'a Path,
}

/// Runs a league in `folder` until it is complete, decided or stopped; finished games are not played again.
///
/// `base` is the folder that relative paths of a book or of tablebases start from.
///
/// # Errors
/// When configuration, book, players or folder are at fault, or the disk refuses a result; and when the network of a player fails,
/// after which the same call resumes.
pub fn run<G: FromRules>(
    config: &LeagueConfig,
    folder: &Path,
    base: &Path,
    registry: &Arc<Registry<G>>,
    options: &RunOptions<G>,
    sink: &mut dyn FnMut(Event<'_>),
) -> Result<Summary, RunError> {
    run_on(None, LeaguePlace { config, folder, base }, registry, options, sink)
}

/// The same with games played by workers on a queue; `None` means by threads of this process.
///
/// # Errors
/// As [`run`], and when the queue does not answer.
pub fn run_on<G: FromRules>(
    queue: Option<&mut dyn Submitter<GameJob>>,
    league: LeaguePlace<'_>,
    registry: &Arc<Registry<G>>,
    options: &RunOptions<G>,
    sink: &mut dyn FnMut(Event<'_>),
) -> Result<Summary, RunError> {
    let LeaguePlace { config, folder, base } = league;
    config.validate_for::<G>()?;
    let concurrency = concurrency(config, options)?;
    let judges = judges(config, base, options)?;
    let task = Arc::new(Task::new(config, openings(config, base)?, judges, Arc::clone(registry))?);
    // Nothing is written for a league that cannot begin: its folder would refuse the corrected configuration.
    let new = if LeagueStore::is_in(folder) { None } else { Some(begin(&task, concurrency)?) };
    let mut store = LeagueStore::open(folder, config)?;
    let mut league = Running::new(config, &store.finished)?;
    sink(Event::Begin {
        finished: store.finished.len() as u64,
        planned: league.schedule.n_games(),
        concurrency,
        dropped_bytes: store.dropped,
    });
    let before = store.finished.len() as u64;
    let stop = match league.decided()? {
        Some(stop) => stop,
        None => {
            let (session, built) = new.map_or_else(|| begin(&task, concurrency), Ok)?;
            store.begin_session(&session)?;
            match queue {
                None => {
                    let mut pool = Pool::start(concurrency, &task, built).map_err(RunError::Thread)?;
                    league.play(&mut pool, &mut store, options, sink)?
                }
                Some(jobs) => {
                    // Players were built here to name them; workers build their own.
                    drop(built);
                    let (config, players) = (job::config_of_games(config)?, Arc::new(session.players));
                    let open = BTreeMap::new();
                    let mut games = Elsewhere { jobs, task: Arc::clone(&task), config, players, open };
                    league.play(&mut games, &mut store, options, sink)?
                }
            }
        }
    };
    let finished = store.finished.len() as u64;
    Ok(Summary { played: finished - before, finished, planned: league.schedule.n_games(), stop })
}

/// The openings of a configuration, its book read.
///
/// # Errors
/// When the book cannot be read or does not belong to the game.
pub fn openings<G: FromRules>(config: &LeagueConfig, base: &Path) -> Result<Openings<G>, RunError> {
    let rules = config.rules_for::<G>()?;
    let section = &config.openings;
    let book = match section.book.as_deref() {
        None => None,
        Some("table4") => Some(Book::table4::<G>(rules.clone())?),
        Some(path) => Some(Book::read::<G>(rules.clone(), &base.join(path), section.plies)?),
    };
    Ok(Openings::new(rules, config.seed, book, section.in_order, section.random_plies))
}

/// The judges offered, and the tablebases that the configuration names.
fn judges<G: Game>(
    config: &LeagueConfig,
    base: &Path,
    options: &RunOptions<G>,
) -> Result<Judges<G>, RunError> {
    let mut judges = options.judges.clone();
    if let Some(exact) = &config.adjudication.exact
        && let Some(folders) = exact.judge.strip_prefix("syzygy:")
    {
        let judge = SyzygyJudge::open(folders, base).map_err(RunError::Tables)?;
        judges.insert(exact.judge.clone(), Arc::new(judge));
    }
    Ok(judges)
}

fn concurrency<G: Game>(config: &LeagueConfig, options: &RunOptions<G>) -> Result<usize, RunError> {
    // Only one side of a game thinks at a time.
    let cores_each = config.players.iter().map(crate::wire::PlayerConfig::cores).max().unwrap_or(1).max(1);
    let fits = (options.cores / cores_each).max(1);
    let games = options.concurrency.or(config.concurrency).unwrap_or(fits).max(1);
    if config.is_timed() && !options.oversubscribe && games * cores_each > options.cores.max(cores_each) {
        return Err(RunError::Oversubscribed { games, cores_each, cores: options.cores });
    }
    Ok(games)
}

/// Builds every player once: a fault shows before the first game, and each says what it is. The first of them are kept to play,
/// since engines are slow to start; for the same reason as many are started at once as games will be.
fn begin<G: FromRules>(task: &Task<G>, at_once: usize) -> Result<(LeagueSession, Built<G>), RunError> {
    let (mut names, mut built) = (BTreeMap::new(), Vec::new());
    let numbers: Vec<usize> = (0..task.names.len()).collect();
    for some in numbers.chunks(at_once.max(1)) {
        for (&idx, player) in some.iter().zip(build_all(task, some)) {
            let (name, player) = (&task.names[idx], player?);
            names.insert(name.clone(), player.name());
            if built.len() < KEPT_PLAYERS {
                built.push((idx, player));
            }
        }
    }
    if let Some(judge) = task.build_judge() {
        let judge = ready(task, "judge", judge)?;
        if !judge.evaluates() {
            return Err(RunError::SilentJudge(judge.name()));
        }
    }
    let session = LeagueSession {
        mavis: env!("CARGO_PKG_VERSION").to_owned(),
        started: mavis_stable::time::unix_seconds(),
        players: names,
    };
    Ok((session, built))
}

/// Players by their numbers, each built on a thread of its own.
fn build_all<G: FromRules>(task: &Task<G>, numbers: &[usize]) -> Vec<Result<Box<dyn Player<G>>, RunError>> {
    let build = |idx: usize| ready(task, &task.names[idx], task.build(idx));
    std::thread::scope(|scope| {
        let builders: Vec<_> = numbers.iter().map(|&idx| scope.spawn(move || build(idx))).collect();
        let built = builders.into_iter().map(|builder| builder.join());
        // A panic continues where it would have without threads.
        built.map(|player| player.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// A player that was built and can play the league's game.
fn ready<G: FromRules>(
    task: &Task<G>,
    name: &str,
    built: Result<Box<dyn Player<G>>, BuildError>,
) -> Result<Box<dyn Player<G>>, RunError> {
    let mut player = built.map_err(|error| RunError::Player { name: name.to_owned(), error })?;
    let unready = |error| RunError::Unready { name: name.to_owned(), error };
    player.ready_for(task.openings.rules()).map_err(unready)?;
    Ok(player)
}
