//! Why games end.

use serde::{Deserialize, Serialize};

/// The kind of end of a game, in leagues, tables and PGN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndKind {
    /// The rules of the game.
    Rules,
    /// A draw that could be claimed.
    Claim,
    /// A player exceeded its time.
    Time,
    /// An illegal move.
    Illegal,
    /// A player failed: a crash, a lost server.
    Failure,
    /// A player resigned.
    Resignation,
    /// The maximum length.
    Length,
    /// Adjudicated.
    Adjudication,
}

/// Every kind with its word in logs and tables, its word in PGN and its words for people.
const WORDS: [(EndKind, &str, &str, &str); 8] = [
    (EndKind::Rules, "rules", "normal", "rules"),
    (EndKind::Claim, "claim", "normal", "claimed draw"),
    (EndKind::Time, "time", "time forfeit", "time"),
    (EndKind::Illegal, "illegal", "rules infraction", "illegal move"),
    (EndKind::Failure, "failure", "abandoned", "failure"),
    (EndKind::Resignation, "resignation", "normal", "resignation"),
    (EndKind::Length, "length", "adjudication", "maximum length"),
    (EndKind::Adjudication, "adjudication", "adjudication", "adjudication"),
];

impl EndKind {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        let row = WORDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or(("", "", ""), |&(_, word, pgn, people)| (word, pgn, people))
    }

    /// The word in the log of a league and in the column `termination` of a table of games.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The word of the PGN standard (8.2.6, tag `Termination`).
    #[must_use]
    pub fn pgn_termination(self) -> &'static str {
        self.words().1
    }

    /// Whether the game ended by a fault of a player rather than by play.
    #[must_use]
    pub fn is_fault(self) -> bool {
        matches!(self, Self::Time | Self::Illegal | Self::Failure)
    }
}

impl std::fmt::Display for EndKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.words().2)
    }
}

/// The word of a table for a word of PGN; words that PGN uses for several kinds, or does not define, stay as they are.
#[must_use]
pub fn termination_of_pgn(text: &str) -> String {
    let mut kinds = WORDS.iter().filter(|(_, _, pgn, _)| pgn.eq_ignore_ascii_case(text));
    match (kinds.next(), kinds.next()) {
        (Some((_, word, ..)), None) => (*word).to_owned(),
        _ => text.to_lowercase(),
    }
}

/// The word of PGN for a word of a table.
#[must_use]
pub fn termination_to_pgn(word: &str) -> String {
    let row = WORDS.iter().find(|(_, known, ..)| *known == word);
    row.map_or_else(|| word.to_owned(), |(_, _, pgn, _)| (*pgn).to_owned())
}
