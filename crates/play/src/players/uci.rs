//! A UCI engine in a child process as a player.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod engine;
mod position_command;

use crate::{Analysis, Choice, Limit, MoveAnalysis, Player, PlayerError, Thought, Turn};
use engine::{Conversation, Order};
use mavis_game::{Game as _, Move, Position, Rules, Side};
use mavis_oracle::{
    process::{EngineError, Patience},
    uci::{Go, Info, UciScore},
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{cmp::Reverse, path::PathBuf, time::Duration};

/// How to run an engine as a player.
#[derive(Clone, PartialEq, Debug)]
pub struct UciSettings {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Options to set, by name.
    pub options: Vec<(String, String)>,
    /// The player's own limits, which hold beside those of the game.
    pub limits: UciLimits,
    /// How long an answer may be overdue before the engine counts as hung.
    pub patience: Patience,
    /// The nodes of each move vary at random by up to this share, as they do under a limit of time.
    pub jitter: f64,
}

/// Limits of every search; all unset means 100,000 nodes where the game sets no limit either.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UciLimits {
    /// Nodes a move.
    pub nodes: Option<u64>,
    /// Plies of depth.
    pub depth: Option<u32>,
    /// Time a move.
    pub move_time: Option<Duration>,
}

/// Nodes a move when nobody says anything: a fraction of a second, and the same move every time.
const DEFAULT_NODES: u64 = 100_000;

/// A chess engine that gets the game, searches, and answers.
///
/// An engine that dies, hangs or answers nonsense is replaced once in a move; if the second fails too, so does the
/// player.
pub struct UciPlayer {
    settings: UciSettings,
    name: String,
    /// The running engine; gone after a failure.
    engine: Option<Conversation>,
    n_restarts: u32,
    /// Draws the nodes of each move where they vary.
    random: Xoshiro256PlusPlus,
}

impl UciPlayer {
    /// Starts the engine.
    ///
    /// # Errors
    /// When it cannot be started, does not speak UCI, or lacks an option.
    pub fn start(settings: UciSettings) -> Result<Self, EngineError> {
        let engine = Conversation::start(&settings)?;
        let name = engine.name().to_owned();
        let random = Xoshiro256PlusPlus::seed_from_u64(0);
        Ok(Self { settings, name, engine: Some(engine), n_restarts: 0, random })
    }

    /// How often the engine was replaced.
    #[must_use]
    pub fn n_restarts(&self) -> u32 {
        self.n_restarts
    }

    /// The process id of the running engine.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.engine.as_ref().map(Conversation::process_id)
    }

    fn attempt(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, EngineError> {
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                self.n_restarts += 1;
                Conversation::start(&self.settings)?
            }
        };
        let mut go = go(&self.settings.limits, turn);
        if self.settings.jitter > 0.0 {
            let share = 1.0 + self.settings.jitter * (2.0 * self.random.random::<f64>() - 1.0);
            go.nodes = go.nodes.map(|nodes| ((nodes as f64 * share) as u64).max(1));
        }
        let position = turn.position;
        // No position has more lines than moves.
        let n_lines = turn.limit.lines.clamp(1, position.n_legal_moves().max(1) as u32);
        let order = Order {
            start: turn.start,
            moves: turn.moves,
            go,
            n_lines,
            hard_limit: turn.limit.time.or(self.settings.limits.move_time),
            cancel: &turn.cancel,
        };
        let mut lines = Lines::default();
        let found = engine.search(&order, &mut |info| {
            let thought = thought(position, info);
            if thought.line.is_empty() && thought.note.is_none() {
                return;
            }
            (turn.sink)(&thought);
            lines.add(thought);
        })?;
        let nonsense = |got: String| EngineError::Nonsense { expected: "a legal best move", got };
        let text = found.ok_or_else(|| nonsense("bestmove (none)".to_owned()))?;
        let mv = position.parse_move(&text).map_err(|_| nonsense(text))?;
        // Only an engine that answered well is kept; otherwise it is dropped, and killed, above.
        self.engine = Some(engine);
        Ok(lines.analysis(mv, n_lines))
    }
}

/// What an engine said of the moves in the course of a search; a line without a score takes none away.
#[derive(Default)]
struct Lines {
    /// The best line.
    best: Thought,
    /// The last report on each move, in the order of the first reports.
    reported: Vec<Thought>,
}

impl Lines {
    fn add(&mut self, thought: Thought) {
        let Some(&mv) = thought.line.first() else { return };
        if thought.rank <= 1 {
            if thought.value.is_some() || self.best.value.is_none() {
                self.best = thought.clone();
            } else {
                self.best.nodes = thought.nodes;
            }
        }
        match self.reported.iter_mut().find(|known| known.line.first() == Some(&mv)) {
            Some(known) if thought.value.is_none() && known.value.is_some() => known.rank = thought.rank,
            Some(known) => *known = thought,
            None => self.reported.push(thought),
        }
    }

