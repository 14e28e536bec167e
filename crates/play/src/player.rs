//! The player trait and what passes through it.

use crate::Analysis;
use mavis_eval::EvalError;
use mavis_game::{Game, Move, Position};
use mavis_search::{Cancel, mcts::RulesCheck, wire::SavedTree};
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// Someone who makes a move under a limit.
///
/// `G` is the game it plays; without it the trait is about the six games of [`Position`].
pub trait Player<G: Game = Position>: Send {
    /// A short name for tables and boards.
    fn name(&self) -> String;

    /// Asked before the first game of a match: the player gets ready for a game, or says why it cannot play it.
    ///
    /// # Errors
    /// When it does not play the game, or lacks what it needs for that: an engine, a server that answers.
    fn ready_for(&mut self, rules: G::Rules) -> Result<(), PlayerError> {
        let _ = rules;
        Ok(())
    }

    /// Told once before each game; what was learned from the last one should be forgotten.
    fn new_game(&mut self, rules: G::Rules) {
        let _ = rules;
    }

    /// Starts the player's randomness anew, so that a game in a league does not depend on the games before it.
    ///
    /// Told before [`Player::new_game`]; players without randomness of their own need not care.
    fn reseed(&mut self, seed: u64) {
        let _ = seed;
    }

    /// Whether its choices come with a value of the position; otherwise it cannot judge positions for another player.
    fn evaluates(&self) -> bool {
        true
    }

    /// Told by the referee what the other player thought of the move it just made.
    ///
    /// A fair opponent takes no notice; [`crate::Predicted`] plays the reply expected there.
    fn overhear(&mut self, thought: &Thought) {
        let _ = thought;
    }

    /// Chooses a move in `turn.position`, which has at least one legal move.
    ///
    /// The player should return soon after `turn.cancel` is cancelled or the limit is reached.
    ///
    /// # Errors
    /// When no move can be made at all: a dead engine, a network that failed. The referee then ends the game with a reason.
    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError>;

    /// Chooses a move and says what it thinks of the others; players without an opinion on them list only their choice.
    ///
    /// # Errors
    /// As [`Player::choose`].
    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        self.choose(turn).map(Analysis::from)
    }

    /// The tree behind its last move, for players that grow one and keep it.
    fn tree(&self) -> Option<SavedTree> {
        None
    }

    /// That tree compared with the rules, where it was grown without them.
    fn tree_check(&self) -> Option<RulesCheck> {
        None
    }

    /// Continues from a saved tree when it is next asked about the tree's position.
    ///
    /// # Errors
    /// When it grows no tree of that kind, or the tree cannot be taken up.
    fn resume(&mut self, tree: &SavedTree) -> Result<(), PlayerError> {
        let _ = tree;
        Err(PlayerError::Failed(format!("{} has no tree to resume", self.name())))
    }
}

/// Everything a player may look at for one move.
pub struct Turn<'a, G = Position> {
    /// Where the game started.
    pub start: &'a G,
    /// The moves played since.
    pub moves: &'a [Move],
    /// The position to move in, its history included.
    pub position: &'a G,
    /// How much may be spent.
    pub limit: Limit,
    /// Cancelled from outside to end the search early.
    pub cancel: Cancel,
    /// Takes intermediate results; a search never prints.
    pub sink: &'a mut dyn FnMut(&Thought),
}

impl<'a, G: Game> Turn<'a, G> {
    /// A position by itself: nothing was played before it, and nobody ends the search early.
    #[must_use]
    pub fn alone(position: &'a G, limit: Limit, sink: &'a mut dyn FnMut(&Thought)) -> Self {
        Self { start: position, moves: &[], position, limit, cancel: Cancel::new(), sink }
    }
}

/// What may be spent on one move; several limits hold together, none at all means the player's own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// Wall-clock time for this move.
    pub time: Option<Duration>,
    /// Positions searched.
    pub nodes: Option<u64>,
    /// Plies of depth.
    pub depth: Option<u32>,
    /// Time left on both clocks, for players that manage their own time.
    pub clock: Option<crate::Clock>,
    /// Think until cancelled; the player's own default does not hold.
    pub infinite: bool,
    /// Consider only these moves; empty means all.
    pub only: Vec<Move>,
    /// Report this many of the best lines (MultiPV); 0 and 1 mean the best alone.
    pub lines: u32,
}

