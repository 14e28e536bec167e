//! Hallucinations: what a model got wrong, and where.

use mavis_value::Mistake;

/// One mistake of a model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at token {at}: {reason}")]
pub struct Hallucination {
    /// The index of the token at fault in the sequence that was read.
    pub at: usize,
    /// The kind.
    pub kind: Mistake,
    /// What is wrong, in words.
    pub reason: String,
}

impl Hallucination {
    pub(crate) fn new(at: usize, kind: Mistake, reason: impl Into<String>) -> Self {
        Self { at, kind, reason: reason.into() }
    }
}
