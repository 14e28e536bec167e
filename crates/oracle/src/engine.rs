//! A UCI engine as an oracle: every legal move scored in one search with as many lines as there are moves.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod lines;
mod running;

use crate::oracle::{refuse_finished, refuse_other};
use crate::process::EngineError;
use crate::{Identity, Oracle, OracleError, Ranking};
use mavis_game::{Game, Position, Rules};
use running::RunningEngine;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Searches a position gets before it is set aside: the first and two more with a fresh engine.
pub(crate) const ATTEMPTS: u32 = 3;

/// Positions that wait at the engine while it searches one; their answers fit into a pipe together.
const AHEAD: usize = 2;

/// When a search ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// After this many nodes; the same answer every time.
    Nodes(u64),
    /// After this depth; the same answer every time.
    Depth(u32),
    /// After this long; answers vary.
    Time(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "nodes={nodes}"),
            Self::Depth(depth) => write!(f, "depth={depth}"),
            Self::Time(time) => write!(f, "movetime={}", time.as_millis()),
        }
    }
}

/// How to run an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineSettings {
    /// The program, as [`crate::process::find_engine`] found it.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Options to set, by name; `Threads` and `Hash` have defaults of ours, the engine's apply to the rest.
    pub options: Vec<(String, String)>,
    /// When each search ends.
    pub limit: Limit,
    /// How long a search (beyond a limit of time) and any other answer may take before the engine counts as hung.
    pub patience: Duration,
}

impl EngineSettings {
    /// Settings with no options and a minute of patience.
    #[must_use]
    pub fn new(program: PathBuf, limit: Limit) -> Self {
        Self { program, arguments: Vec::new(), options: Vec::new(), limit, patience: Duration::from_secs(60) }
    }

    /// The options as they are sent: one thread, and a hash no larger than the search can fill, since it is cleared
    /// before every position.
    fn resolved_options(&self) -> Vec<(String, String)> {
        let hash = match self.limit {
            Limit::Nodes(nodes) => (nodes / 40_000).next_power_of_two().clamp(1, 256),
            Limit::Depth(_) | Limit::Time(_) => 16,
        };
        let mut options = vec![("Threads".to_owned(), "1".to_owned()), ("Hash".to_owned(), hash.to_string())];
        options.retain(|(name, _)| !self.options.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
        options.extend(self.options.iter().cloned());
        options
    }
}

/// A UCI engine that judges chess and Chess960 positions; a failed engine is replaced.
#[derive(Debug)]
pub struct UciOracle {
    settings: EngineSettings,
    identity: Identity,
    /// The running engine; gone after a failure until the next search.
    engine: Option<RunningEngine>,
    n_restarts: u32,
}

impl UciOracle {
    /// Starts the engine.
    ///
    /// # Errors
    /// When it cannot be started, does not speak UCI, or lacks an option.
    pub fn start(settings: EngineSettings) -> Result<Self, EngineError> {
        let engine = RunningEngine::start(&settings)?;
        let (name, version) = engine.name_and_version();
        let options = settings.resolved_options();
        let words = options.iter().map(|(name, value)| format!(" {name}={value}"));
        let identity =
            Identity { name, version, settings: format!("{}{}", settings.limit, words.collect::<String>()) };
        Ok(Self { settings, identity, engine: Some(engine), n_restarts: 0 })
    }

    /// How often the engine was replaced.
    #[must_use]
    pub fn n_restarts(&self) -> u32 {
        self.n_restarts
    }

    /// The process id of the running engine.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.engine.as_ref().map(RunningEngine::process_id)
    }

    /// Tries until the attempts are used up.
    fn persist(&mut self, position: &Position, n_used: u32) -> Result<Ranking, OracleError> {
        let mut attempts = n_used;
        loop {
            attempts += 1;
            match self.attempt(position) {
                Ok(ranking) => return Ok(ranking),
                Err(source) if attempts >= ATTEMPTS => {
                    return Err(OracleError::Engine { position: position.to_string(), source });
                }
                Err(_) => {}
            }
        }
    }

    /// Rankings on the first positions, and whether the engine failed on the next. The engine always has positions waiting while it
    /// searches one, so it never waits for us; this works with engines that read commands one after the other.
    fn queued(&mut self, positions: &[Position]) -> (Vec<Result<Ranking, OracleError>>, bool) {
        let mut results = Vec::with_capacity(positions.len());
        let queues = positions.len() > 1 && self.engine.as_ref().is_some_and(RunningEngine::queues);
        let Some(mut engine) = self.engine.take_if(|_| queues) else { return (results, false) };
        let began = Instant::now();
        let mut n_asked = 0;
        for (idx, position) in positions.iter().enumerate() {
            let mut asked = Ok(());
            let ahead = positions.iter().enumerate().take(idx + AHEAD + 1).skip(n_asked);
            for (at, next) in ahead {
                asked = engine.ask(next, &self.settings, Vec::new());
                n_asked = at + 1;
                if asked.is_err() {
                    break;
                }
            }
            let busy = n_asked > idx + 1;
            let received = asked.and_then(|()| engine.receive(&self.settings, busy));
            match received.and_then(|best| engine.ranking(position, &best)) {
                Ok(Some(ranking)) => results.push(Ok(ranking)),
                // Some moves have no score yet: rare, so the queue is given up and the position asked again by itself.
                Ok(None) => {
                    let mut waiting = idx + 1..n_asked;
                    let drained = waiting.all(|_| engine.receive(&self.settings, false).is_ok());
                    self.engine = drained.then_some(engine);
                    return (results, false);
                }
                // The engine is dropped, and killed.
                Err(_) => return (results, true),
            }
        }
        engine.keep_pace(began.elapsed(), positions.len());
        self.engine = Some(engine);
        (results, false)
    }

    fn attempt(&mut self, position: &Position) -> Result<Ranking, EngineError> {
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                self.n_restarts += 1;
                RunningEngine::start(&self.settings)?
            }
        };
        let ranking = engine.rank(position, &self.settings)?;
        // Only an engine that answered well is kept; otherwise it is dropped, and killed, above.
        self.engine = Some(engine);
        Ok(ranking)
    }
}

impl Oracle for UciOracle {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, matches!(rules, Rules::Chess | Rules::Chess960))
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        self.ready_for(position.rules())?;
        refuse_finished(position)?;
        self.persist(position, 0)
    }

    fn evaluate_all(&mut self, positions: &[Position]) -> Vec<Result<Ranking, OracleError>> {
        let mut results = Vec::with_capacity(positions.len());
        let mut rest = positions;
        while let Some(position) = rest.first() {
            let n_early = rest.iter().take_while(|position| is_searchable(position)).count();
            let (mut rankings, failed) = self.queued(rest.get(..n_early).unwrap_or(rest));
            // Where the queue breaks off the position is asked by itself, once less often if the engine failed on it.
            match rest.get(rankings.len()) {
                Some(broken) if failed => rankings.push(self.persist(broken, 1)),
                _ if rankings.is_empty() => rankings.push(self.evaluate(position)),
                _ => {}
            }
            rest = rest.get(rankings.len()..).unwrap_or_default();
            results.append(&mut rankings);
        }
        results
    }
}

fn is_searchable(position: &Position) -> bool {
    matches!(position, Position::Chess(_)) && position.outcome().is_none()
}
