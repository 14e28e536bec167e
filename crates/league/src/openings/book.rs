//! Books of openings.

use super::Opening;
use mavis_game::{CastlingMode, Chess, FromRules, Game, MoveError, Position, PositionError, Rules};
use pgn_reader::{RawTag, Reader, SanPlus, Visitor, shakmaty::san::San};
use std::{any::Any, io, ops::ControlFlow, path::Path};

/// Openings that belong to one game; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Book {
    lines: Vec<Opening>,
}

/// How a book is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookFormat {
    /// One position text a line (FEN in chess), `#` begins a comment.
    Positions,
    /// One EPD a line: four fields of FEN, then operations, of which `hmvc` and `fmvn` count.
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
    /// PGN for a game other than chess.
    #[error("a book of PGN games is for chess, not {0}")]
    NotChess(String),
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

    /// Reads a book file; `.pgn` and `.epd` tell their format, anything else is one position a line.
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
                None => return Err(BookError::NotChess(rules.to_string())),
            },
            BookFormat::Epd | BookFormat::Positions => text
                .lines()
                .enumerate()
                .map(|(idx, line)| (idx + 1, line.trim()))
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
        let at = rest.iter().position(|word| *word == name)?;
        rest.get(at + 1).map(|value| value.trim_end_matches(';'))
    };
    let number = |name: &str, default: &'static str| {
        operation(name).filter(|text| text.parse::<u32>().is_ok()).unwrap_or(default).to_owned()
    };
    format!("{} {} {}", fields.join(" "), number("hmvc", "0"), number("fmvn", "1"))
}

fn pgn_openings(rules: Rules, text: &str, plies: usize) -> Result<Vec<Opening>, BookError> {
    let mode = match rules {
        Rules::Chess => CastlingMode::Standard,
        Rules::Chess960 => CastlingMode::Chess960,
        other => return Err(BookError::NotChess(other.to_string())),
    };
    let mut openings = Vec::new();
    for (idx, game) in Reader::new(io::Cursor::new(text)).read_games(&mut Moves).enumerate() {
        let fault = |reason: String| BookError::Line { number: idx + 1, reason };
        let (fen, sans) = game.map_err(|error| fault(error.to_string()))?;
        let start = fen.as_deref().map(|fen| Chess::parse(mode, fen)).transpose()?;
        let mut position = start.clone().map_or_else(|| Position::start(rules), Position::Chess);
        let mut moves = Vec::new();
        for san in sans.into_iter().take(plies) {
            let mv = chess(&position)
                .and_then(|chess| san.to_move(chess.position()).ok())
                .map(Chess::move_code)
                .ok_or_else(|| fault(format!("illegal move {san}")))?;
            moves.push(position.move_text(mv));
            position.play_unchecked(mv);
        }
        if position.outcome().is_none() {
            openings.push(Opening { start: start.map(|start| start.to_string()), moves });
        }
    }
    Ok(openings)
}

fn chess(position: &Position) -> Option<&Chess> {
    match position {
        Position::Chess(chess) => Some(chess),
        _ => None,
    }
}

/// Collects the start and the main line of each game.
struct Moves;

impl Visitor for Moves {
    type Tags = Option<String>;
    type Movetext = (Option<String>, Vec<San>);
    type Output = (Option<String>, Vec<San>);

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Self::Tags> {
        ControlFlow::Continue(None)
    }

    fn tag(&mut self, tags: &mut Self::Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        if name == b"FEN" {
            *tags = Some(String::from_utf8_lossy(&value.decode()).into_owned());
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Self::Tags) -> ControlFlow<Self::Output, Self::Movetext> {
        ControlFlow::Continue((tags, Vec::new()))
    }

    fn begin_variation(&mut self, _: &mut Self::Movetext) -> ControlFlow<Self::Output, pgn_reader::Skip> {
        ControlFlow::Continue(pgn_reader::Skip(true))
    }

    fn san(&mut self, movetext: &mut Self::Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
        movetext.1.push(san.san);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, movetext: Self::Movetext) -> Self::Output {
        movetext
    }
}
