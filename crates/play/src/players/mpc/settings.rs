//! How MPC-MC looks ahead.

use crate::Limit;
use std::{fmt, str::FromStr};

/// Everything that decides a move of MPC-MC beside its two players.
#[derive(Clone, PartialEq, Debug)]
pub struct MpcSettings {
    /// How far it looks.
    pub steps: Steps,
    /// How many of the first step's positions the second step looks into.
    pub width: usize,
    /// Whether the evaluator's own move is played where the evaluator thinks more of its position than MPC-MC of its
    /// move.
    pub fortified: bool,
    /// What one call of a player may spend: time, nodes and depth hold, the rest is ignored.
    pub per_call: Limit,
    /// Calls at once; each has players of its own.
    pub threads: usize,
}

impl Default for MpcSettings {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { steps: Steps::One, width: 3, fortified: false, per_call: Limit::default(), threads }
    }
}

/// How far MPC-MC looks ahead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Steps {
    /// The evaluator judges the position after each move, seen by the opponent.
    Half,
    /// The nominal opponent replies to each move, then the evaluator judges.
    One,
    /// The same once more after the best of the first step.
    Two,
}

impl Steps {
    /// The words a setting may be.
    pub const WORDS: &'static [&'static str] = &["half", "1", "2"];
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::WORDS[*self as usize])
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "half" => Ok(Self::Half),
            "1" => Ok(Self::One),
            "2" => Ok(Self::Two),
            other => Err(format!("steps are half, 1 or 2, not '{other}'")),
        }
    }
}
