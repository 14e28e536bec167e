//! What a predictor learns from: annotated positions, or the records of bags.

use super::{Target, tokens};
use mavis_data::bag::{BagError, BagReader, BagRecord};
use mavis_data::{AnnotatedPosition, Annotations, RecordError};
use mavis_game::{Game, Move, Position};
use std::{path::Path, sync::Arc};

/// One input and its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The position.
    pub characters: [u8; tokens::N_CHARACTERS],
    /// The action whose value is asked for.
    pub action: Option<u16>,
    /// What is right.
    pub target: PredictorTarget,
}

/// What a predictor should say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PredictorTarget {
    /// The win probability of the player who moves.
    Value(f32),
    /// The oracle's choice.
    Action(u16),
}

/// A set of samples that threads read at random.
pub trait Samples: Send + Sync {
    /// Number of records.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A sample; `None` where the game is over and nothing can be asked.
    ///
    /// # Errors
    /// A record that cannot be used.
    fn get(&self, idx: usize) -> Result<Option<Sample>, RecordError>;
}

/// Annotated positions: every move is a record for AV, every position for SV and BC.
#[derive(Clone)]
pub struct PositionSamples {
    set: Arc<dyn Annotations>,
    target: Target,
    /// For AV, the number of moves up to and with each position.
    ends: Vec<u64>,
}

impl PositionSamples {
    /// The samples of a set for one target.
    ///
    /// # Errors
    /// A record that cannot be used.
    pub fn new(set: Arc<dyn Annotations>, target: Target) -> Result<Self, RecordError> {
        let mut ends = Vec::new();
        if target == Target::ActionValue {
            let mut end = 0;
            for idx in 0..set.len() {
                end += set.n_moves(idx)? as u64;
                ends.push(end);
            }
        }
        Ok(Self { set, target, ends })
    }
}

impl Samples for PositionSamples {
    fn len(&self) -> usize {
        match self.target {
            Target::ActionValue => self.ends.last().copied().unwrap_or(0) as usize,
            _ => self.set.len(),
        }
    }

    fn get(&self, idx: usize) -> Result<Option<Sample>, RecordError> {
        let (record_idx, move_idx) = match self.target {
            Target::ActionValue => {
                let record = self.ends.partition_point(|end| *end <= idx as u64);
                let start = record.checked_sub(1).map_or(0, |before| self.ends[before]);
                (record, (idx as u64 - start) as usize)
            }
            _ => (idx, 0),
        };
        let record = self.set.get(record_idx)?;
        let fail = |reason: String| RecordError { idx: record_idx, reason };
        sample(&record, self.target, move_idx).map_err(fail)
    }
}

/// The sample of a record; for AV that of one move.
fn sample(record: &AnnotatedPosition, target: Target, move_idx: usize) -> Result<Option<Sample>, String> {
    let best = || record.best.or_else(|| highest(&record.moves));
    let (action, answer) = match target {
        Target::ActionValue => {
            let Some(&(mv, value)) = record.moves.get(move_idx) else { return Ok(None) };
            (Some(index(&record.position, mv)?), PredictorTarget::Value(value))
        }
        Target::StateValue => {
            // A position is worth what its best move is; the oracle's own choice was searched deepest.
            let Some(best) = best() else { return Ok(None) };
            let value = record.moves.iter().find(|(mv, _)| *mv == best).map(|(_, value)| *value);
            let Some(value) = value else { return Err("the best move has no value".to_owned()) };
            (None, PredictorTarget::Value(value))
        }
        Target::BehavioralCloning => {
            let Some(best) = best() else { return Ok(None) };
            (None, PredictorTarget::Action(index(&record.position, best)?))
        }
    };
    let characters = tokens::characters(&record.position.to_string()).map_err(|error| error.to_string())?;
    Ok(Some(Sample { characters, action, target: answer }))
}

fn highest(moves: &[(Move, f32)]) -> Option<Move> {
    moves.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(mv, _)| *mv)
}

/// The index of a move.
pub(super) fn index(position: &Position, mv: Move) -> Result<u16, String> {
    let text = position.move_text(mv);
    tokens::action_index(&text).ok_or_else(|| format!("{text} is not a chess move"))
}

/// A bag of ChessBench in memory; its records are samples as they are.
#[derive(Clone, Debug)]
pub struct BagSamples {
    samples: Vec<Sample>,
}

/// A bag that cannot be learned from.
#[derive(Debug, thiserror::Error)]
pub enum BagSamplesError {
    /// It cannot be read.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// A record of another kind, or none at all.
    #[error("record {idx} has no data for target {target}")]
    Kind {
        /// Its number.
        idx: usize,
        /// The target.
        target: Target,
    },
    /// A record that does not say something of a chess position.
    #[error("record {idx}: {reason}")]
    Record {
        /// Its number.
        idx: usize,
        /// What is wrong.
        reason: String,
    },
}

impl BagSamples {
    /// Reads a `.bag` or `.bagz` whose positions pass.
    ///
    /// # Errors
    /// When it cannot be read, or holds records of another kind than the target's.
    pub fn open(
        path: &Path,
        target: Target,
        mut keep: impl FnMut(&str) -> bool,
    ) -> Result<Self, BagSamplesError> {
        let mut samples = Vec::new();
        for (idx, record) in BagReader::open(path)?.enumerate() {
            let fail = |reason: String| BagSamplesError::Record { idx, reason };
            let action = |uci: &str| {
                tokens::action_index(uci).ok_or_else(|| fail(format!("'{uci}' is not a chess move")))
            };
            let value = |value: f64| match value {
                0.0..=1.0 => Ok(PredictorTarget::Value(value as f32)),
                _ => Err(fail(format!("{value} is no win probability"))),
            };
            let (fen, action, answer) = match (target, BagRecord::decode(&record?)) {
                (Target::ActionValue, Some(BagRecord::ActionValue(fen, uci, win))) => {
                    (fen, Some(action(&uci)?), value(win)?)
                }
                (Target::StateValue, Some(BagRecord::StateValue(fen, win))) => (fen, None, value(win)?),
                (Target::BehavioralCloning, Some(BagRecord::BehavioralCloning(fen, uci))) => {
                    (fen, None, PredictorTarget::Action(action(&uci)?))
                }
                _ => return Err(BagSamplesError::Kind { idx, target }),
            };
            if keep(&fen) {
                let characters = tokens::characters(&fen).map_err(|error| fail(error.to_string()))?;
                samples.push(Sample { characters, action, target: answer });
            }
        }
        Ok(Self { samples })
    }
}

impl Samples for BagSamples {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn get(&self, idx: usize) -> Result<Option<Sample>, RecordError> {
        let sample = self.samples.get(idx).copied();
        sample.map(Some).ok_or_else(|| RecordError { idx, reason: "no such record".to_owned() })
    }
}
