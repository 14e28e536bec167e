//! Games an oracle plays against itself, now and then at random, with every position annotated on the way.

mod journal;
mod kind;
mod sheet;

pub use kind::{Played, SelfPlayer, SelfplayInput, SelfplayJob};

use crate::annotate::{Pace, Request, annotation, oracle_name};
use crate::job::{Job, JobError, JobEvent, Meter, SetAside};
use crate::wire::{AnnotationRow, EndKind, GameRow, OracleName};
use mavis_game::{Game, Move, Position, Rules};
use mavis_oracle::{Identity, Oracle, OracleError, Ranking};
use mavis_queue::{Local, Queue};
use mavis_stable::seed::{hash_bytes, mix};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sheet::Sheet;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Rankings remembered for all threads, so that openings are judged once; some hundred megabytes at most.
const N_REMEMBERED: usize = 200_000;
/// Positions up to this ply are remembered; later ones hardly ever come again.
const REMEMBERED_PLY: u32 = 12;

/// How to play.
#[derive(Clone, Debug)]
pub struct SelfplaySettings {
    /// Where games start.
    pub start: Position,
    /// Games in all.
    pub n_games: u64,
    /// The chance of a random move.
    pub epsilon: f64,
    /// So many plies at the start of each game are random, and not judged: exact solvers are slow far from the end.
    pub random_plies: u32,
    /// Makes the games repeat exactly.
    pub seed: u64,
    /// A game is cut off after so many plies.
    pub max_plies: u32,
    /// Games per shard.
    pub shard_size: u64,
    /// The job's folder; the tables are its folders `games` and `annotations`.
    pub out: PathBuf,
    /// Raised to end the work: positions in hand are finished, finished games are kept, and those in work are dropped.
    pub stop: Arc<AtomicBool>,
}

/// How a game is played, whichever it is.
#[derive(Clone, Debug)]
pub struct GamePlan {
    /// Where games start.
    pub start: Position,
    /// The chance of a random move.
    pub epsilon: f64,
    /// So many plies at the start are random, and not judged.
    pub random_plies: u32,
    /// Makes the games repeat exactly.
    pub seed: u64,
    /// A game is cut off after so many plies.
    pub max_plies: u32,
}

impl SelfplaySettings {
    fn plan(&self) -> GamePlan {
        let Self { start, epsilon, random_plies, seed, max_plies, .. } = self.clone();
        GamePlan { start, epsilon, random_plies, seed, max_plies }
    }
}

/// The chance of a random move where nothing else is asked for: 40 % in Connect Four and 10 % in Hex as in paper 001, 20 % elsewhere.
#[must_use]
pub fn default_epsilon(rules: Rules) -> f64 {
    match rules {
        Rules::Connect4 => 0.4,
        Rules::Hex { .. } => 0.1,
        _ => 0.2,
    }
}

/// What self-play did, earlier runs included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selfplayed {
    /// Games written.
    pub n_games: u64,
    /// Annotations written; a position occurs at most once in a shard.
    pub n_annotations: u64,
    /// Games given up because the oracle failed; the manifest names the position and the reason.
    pub n_aside: u64,
    /// Games still to do, when it was stopped.
    pub n_left: u64,
}

