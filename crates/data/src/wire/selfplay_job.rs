//! Games to play and what came of them, as they travel between machines.

use super::job::{JudgedWire, OracleWire};
use super::{AnnotationRow, GameRow, OracleName};
use crate::job::SetAside;
use crate::selfplay::{GamePlan, Played, SelfplayInput};
use mavis_game::{Game as _, Position, Rules};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a job of kind `selfplay` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelfplayInputWire {
    line: String,
    oracle: OracleWire,
    game: String,
    start: String,
    /// The bits of the chance of a random move.
    epsilon: u64,
    random_plies: u32,
    seed: u64,
    max_plies: u32,
    /// The first number, and the one after the last.
    numbers: (u64, u64),
}

impl From<&SelfplayInput> for SelfplayInputWire {
    fn from(input: &SelfplayInput) -> Self {
        let GamePlan { start, epsilon, random_plies, seed, max_plies } = &*input.plan;
        Self {
            line: input.line.to_string(),
            oracle: (&*input.oracle).into(),
            game: start.rules().to_string(),
            start: start.to_string(),
            epsilon: epsilon.to_bits(),
            random_plies: *random_plies,
            seed: *seed,
            max_plies: *max_plies,
            numbers: (input.numbers.start, input.numbers.end),
        }
    }
}

impl SelfplayInputWire {
    pub(crate) fn input(self) -> Result<SelfplayInput, String> {
        let rules = self.game.parse::<Rules>().map_err(|error| error.to_string())?;
        let start = Position::parse(rules, &self.start).map_err(|error| error.to_string())?;
        let plan = GamePlan {
            start,
            epsilon: f64::from_bits(self.epsilon),
            random_plies: self.random_plies,
            seed: self.seed,
            max_plies: self.max_plies,
        };
        Ok(SelfplayInput {
            line: self.line.into(),
            oracle: Arc::new(self.oracle.into()),
            plan: Arc::new(plan),
            numbers: self.numbers.0..self.numbers.1,
        })
    }
}

/// A game with its annotations, or why it was given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PlayedWire {
    /// It was played.
    #[serde(rename = "game")]
    Game {
        /// The game.
        row: Box<GameRow>,
        /// Keys of its positions.
        keys: Vec<u64>,
        /// Their annotations.
        annotations: Vec<JudgedWire>,
    },
    /// It was given up.
    #[serde(rename = "aside")]
    Aside(SetAside),
}

impl From<&Played> for PlayedWire {
    fn from(played: &Played) -> Self {
        match played {
            Ok((row, annotated)) => Self::Game {
                row: Box::new(row.clone()),
                keys: annotated.iter().map(|(key, _)| *key).collect(),
                annotations: annotated.iter().map(|(_, row)| JudgedWire::from(row)).collect(),
            },
            Err(aside) => Self::Aside(aside.clone()),
        }
    }
}

impl PlayedWire {
    /// The game; `last` is the oracle of the row before, which is shared where it is the same.
    pub(crate) fn played(self, last: &mut Arc<OracleName>) -> Result<Played, String> {
        match self {
            Self::Aside(aside) => Ok(Err(aside)),
            Self::Game { row, keys, annotations } => {
                if keys.len() != annotations.len() {
                    return Err(format!("{} keys of {} annotations", keys.len(), annotations.len()));
                }
                let mut annotated: Vec<(u64, AnnotationRow)> = Vec::with_capacity(keys.len());
                for (key, row) in keys.into_iter().zip(annotations) {
                    let row = row.judged(last)?.map_err(|_| "a position of a game without values")?;
                    annotated.push((key, row));
                }
                Ok(Ok((*row, annotated)))
            }
        }
    }
}
