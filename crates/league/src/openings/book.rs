//! Books of openings.

use super::Opening;
use mavis_data::pgn::PgnReader;
use mavis_game::{FromRules, Game, MoveError, PositionError, Rules};
use std::{any::Any, io, path::Path};

/// Openings that belong to one game; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Book {
    lines: Vec<Opening>,
}

/// How a book is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookFormat {
    /// One position text per line (FEN in chess), `#` begins a comment.
    Positions,
    /// One EPD per line: four fields of FEN, then operations, of which `hmvc` and `fmvn` count.
    Epd,
    /// Games; the moves are the opening.
    Pgn,
}

/// A book that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The file cannot be read.
    #[error("cannot read book {path}: {error}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Text that is no position.
    #[error(transparent)]
    Position(#[from] PositionError),
    /// Text that is no legal move.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// A stored game that the rules do not allow.
    #[error("{0}")]
    Replay(String),
    /// A fault with its place in the book.
    #[error("line or game {number} of the book: {reason}")]
    Line {
        /// Counted from 1.
        number: usize,
        /// What is wrong.
        reason: String,
    },
    /// No opening at all.
    #[error("the book holds no opening")]
    Empty,
    /// PGN for a game outside the six.
    #[error("a book of PGN games is for the six games that PGN names, not for {0}")]
    NoPgn(String),
}

impl Book {
    /// The 586 start positions of table 4 of paper 001.
    ///
    /// # Errors
    /// When the game is not chess.
    pub fn table4<G: FromRules>(rules: G::Rules) -> Result<Self, BookError> {
        let text = include_str!("../../data/tcec_book_table4.fen");
        Self::parse::<G>(rules, BookFormat::Positions, text, None)
    }

    /// Reads a book file; the endings `.pgn` and `.epd` give the format, anything else is one position per line.
    ///
    /// # Errors
    /// When the file cannot be read or a line is no opening of the game.
    pub fn read<G: FromRules>(rules: G::Rules, path: &Path, plies: Option<usize>) -> Result<Self, BookError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| BookError::File { path: path.display().to_string(), error })?;
        let extension = path.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
        let format = match extension.as_deref() {
            Some("pgn") => BookFormat::Pgn,
            Some("epd") => BookFormat::Epd,
            _ => BookFormat::Positions,
        };
        Self::parse::<G>(rules, format, &text, plies)
    }

    /// Reads a book from text; `plies` cuts PGN games.
    ///
    /// # Errors
    /// When a line is no opening of the game, or there is none.
    pub fn parse<G: FromRules>(
        rules: G::Rules,
        format: BookFormat,
        text: &str,
        plies: Option<usize>,
    ) -> Result<Self, BookError> {
        let lines = match format {
            BookFormat::Pgn => match (&rules as &dyn Any).downcast_ref::<Rules>() {
                Some(rules) => pgn_openings(*rules, text, plies.unwrap_or(usize::MAX))?,
                None => return Err(BookError::NoPgn(rules.to_string())),
            },
            BookFormat::Epd | BookFormat::Positions => text
                .lines()
                .zip(1..)
                .map(|(line, number)| (number, line.trim()))
                .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
                .map(|(number, line)| position_opening::<G>(&rules, format, number, line))
                .collect::<Result<_, _>>()?,
        };
        if lines.is_empty() { Err(BookError::Empty) } else { Ok(Self { lines }) }
    }

    /// Every opening in the order of the book.
    #[must_use]
    pub fn lines(&self) -> &[Opening] {
        &self.lines
    }

    /// How many openings there are; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a book is never empty")]
    pub fn len(&self) -> usize {
        self.lines.len()
    }
}

fn position_opening<G: FromRules>(
    rules: &G::Rules,
    format: BookFormat,
    number: usize,
    line: &str,
) -> Result<Opening, BookError> {
    let text = if format == BookFormat::Epd { epd_to_fen(line) } else { line.to_owned() };
    let fault = |reason: String| BookError::Line { number, reason };
    let position = G::parse(rules.clone(), &text).map_err(|error| fault(error.to_string()))?;
    if position.outcome().is_some() {
        return Err(fault("the game is over here".to_owned()));
    }
    Ok(Opening { start: Some(position.to_string()), moves: Vec::new() })
}

/// The four fields of an EPD with its counters, or 0 and 1.
fn epd_to_fen(line: &str) -> String {
    let mut words = line.split_whitespace();
    let fields: Vec<&str> = words.by_ref().take(4).collect();
    let rest: Vec<&str> = words.collect();
    let operation = |name: &str| {
        let mut words = rest.iter().skip_while(|word| **word != name);
        words.nth(1).map(|value| value.trim_end_matches(';'))
    };
    let number = |name: &str, default: &'static str| {
        operation(name).filter(|text| text.parse::<u32>().is_ok()).unwrap_or(default).to_owned()
    };
    format!("{} {} {}", fields.join(" "), number("hmvc", "0"), number("fmvn", "1"))
}

fn pgn_openings(rules: Rules, text: &str, plies: usize) -> Result<Vec<Opening>, BookError> {
    let mut openings = Vec::new();
    for (number, game) in (1..).zip(PgnReader::new(text).with_rules(Some(rules))) {
        let fault = |reason: String| BookError::Line { number, reason };
        let game = game.map_err(|error| fault(error.reason))?;
        if game.start.rules() != rules {
            return Err(fault(format!("a game of {}, expected {rules}", game.start.rules())));
        }
        let start = game.tag("FEN").map(|_| game.start.to_string());
        let mut position = game.start.clone();
        let mut moves = Vec::new();
        for made in game.moves.iter().take(plies) {
            moves.push(position.move_text(made.mv));
            position.play_unchecked(made.mv);
        }
        if position.outcome().is_none() {
            openings.push(Opening { start, moves });
        }
    }
    Ok(openings)
}