/// Plays the games, one oracle per thread, and writes them in shards. A random move has the chance `epsilon`; otherwise the oracle's
/// choice is played, in Connect Four any move with the best value, all equally likely. All oracles must have the same identity.
/// Running again continues where the last run stopped.
///
/// # Errors
/// When the folder holds another job, a table cannot be written, the oracle fails in every game of a shard, or its network fails
/// ([`OracleError::Broken`]).
pub fn selfplay(
    settings: &SelfplaySettings,
    oracles: Vec<Box<dyn Oracle>>,
    watch: impl FnMut(JobEvent<'_>),
) -> Result<Selfplayed, JobError> {
    let first = oracles.first().ok_or_else(|| JobError::Oracle("no oracle given".to_owned()))?;
    let request = Request { line: String::new(), identity: first.identity(), pace: Pace::Fixed(1) };
    let memory = Arc::new(Memory::default());
    let players = oracles
        .into_iter()
        .map(|oracle| SelfPlayer::new(oracle, Arc::clone(&memory)).with_stop(Arc::clone(&settings.stop)));
    selfplay_on(settings, &request, &mut Local::new(players.collect()), watch)
}

/// The same on a queue of the caller's, whose runners may be on other machines.
///
/// # Errors
/// As [`selfplay`], and when the queue gives no result.
pub fn selfplay_on(
    settings: &SelfplaySettings,
    request: &Request,
    queue: &mut impl Queue<SelfplayJob>,
    mut watch: impl FnMut(JobEvent<'_>),
) -> Result<Selfplayed, JobError> {
    let (line, oracle) = (Arc::<str>::from(request.line.as_str()), oracle_name(&request.identity));
    let plan = Arc::new(settings.plan());
    let shard_size = settings.shard_size.max(1);
    let n_shards = settings.n_games.div_ceil(shard_size);
    let mut job = Job::open(&settings.out, "selfplay", job_settings(settings, &request.identity), n_shards)?;
    let mut sheet = Sheet::resume(&mut job, [shard_size, settings.n_games], &mut watch)?;
    let done: Vec<u64> = job.manifest().done.keys().copied().collect();
    let n_done = |job: &Job| job.manifest().done.values().map(|shard| shard.n_items).sum::<u64>();
    let mut meter = Meter::new(settings.n_games, n_done(&job).saturating_add(sheet.n_kept()));
    let job_size = request.pace.job_size() as u64;
    let kept: HashSet<u64> = sheet.kept().collect();
    let numbers = (0..n_shards).filter(|shard| done.binary_search(shard).is_err()).flat_map(|shard| {
        let (begin, end) = (shard * shard_size, settings.n_games.min((shard + 1) * shard_size));
        (begin..end).step_by(job_size as usize).map(move |first| first..end.min(first + job_size))
    });
    let to_play = numbers.filter(|numbers| !numbers.clone().all(|number| kept.contains(&number)));
    let jobs = to_play.take_while(|_| !settings.stop.load(Ordering::Relaxed)).map(|numbers| {
        let (line, oracle, plan) = (Arc::clone(&line), Arc::clone(&oracle), Arc::clone(&plan));
        Ok((numbers.clone(), SelfplayInput { line, oracle, plan, numbers }))
    });
    queue.run(jobs, |numbers, games| {
        // A stop leaves fewer games than numbers.
        for (number, game) in numbers.zip(games) {
            sheet.take(number, game, &mut job, &mut watch)?;
            watch(meter.add(1));
        }
        Ok::<(), JobError>(())
    })?;
    sheet.keep()?;
    let shards = job.manifest().done.values();
    let rows = |folder: &'static str| {
        let files = shards.clone().flat_map(|shard| &shard.files);
        files.filter(|(name, _)| name.starts_with(folder)).map(|(_, n_rows)| n_rows).sum()
    };
    Ok(Selfplayed {
        n_games: rows("games"),
        n_annotations: rows("annotations"),
        n_aside: shards.clone().map(|shard| shard.aside.len() as u64).sum(),
        n_left: settings.n_games.saturating_sub(n_done(&job)).saturating_sub(sheet.n_kept()),
    })
}

fn job_settings(settings: &SelfplaySettings, identity: &Identity) -> BTreeMap<String, String> {
    [
        ("game", settings.start.rules().to_string()),
        ("start", settings.start.to_string()),
        ("games", settings.n_games.to_string()),
        ("epsilon", settings.epsilon.to_string()),
        ("random plies", settings.random_plies.to_string()),
        ("seed", settings.seed.to_string()),
        ("longest game", settings.max_plies.to_string()),
        ("shard size", settings.shard_size.to_string()),
        ("oracle", identity.name.clone()),
        ("oracle version", identity.version.clone()),
        ("oracle settings", identity.settings.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Rankings on early positions. Oracles give the same ranking however often they are asked, so remembering changes nothing
/// but the time.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<u64, Arc<Ranking>>>);

impl Memory {
    fn ranking(&self, oracle: &mut dyn Oracle, position: &Position) -> Result<Arc<Ranking>, GaveUp> {
        let early = position.ply() <= REMEMBERED_PLY;
        let key = position.key();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if early && let Some(known) = lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        let ranking = oracle.evaluate(position).map(Arc::new).map_err(|error| match error {
            OracleError::Broken { .. } => GaveUp::Broken(error.to_string()),
            error => GaveUp::Aside(SetAside { position: position.to_string(), reason: error.to_string() }),
        })?;
        if early {
            let mut known = lock();
            if known.len() < N_REMEMBERED {
                known.insert(key, Arc::clone(&ranking));
            }
        }
        Ok(ranking)
    }
}

struct Play<'a> {
    plan: &'a GamePlan,
    oracle: &'a Arc<OracleName>,
    memory: &'a Memory,
    stop: &'a AtomicBool,
}

/// Why there is no game.
enum GaveUp {
    /// The oracle has no answer for a position.
    Aside(SetAside),
    /// The oracle will not answer again.
    Broken(String),
    /// The work ends.
    Stopped,
}

impl Play<'_> {
    /// A game, or the position that it is set aside for; `None` after a stop. The error says that the oracle will not answer
    /// again.
    fn game(&self, oracle: &mut dyn Oracle, number: u64) -> Result<Option<Played>, String> {
        match self.played(oracle, number) {
            Ok(game) => Ok(Some(Ok(game))),
            Err(GaveUp::Aside(aside)) => Ok(Some(Err(aside))),
            Err(GaveUp::Stopped) => Ok(None),
            Err(GaveUp::Broken(reason)) => Err(reason),
        }
    }

    fn played(
        &self,
        oracle: &mut dyn Oracle,
        number: u64,
    ) -> Result<(GameRow, Vec<(u64, AnnotationRow)>), GaveUp> {
        // Each game has its own stream of numbers, so that threads and stops do not matter.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(mix(self.plan.seed).wrapping_add(number));
        let mut position = self.plan.start.clone();
        let rules = position.rules();
        let id = format!("{}-{:016x}", rules.name(), hash_bytes(self.plan.seed, &number.to_le_bytes()));
        let mut row = GameRow {
            game: rules.to_string(),
            game_id: id.clone(),
            start: position.to_string(),
            first: Some(self.oracle.name.clone()),
            second: Some(self.oracle.name.clone()),
            source: Some(format!("selfplay epsilon={} seed={}", self.plan.epsilon, self.plan.seed)),
            ..GameRow::default()
        };
        let mut annotated = Vec::new();
        for _ in 0..self.plan.random_plies {
            let Some(mv) = position.random_move(random.random()) else { break };
            row.moves.push(position.move_text(mv));
            position.play_unchecked(mv);
        }
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(GaveUp::Stopped);
            }
            let over = position.n_legal_moves() == 0;
            let ranking = match over {
                true => Arc::new(Ranking { moves: Vec::new() }),
                false => self.memory.ranking(oracle, &position)?,
            };
            let annotation = annotation(&position, &ranking, Some(id.clone()), self.oracle)
                .map_err(|reason| GaveUp::Aside(SetAside { position: position.to_string(), reason }))?;
            annotated.push((position.key(), annotation));
            if over || row.moves.len() as u64 >= u64::from(self.plan.max_plies) {
                break;
            }
            let mv = if random.random_bool(self.plan.epsilon.clamp(0.0, 1.0)) {
                position.random_move(random.random())
            } else {
                greedy(rules, &ranking, &mut random)
            };
            let Some(mv) = mv else { break };
            row.moves.push(position.move_text(mv));
            position.play_unchecked(mv);
        }
        row.result = position.outcome().map(|outcome| outcome.as_str().to_owned());
        let end = if row.result.is_some() { EndKind::Rules } else { EndKind::Length };
        row.termination = Some(end.as_str().to_owned());
        Ok((row, annotated))
    }
}

/// In Connect Four any move with the best value (not only the shortest way: paper 001 asks for the minimax value), elsewhere
/// the oracle's choice.
fn greedy(rules: Rules, ranking: &Ranking, random: &mut impl Rng) -> Option<Move> {
    let best = ranking.moves.first()?;
    if rules != Rules::Connect4 {
        return Some(best.mv);
    }
    let equal = ranking.moves.iter().filter(|entry| entry.win_probability == best.win_probability);
    let place = random.random_range(0..equal.clone().count());
    equal.map(|entry| entry.mv).nth(place)
}
