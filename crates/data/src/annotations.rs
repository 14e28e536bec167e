//! What a model learns from.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use mavis_game::{Move, Position};
use std::sync::Arc;

/// A position with what an oracle says of its moves.
#[derive(Clone, Debug)]
pub struct AnnotatedPosition {
    /// The position.
    pub position: Position,
    /// Every legal move with its win probability for the player who makes it; empty once the game is over.
    pub moves: Vec<(Move, f32)>,
    /// The oracle's own choice; `None` once the game is over.
    pub best: Option<Move>,
}

/// A set of annotated positions that threads read at random.
pub trait Annotations: Send + Sync {
    /// Number of records.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// When the record does not describe a legal position with a value for each legal move.
    fn get(&self, idx: usize) -> Result<AnnotatedPosition, RecordError>;

    /// How many moves a record values. A record of a game that is over may still count the moves an engine valued there.
    ///
    /// # Errors
    /// When there is no such record, or it has to be decoded and cannot be.
    fn n_moves(&self, idx: usize) -> Result<usize, RecordError> {
        self.get(idx).map(|record| record.moves.len())
    }
}

impl Annotations for Vec<AnnotatedPosition> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn get(&self, idx: usize) -> Result<AnnotatedPosition, RecordError> {
        self.as_slice()
            .get(idx)
            .cloned()
            .ok_or_else(|| RecordError { idx, reason: "no such record".to_owned() })
    }
}

/// A record that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("record {idx}: {reason}")]
pub struct RecordError {
    /// Its number in the set.
    pub idx: usize,
    /// What is wrong.
    pub reason: String,
}

/// Several sets one after the other.
#[derive(Clone)]
pub struct Concatenated {
    /// Each set with the number of its first record.
    parts: Vec<(usize, Arc<dyn Annotations>)>,
    len: usize,
}

impl Concatenated {
    /// Joins sets in order.
    #[must_use]
    pub fn new(sets: impl IntoIterator<Item = Arc<dyn Annotations>>) -> Self {
        let mut len = 0;
        let parts = sets
            .into_iter()
            .map(|set| {
                let start = len;
                len += set.len();
                (start, set)
            })
            .collect();
        Self { parts, len }
    }

    /// The set a record is in, and the number of its first.
    fn part(&self, idx: usize) -> Result<&(usize, Arc<dyn Annotations>), RecordError> {
        let part = self.parts.partition_point(|(start, _)| *start <= idx);
        part.checked_sub(1)
            .and_then(|part| self.parts.get(part))
            .ok_or_else(|| RecordError { idx, reason: "no such record".to_owned() })
    }
}

impl Annotations for Concatenated {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, idx: usize) -> Result<AnnotatedPosition, RecordError> {
        let (start, set) = self.part(idx)?;
        set.get(idx - start).map_err(|error| RecordError { idx, ..error })
    }

    fn n_moves(&self, idx: usize) -> Result<usize, RecordError> {
        let (start, set) = self.part(idx)?;
        set.n_moves(idx - start).map_err(|error| RecordError { idx, ..error })
    }
}
