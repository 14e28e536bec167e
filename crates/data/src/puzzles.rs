//! Puzzles in the CSV form of Lichess.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::import::Source;
use mavis_game::{Game, Move, Position, Rules};
use std::{io::Read, path::Path};

/// A puzzle in Lichess' form.
#[derive(Clone, PartialEq, Debug)]
pub struct Puzzle {
    /// Its id, or its line number where the file has none.
    pub id: String,
    /// The position before the opponent's set-up move.
    pub position: Position,
    /// The set-up move, then the solution with the opponent's replies.
    pub moves: Vec<Move>,
    /// Its difficulty, where it is known.
    pub rating: Option<f64>,
}

impl Puzzle {
    /// Where to move, and the listed move there, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<(Position, Move)> {
        let mut position = self.position.clone();
        let mut steps = Vec::with_capacity(self.moves.len() / 2);
        for (idx, &mv) in self.moves.iter().enumerate() {
            // Even moves are the opponent's.
            if idx % 2 == 1 {
                steps.push((position.clone(), mv));
            }
            position.play_unchecked(mv);
        }
        steps
    }
}

/// A puzzle file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PuzzleError {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A column is missing from the header.
    #[error("{path}: the header has no column '{column}' (Lichess' form has FEN, Moves and Rating)")]
    Column {
        /// The file.
        path: String,
        /// The missing column.
        column: &'static str,
    },
    /// A row that is no puzzle.
    #[error("{path}, line {line}: {reason}")]
    Row {
        /// The file.
        path: String,
        /// Counted from 1, the header included.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

/// Reads the first `limit` puzzles of a file, compressed or not; see [`parse_puzzles`].
///
/// # Errors
/// When the file cannot be read, a column is missing, or a row has an illegal position or move.
pub fn read_puzzles(path: &Path, limit: usize) -> Result<Vec<Puzzle>, PuzzleError> {
    let name = path.display().to_string();
    let source = Source::open(path).map_err(|source| PuzzleError::Read { path: name.clone(), source })?;
    parse_puzzles(&name, source, limit)
}

/// Reads the first `limit` puzzles of a CSV text. Columns are found by their names in the header, in any order and case:
/// `FEN` and `Moves` are needed, `PuzzleId` and `Rating` used where they are. `name` appears in errors.
///
/// # Errors
/// When the text cannot be read, a column is missing, or a row has an illegal position or move.
pub fn parse_puzzles(name: &str, text: impl Read, limit: usize) -> Result<Vec<Puzzle>, PuzzleError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text);
    let fault = |error: csv::Error| {
        let (line, reason) = (error.position().map_or(1, csv::Position::line), error.to_string());
        match error.into_kind() {
            csv::ErrorKind::Io(source) => PuzzleError::Read { path: name.to_owned(), source },
            _ => PuzzleError::Row { path: name.to_owned(), line, reason },
        }
    };
    let header = reader.headers().map_err(fault)?.clone();
    let column = |wanted: &str| header.iter().position(|known| known.eq_ignore_ascii_case(wanted));
    let needed = |wanted: &'static str| {
        column(wanted).ok_or_else(|| PuzzleError::Column { path: name.to_owned(), column: wanted })
    };
    let (fen, moves) = (needed("FEN")?, needed("Moves")?);
    let (id, rating) = (column("PuzzleId"), column("Rating"));
    let mut puzzles = Vec::new();
    for row in reader.records().take(limit) {
        let row = row.map_err(fault)?;
        let line = row.position().map_or(0, csv::Position::line);
        let cell = |at: usize| row.get(at).unwrap_or_default();
        let (position, moves) = replay(cell(fen), cell(moves)).map_err(|reason| PuzzleError::Row {
            path: name.to_owned(),
            line,
            reason,
        })?;
        let id = id.map_or_else(|| line.to_string(), |at| cell(at).to_owned());
        puzzles.push(Puzzle { id, position, moves, rating: rating.and_then(|at| cell(at).parse().ok()) });
    }
    Ok(puzzles)
}

fn replay(fen: &str, moves: &str) -> Result<(Position, Vec<Move>), String> {
    let start = Position::parse(Rules::Chess, fen).map_err(|error| error.to_string())?;
    let mut position = start.clone();
    let mut list = Vec::new();
    for text in moves.split_whitespace() {
        list.push(position.play_text(text).map_err(|error| error.to_string())?);
    }
    if list.len() < 2 {
        Err("a puzzle needs a set-up move and a solution".to_owned())
    } else {
        Ok((start, list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Puzzle>, String> {
        parse_puzzles("p.csv", text.as_bytes(), usize::MAX).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_move_sets_the_puzzle_up() {
        let text = "PuzzleId,FEN,Moves,Rating\nx,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a3 b1b8,512\n";
        let puzzles = parse(text).unwrap();
        assert_eq!((puzzles.len(), puzzles[0].id.as_str(), puzzles[0].rating), (1, "x", Some(512.0)));
        let steps = puzzles[0].steps();
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].0.to_string(), "6k1/5ppp/8/8/8/r7/5PPP/1R4K1 w - - 1 2");
        assert_eq!(steps[0].0.move_text(steps[0].1), "b1b8");
    }

    #[test]
    fn quoted_fields_and_other_orders_are_read() {
        let text = "rating,themes,moves,fen\n 700 ,\"mate, short\",a2a3 b1b8,\"6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1\"\n\n";
        let puzzles = parse(text).unwrap();
        assert_eq!((puzzles[0].rating, puzzles[0].id.as_str()), (Some(700.0), "2"));
    }

    #[test]
    fn faults_name_file_line_and_reason() {
        assert_eq!(
            parse("Moves\n").unwrap_err(),
            "p.csv: the header has no column 'FEN' (Lichess' form has FEN, Moves and Rating)"
        );
        let bad = parse("FEN,Moves\n8/8/8/8/8/8/8/8 w - - 0 1,a1a2 a2a1\n").unwrap_err();
        assert!(bad.starts_with("p.csv, line 2: bad chess position"), "{bad}");
        let start = Position::start(Rules::Chess);
        let bad = parse(&format!("FEN,Moves\n{start},e2e5 e7e5\n")).unwrap_err();
        assert!(bad.contains("illegal move e2e5"), "{bad}");
        assert!(parse(&format!("FEN,Moves\n{start},e2e4\n")).unwrap_err().contains("a set-up move"));
    }
}
