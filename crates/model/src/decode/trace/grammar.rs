//! Who writes what the grammar of traces demands.

use std::{fmt, str::FromStr};

/// Who writes a token where the grammar, with what the trace has said, takes one only: headers, paths, previous states, openings and
/// ends of lines. Tokens between which there is a choice are the network's in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grammar {
    /// The network: a token that is not the demanded one breaks the trace.
    #[default]
    Free,
    /// The grammar: the demanded token is written, whatever the network likes best.
    Demanded,
}

impl Grammar {
    /// The words of the options.
    pub const WORDS: &'static [&'static str] = &["free", "demanded"];
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "free",
            Self::Demanded => "demanded",
        })
    }
}

impl FromStr for Grammar {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "free" => Ok(Self::Free),
            "demanded" => Ok(Self::Demanded),
            _ => Err(()),
        }
    }
}
