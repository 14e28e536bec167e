//! Standings as JSON.

use super::EndKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The standings of a league; players, cross table and superiority are sorted best first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StandingsJson {
    /// Title of the league.
    pub name: String,
    /// The game with its parameters.
    pub game: String,
    /// Games on disk.
    pub finished: u64,
    /// Games planned.
    pub planned: u64,
    /// The players.
    pub players: Vec<PlayerJson>,
    /// What the first side is worth, in Elo.
    pub first_advantage: EstimateJson,
    /// The draw rate of equals, where draws are modeled and there are some.
    pub draw_rate: Option<f64>,
    /// `[row][column]`: the probability that the row player is the stronger one.
    pub superiority: Vec<Vec<f64>>,
    /// `[row][column]`: wins, draws, losses of the row player against the column player.
    pub cross: Vec<Vec<[f64; 3]>>,
    /// How many games ended how.
    pub ends: BTreeMap<String, u64>,
    /// Games lost by a fault.
    pub faults: Vec<FaultJson>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// The sequential test, if there is one.
    pub sprt: Option<SprtJson>,
}

/// A value with its 95 % interval; `null` stands for an end that is not bounded.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct EstimateJson {
    /// The point estimate.
    pub value: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One player.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlayerJson {
    /// 1 is the best.
    pub rank: usize,
    /// Its name.
    pub name: String,
    /// Internal Elo.
    pub elo: EstimateJson,
    /// External Elo.
    pub external: Option<EstimateJson>,
    /// Games played.
    pub games: u64,
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Of these, games lost by a fault of its own: a crash, an illegal move, time.
    pub forfeits: u64,
    /// Points per game.
    pub score: Option<f64>,
    /// Mean rating of the opponents.
    pub opponents: Option<f64>,
    /// Mean seconds a move.
    pub seconds: Option<f64>,
    /// Mean tokens a move, of players that search in text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
}

/// Games lost by a fault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FaultJson {
    /// Whose fault.
    pub player: String,
    /// Which sort.
    pub kind: EndKind,
    /// How many games.
    pub games: u64,
}

/// A sequential test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SprtJson {
    /// In words.
    pub verdict: String,
    /// Log likelihood ratio.
    pub llr: f64,
    /// `elo0` is accepted at or below it.
    pub lower: f64,
    /// `elo1` is accepted at or above it.
    pub upper: f64,
    /// Pairs with 0, ½, 1, 1½ and 2 points.
    pub pairs: [u64; 5],
    /// Logistic Elo.
    pub elo: EstimateJson,
    /// Normalized Elo.
    pub normalized_elo: EstimateJson,
}
