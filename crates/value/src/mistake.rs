//! Kinds of hallucination: what a model can get wrong.

use std::fmt;

/// The kinds of hallucination; the last three occur only in traces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mistake {
    /// Not a sentence of the language.
    Malformed,
    /// A move the rules do not allow.
    IllegalMove,
    /// Fewer moves than there are and were asked for.
    MissingMove,
    /// A move listed twice.
    RepeatedMove,
    /// A state that does not follow, or that cannot be.
    WrongState,
    /// An end that is none, a missed one, or the wrong outcome.
    WrongEnd,
    /// A value that is not the one known.
    WrongValue,
    /// A search that expands other nodes than it should.
    WrongExpansion,
    /// A decision that does not follow from the values.
    WrongDecision,
}

impl Mistake {
    /// Every kind, in order.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::IllegalMove,
        Self::MissingMove,
        Self::RepeatedMove,
        Self::WrongState,
        Self::WrongEnd,
        Self::WrongValue,
        Self::WrongExpansion,
        Self::WrongDecision,
    ];

    /// A name in words, also used as a key.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::IllegalMove => "illegal move",
            Self::MissingMove => "missing move",
            Self::RepeatedMove => "repeated move",
            Self::WrongState => "wrong state",
            Self::WrongEnd => "wrong end",
            Self::WrongValue => "wrong value",
            Self::WrongExpansion => "wrong expansion",
            Self::WrongDecision => "wrong decision",
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each kind occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MistakeCounts([usize; Mistake::ALL.len()]);

impl MistakeCounts {
    /// Counts one more.
    pub fn add(&mut self, kind: Mistake) {
        self.0[kind as usize] += 1;
    }

    /// The count of a kind.
    #[must_use]
    pub fn of(&self, kind: Mistake) -> usize {
        self.0[kind as usize]
    }

    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Kinds with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Mistake, usize)> {
        Mistake::ALL.into_iter().zip(self.0)
    }
}
