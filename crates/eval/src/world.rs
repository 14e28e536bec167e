//! Where a search takes its world from.

use std::{fmt, str::FromStr};

/// Where states, legal moves and ends come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WorldModel {
    /// The rules of the game: only the values are the evaluator's.
    #[default]
    Rules,
    /// The evaluator alone: it tracks states, lists moves and calls games over, and is wrong where it is wrong.
    Model,
}

impl WorldModel {
    /// The names of all of them, as users write them.
    pub const WORDS: &'static [&'static str] = &["rules", "model"];
}

impl fmt::Display for WorldModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rules => "rules",
            Self::Model => "model",
        })
    }
}

impl FromStr for WorldModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rules" => Ok(Self::Rules),
            "model" => Ok(Self::Model),
            _ => Err(format!("unknown world model '{text}' (expected rules or model)")),
        }
    }
}
