//! What a run puts on disk beside its weights: lines of `metrics.jsonl`, and the progress inside its checkpoint.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use serde::{Deserialize, Serialize};

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// A round of self-play and training.
    Round(Round),
    /// Matches against the agents.
    Evaluation(EvaluationLine),
}

/// A round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, from 1.
    pub round: u32,
    /// Games played.
    pub games: u32,
    /// Games that were cut off.
    pub cut_off: u32,
    /// States learned from.
    pub states: usize,
    /// Plies a game.
    pub mean_plies: f64,
    /// Mean loss of the value net.
    pub value_loss: f32,
    /// Mean loss of the action net.
    pub action_loss: f32,
    /// Learning rate of both.
    pub learning_rate: f32,
    /// Positions passed through a net in self-play and searches since the start of the run.
    pub evaluations: u64,
    /// Seconds of self-play.
    pub self_play_seconds: f64,
    /// Seconds of training the value net.
    pub value_seconds: f64,
    /// Seconds of beam searches.
    pub search_seconds: f64,
    /// Seconds of training the action net.
    pub action_seconds: f64,
    /// Seconds of all rounds since the start of the run; evaluations are not counted.
    pub seconds: f64,
}

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationLine {
    /// Rounds done; 0 is the untrained net.
    pub round: u32,
    /// Elo on the scale of paper 004.
    pub elo: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Games against each agent.
    pub agents: Vec<AgentLine>,
    /// Positions passed through a net in self-play and searches since the start of the run.
    pub evaluations: u64,
    /// Seconds of all rounds since the start of the run.
    pub seconds: f64,
}

/// Games against one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentLine {
    /// Who.
    pub name: String,
    /// Its rating in paper 004.
    pub anchor: f64,
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

/// The progress inside a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) round: u32,
    pub(crate) value_steps: u64,
    pub(crate) action_steps: u64,
    pub(crate) evaluations: u64,
    pub(crate) seconds: f64,
    /// Bytes of `metrics.jsonl` that belong to this state; what a killed run wrote after them is cut off.
    pub(crate) metrics_bytes: u64,
    /// Rating of the best net so far.
    pub(crate) best_elo: Option<f64>,
}
