//! Puzzles in the CSV form of Lichess.

use flate2::read::MultiGzDecoder;
use mavis_game::{Move, Position, Rules};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

/// A puzzle: positions with the one move asked for in each, in order.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// Where to move, and the right move there. The opponent's first move, which sets the puzzle up, is played already.
    pub steps: Vec<(Position, Move)>,
    /// Its rating, if the file has one.
    pub rating: Option<f32>,
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
    #[error("{path} has no column '{column}' in its first line")]
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
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Reads a file of puzzles, `.csv` or `.csv.gz`, with the columns `FEN`, `Moves` and, if given, `Rating` named in its first line.
///
/// # Errors
/// When the file cannot be read, a column is missing, or a row has an illegal position or move.
pub fn read_puzzles(path: &Path, limit: usize) -> Result<Vec<Puzzle>, PuzzleError> {
    let name = path.display().to_string();
    let unreadable = |source| PuzzleError::Read { path: name.clone(), source };
    let file = File::open(path).map_err(unreadable)?;
    let reader: Box<dyn Read> =
        if name.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut lines = BufReader::new(reader).lines();
    let header = lines.next().transpose().map_err(unreadable)?.unwrap_or_default();
    let column = |wanted: &'static str| header.split(',').position(|name| name.trim() == wanted);
    let missing = |column| PuzzleError::Column { path: name.clone(), column };
    let fen = column("FEN").ok_or_else(|| missing("FEN"))?;
    let moves = column("Moves").ok_or_else(|| missing("Moves"))?;
    let rating = column("Rating");
    let mut puzzles = Vec::new();
    for (idx, line) in lines.enumerate() {
        if puzzles.len() == limit {
            break;
        }
        let line = line.map_err(unreadable)?;
        let fields: Vec<&str> = line.split(',').collect();
        let field = |column: usize| fields.get(column).copied().unwrap_or_default();
        let steps = steps(field(fen), field(moves)).map_err(|reason| PuzzleError::Row {
            path: name.clone(),
            line: idx + 2,
            reason,
        })?;
        puzzles.push(Puzzle { steps, rating: rating.and_then(|column| field(column).parse().ok()) });
    }
    Ok(puzzles)
}

fn steps(fen: &str, moves: &str) -> Result<Vec<(Position, Move)>, String> {
    let mut position = Position::parse(Rules::Chess, fen).map_err(|error| error.to_string())?;
    let mut steps = Vec::new();
    for (idx, text) in moves.split_whitespace().enumerate() {
        let before = position.clone();
        let mv = position.play_text(text).map_err(|error| error.to_string())?;
        // Even moves are the opponent's.
        if idx % 2 == 1 {
            steps.push((before, mv));
        }
    }
    if steps.is_empty() { Err("a puzzle needs two moves at least".to_owned()) } else { Ok(steps) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_move_sets_the_puzzle_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        std::fs::write(
            &path,
            "PuzzleId,FEN,Moves,Rating\nx,6k1/5ppp/8/8/8/8/r4PPP/1R4K1 b - - 0 1,a2a3 b1b8,512\n",
        )
        .unwrap();
        let puzzles = read_puzzles(&path, 10).unwrap();
        assert_eq!(puzzles.len(), 1);
        assert_eq!(puzzles[0].steps.len(), 1);
        assert_eq!(puzzles[0].rating, Some(512.0));
        std::fs::write(&path, "FEN,Moves\n8/8/8/8/8/8/8/8 w - - 0 1,a1a2 a2a1\n").unwrap();
        assert!(matches!(read_puzzles(&path, 10), Err(PuzzleError::Row { line: 2, .. })));
        std::fs::write(&path, "Moves\n").unwrap();
        assert!(matches!(read_puzzles(&path, 10), Err(PuzzleError::Column { column: "FEN", .. })));
    }
}