impl Limit {
    /// Whether a move may be chosen.
    #[must_use]
    pub fn allows(&self, mv: Move) -> bool {
        self.only.is_empty() || self.only.contains(&mv)
    }

    /// The moment by which a move must be out, if time is limited. `overhead` is kept in reserve.
    ///
    /// With a clock, a fixed share of the remaining time is spent: a thirtieth (or an even split when the number of
    /// moves to the next control is known) plus most of the increment, and never more than what is left.
    #[must_use]
    pub fn deadline(&self, now: Instant, overhead: Duration) -> Option<Instant> {
        let by_clock = self.clock.as_ref().map(|clock| clock.share(overhead));
        let by_time = self.time.map(|time| time.saturating_sub(overhead.min(time / 2)));
        // A moment too far away for the system's clock is no limit.
        by_time.into_iter().chain(by_clock).min().and_then(|time| now.checked_add(time))
    }
}

impl Limit {
    /// The moment until which a player waits for the one evaluation it cannot do without: with a clock most of what is left,
    /// though the plan gives this move less. Later moves then get less, which is better than a guess now.
    #[must_use]
    pub fn patience(&self, now: Instant, overhead: Duration) -> Option<Instant> {
        let by_clock = self.clock.as_ref().map(|clock| clock.own.saturating_sub(overhead) / 5 * 4);
        let by_time = self.time.map(|time| time.saturating_sub(overhead.min(time / 2)));
        // A moment too far away for the system's clock is no limit.
        by_time.into_iter().chain(by_clock).min().and_then(|time| now.checked_add(time))
    }
}

/// An intermediate result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thought {
    /// Depth in plies, where that means something.
    pub depth: u32,
    /// Rank among several lines, 1 the best.
    pub rank: u32,
    /// Win probability of the side to move, 0 to 1.
    pub value: Option<f32>,
    /// Score in centipawns from the side to move, where the player thinks in them.
    pub centipawns: Option<i32>,
    /// Moves to a certain end: above 0 the side to move wins, below it loses.
    pub mate: Option<i32>,
    /// Positions or simulations so far.
    pub nodes: u64,
    /// Simulations kept from earlier moves, which a search need not make again.
    pub kept: u64,
    /// Tokens written so far, by players that search in text.
    pub tokens: Option<u64>,
    /// Passes of the network they took.
    pub passes: Option<u64>,
    /// What kept a response in text from its end, by kind.
    pub broken: Option<&'static str>,
    /// The line the search expects.
    pub line: Vec<Move>,
    /// The tree so far, from players that grow one within a single call.
    pub tree: Option<Arc<SavedTree>>,
    /// The text so far, from players that search in text.
    pub written: Option<String>,
    /// Anything else worth a line.
    pub note: Option<String>,
}

/// A player's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The move to play.
    pub mv: Move,
    /// The last thing the player thought, for annotations in records.
    pub thought: Thought,
}

impl Choice {
    /// A move without an opinion.
    #[must_use]
    pub fn plain(mv: Move) -> Self {
        Self { mv, thought: Thought::default() }
    }
}

/// Why a player could not move.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
    /// It gave up the game.
    #[error("resigns")]
    Resign,
    /// It does not play this game.
    #[error("{player} does not play {game}")]
    Unsupported {
        /// The player's name.
        player: String,
        /// The game's name.
        game: String,
    },
    /// Its process or server failed.
    #[error("{0}")]
    Failed(String),
    /// The network of its model failed, such as by an error of the device. Unlike a dead engine it says nothing about how well
    /// the player plays, so its game has no result.
    #[error("the network failed: {0}")]
    Broken(String),
    /// It was stopped before it could decide.
    #[error("stopped")]
    Stopped,
}

impl PlayerError {
    /// A player that does not play a game.
    #[must_use]
    pub fn unsupported(player: &str, rules: impl fmt::Display) -> Self {
        Self::Unsupported { player: player.to_owned(), game: rules.to_string() }
    }

    /// What an evaluation that fails means for a player that cannot do without it.
    #[must_use]
    pub fn of_evaluation(error: EvalError) -> Self {
        match error {
            EvalError::Broken(reason) => Self::Broken(reason),
            other => Self::Failed(other.to_string()),
        }
    }
}