    /// The engine's choice, and behind it the other moves it gave a value, best first.
    fn analysis(mut self, mv: Move, n_lines: u32) -> Analysis {
        if self.best.line.first() != Some(&mv) {
            self.best.line = vec![mv];
        }
        let mut analysis = Analysis::from(Choice { mv, thought: self.best });
        // A move that fell out of the lines keeps a rank that another has by now, from a shallower search.
        self.reported.sort_by_key(|thought| (thought.rank, Reverse(thought.depth)));
        let others = self.reported.into_iter().filter(|thought| thought.value.is_some());
        analysis.moves.extend(others.filter_map(|Thought { value, centipawns, mate, line, .. }| {
            let other = *line.first().filter(|other| **other != mv)?;
            Some(MoveAnalysis { value, centipawns, mate, line, ..MoveAnalysis::plain(other) })
        }));
        analysis.moves.truncate(n_lines as usize);
        analysis
    }
}

impl Player for UciPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn reseed(&mut self, seed: u64) {
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        match (rules, &self.engine) {
            (Rules::Chess, _) => Ok(()),
            (Rules::Chess960, engine) if engine.as_ref().is_none_or(Conversation::plays_chess960) => Ok(()),
            _ => Err(PlayerError::unsupported(&self.name, rules)),
        }
    }

    fn new_game(&mut self, _: Rules) {
        if let Some(engine) = &mut self.engine
            && engine.new_game().is_err()
        {
            // A dead engine is replaced when a move is asked for.
            self.engine = None;
        }
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        let rules = turn.position.rules();
        if !matches!(turn.position, Position::Chess(_)) {
            return Err(PlayerError::unsupported(&self.name, rules));
        }
        let first = match self.attempt(turn) {
            Ok(analysis) => return Ok(analysis),
            Err(error) => error,
        };
        self.attempt(turn).map_err(|second| {
            PlayerError::Failed(format!("{} failed twice: {first}; then {second}", self.name))
        })
    }
}

/// The limits of a turn in the engine's words.
fn go(own: &UciLimits, turn: &Turn<'_>) -> Go {
    let Limit { time, nodes, depth, clock, infinite, only, .. } = &turn.limit;
    let mut go = Go {
        // To an engine a limit of 0 is none.
        nodes: nodes.iter().copied().chain(own.nodes).min().map(|nodes| nodes.max(1)),
        depth: depth.iter().copied().chain(own.depth).min().map(|depth| depth.max(1)),
        move_time: time.iter().copied().chain(own.move_time).min(),
        search_moves: only.iter().map(|&mv| turn.position.move_text(mv)).collect(),
        ..Go::default()
    };
    if let Some(clock) = clock {
        go.clock = [Some(clock.own), Some(clock.other)];
        go.increment = [Some(clock.increment), Some(clock.other_increment)];
        if turn.position.side_to_move() == Side::Second {
            go.clock.reverse();
            go.increment.reverse();
        }
        go.moves_to_go = clock.moves_to_go;
    }
    if *infinite {
        // Its own limits still hold: a weak engine stays weak in analysis.
        go.infinite = go.nodes.is_none() && go.depth.is_none() && go.move_time.is_none();
    } else if go == (Go { search_moves: go.search_moves.clone(), ..Go::default() }) {
        go.nodes = Some(DEFAULT_NODES);
    }
    go
}

/// What an `info` line says.
fn thought(position: &Position, info: &Info) -> Thought {
    let mut after = position.clone();
    let line = info.pv.iter().map_while(|text| after.play_text(text).ok()).collect();
    // Bounds count too: a search that is stopped ends with one, and it knows more than the last whole iteration (docs/mpc.md).
    let (centipawns, mate) = match info.score {
        Some(UciScore::Centipawns(value, _)) => (Some(value), None),
        Some(UciScore::Mate(moves, _)) => (None, Some(moves)),
        None => (None, None),
    };
    let score = match (centipawns, mate) {
        (Some(value), _) => Some(mavis_oracle::Score::Centipawns(value)),
        (_, Some(moves)) => Some(mavis_oracle::Score::Mate(moves)),
        _ => None,
    };
    Thought {
        depth: info.depth.unwrap_or(0),
        rank: info.multi_pv.unwrap_or(1),
        value: score.map(|score| score.win_probability(position.rules())),
        centipawns,
        mate,
        nodes: info.nodes.unwrap_or(0),
        line,
        note: info.string.clone(),
        ..Thought::default()
    }
}
