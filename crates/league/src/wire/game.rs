//! One game as one line of JSON.

use crate::openings::{BookError, Opening};
use crate::pairing::GamePlan;
use mavis_data::import::GameRecord;
use mavis_data::wire::EndKind;
use mavis_game::{FromRules, Game as _, Move, Outcome, Position, Rules, Side};
use mavis_play::{MoveRecord, Termination, Verdict};
use mavis_stable::time::{Date, unix_seconds};
use serde::{Deserialize, Serialize};

/// A finished game on disk.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredGame {
    /// Its number in the schedule.
    pub game: u64,
    /// Its opening pair.
    pub pair: u64,
    /// Name of the player with the first side.
    pub first: String,
    /// Name of the player with the second side.
    pub second: String,
    /// Position text before the opening's moves. `None` means the start of the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Moves of the opening.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opening: Vec<String>,
    /// Moves of the players.
    pub moves: Vec<StoredMove>,
    /// `1-0`, `0-1` or `1/2-1/2`, the first side's points first.
    pub result: StoredResult,
    /// Why it ended.
    pub end: StoredEnd,
    /// When it ended, seconds since 1970.
    pub finished: u64,
}

/// One move with what its player thought, from the mover's point of view.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredMove {
    /// The move's text.
    #[serde(rename = "m")]
    pub text: String,
    /// Win probability.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f32>,
    /// Centipawns.
    #[serde(rename = "cp", default, skip_serializing_if = "Option::is_none")]
    pub centipawns: Option<i32>,
    /// Depth in plies.
    #[serde(rename = "d", default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// Positions or simulations.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero_nodes")]
    pub nodes: u64,
    /// Simulations kept from earlier moves, which were not made again: of `n + k` calls, `k` were saved.
    #[serde(rename = "k", default, skip_serializing_if = "is_zero_nodes")]
    pub kept: u64,
    /// Tokens that a search in text wrote.
    #[serde(rename = "tok", default, skip_serializing_if = "is_zero_nodes")]
    pub tokens: u64,
    /// What kept a search in text from its end, by kind; the move is then the best it had come to.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Seconds.
    #[serde(rename = "t")]
    pub seconds: f64,
}

fn is_zero(depth: &u32) -> bool {
    *depth == 0
}

fn is_zero_nodes(nodes: &u64) -> bool {
    *nodes == 0
}

/// A result as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StoredResult {
    /// The first side won.
    #[serde(rename = "1-0")]
    First,
    /// The second side won.
    #[serde(rename = "0-1")]
    Second,
    /// Nobody won.
    #[serde(rename = "1/2-1/2")]
    Draw,
}

impl From<Outcome> for StoredResult {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Win(Side::First) => Self::First,
            Outcome::Win(Side::Second) => Self::Second,
            Outcome::Draw => Self::Draw,
        }
    }
}

impl From<StoredResult> for Outcome {
    fn from(result: StoredResult) -> Self {
        match result {
            StoredResult::First => Self::Win(Side::First),
            StoredResult::Second => Self::Win(Side::Second),
            StoredResult::Draw => Self::Draw,
        }
    }
}

/// Why a game ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredEnd {
    /// The kind of end.
    pub by: EndKind,
    /// In words.
    pub reason: String,
}

impl From<&Termination> for StoredEnd {
    fn from(termination: &Termination) -> Self {
        let by = match termination {
            Termination::Rules(_) => EndKind::Rules,
            Termination::ClaimedDraw => EndKind::Claim,
            Termination::Time(_) => EndKind::Time,
            Termination::IllegalMove(_) => EndKind::Illegal,
            Termination::Failure { .. } => EndKind::Failure,
            Termination::Resignation(_) => EndKind::Resignation,
            Termination::MaxLength => EndKind::Length,
            Termination::Adjudication(_) => EndKind::Adjudication,
        };
        Self { by, reason: termination.to_string() }
    }
}

impl From<&MoveRecord> for StoredMove {
    fn from(made: &MoveRecord) -> Self {
        Self {
            text: made.text.clone(),
            value: made.thought.value,
            centipawns: made.thought.centipawns,
            depth: made.thought.depth,
            nodes: made.thought.nodes,
            kept: made.thought.kept,
            tokens: made.thought.tokens.unwrap_or(0),
            broken: made.thought.broken.map(str::to_owned),
            // Microseconds are all a clock tells.
            seconds: (made.time.as_secs_f64() * 1e6).round() / 1e6,
        }
    }
}

impl StoredGame {
    /// The line of a finished game.
    #[must_use]
    pub fn new(
        plan: GamePlan,
        names: &[String],
        opening: &Opening,
        moves: &[MoveRecord],
        verdict: &Verdict,
    ) -> Self {
        let name = |player: usize| names.get(player).cloned().unwrap_or_default();
        Self {
            game: plan.game,
            pair: plan.pair,
            first: name(plan.first),
            second: name(plan.second),
            start: opening.start.clone(),
            opening: opening.moves.clone(),
            moves: moves.iter().map(StoredMove::from).collect(),
            result: verdict.outcome.into(),
            end: StoredEnd::from(&verdict.termination),
            finished: unix_seconds(),
        }
    }

    /// The player that lost by a fault of its own, and the other one.
    #[must_use]
    pub fn forfeit(&self) -> Option<(&str, &str)> {
        let by_fault = self.end.by.is_fault();
        by_fault.then_some(match self.result {
            StoredResult::First => (&self.second, &self.first),
            _ => (&self.first, &self.second),
        })
    }

    /// Its name in tables, counted from 1.
    pub(crate) fn id(&self, league: &str) -> String {
        format!("{league}#{}", self.game.saturating_add(1))
    }

    /// The opening it was played from.
    #[must_use]
    pub fn opening(&self) -> Opening {
        Opening { start: self.start.clone(), moves: self.opening.clone() }
    }

    /// Every position of the game with the move played in it, the opening's moves included.
    ///
    /// # Errors
    /// When the stored text does not replay under the rules.
    pub fn positions<G: FromRules>(&self, rules: G::Rules) -> Result<Vec<(G, Move)>, BookError> {
        let mut position: G = self.opening().start_position(rules)?;
        let mut list = Vec::new();
        for text in self.opening.iter().chain(self.moves.iter().map(|made| &made.text)) {
            let mv = position.parse_move(text)?;
            list.push((position.clone(), mv));
            position.play_unchecked(mv);
        }
        Ok(list)
    }

    /// The game as tables hold it: every move with the opening's, and what the players thought it was worth.
    ///
    /// # Errors
    /// When the stored text does not replay under the rules.
    pub fn record(&self, league: &str, rules: Rules) -> Result<GameRecord, BookError> {
        let mut position: Position = self.opening().start_position(rules)?;
        let mut record = GameRecord::new(self.id(league), &position);
        for (before, mv) in self.positions::<Position>(rules)? {
            position.play_unchecked(mv);
            record.push(before.move_text(mv), &position);
        }
        record.row.result = Some(Outcome::from(self.result).as_str().to_owned());
        (record.row.first, record.row.second) = (Some(self.first.clone()), Some(self.second.clone()));
        record.row.date = Some(Date::of_unix_seconds(self.finished).pgn());
        record.row.source = Some(league.to_owned());
        record.row.termination = Some(self.end.by.as_str().to_owned());
        if self.moves.iter().any(|made| made.value.is_some()) {
            let opening = self.opening.iter().map(|_| None);
            record.row.values = opening.chain(self.moves.iter().map(|made| made.value)).collect();
        }
        Ok(record)
    }
}
