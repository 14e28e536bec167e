//! The opening book: exact scores of every position up to four plies.
//!
//! On disk it is text, a line a position: the columns played and the score for the side to move, in the convention of
//! the solver. Only positions of exactly four plies are there, one of each mirror pair; shallower ones follow by
//! minimax when the book is read. Text appended line by line makes building resumable: a stop loses the position in
//! work, and a torn last line is cut off before building resumes.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::board::Board;
use super::search::Search;
use super::table::Table;
use mavis_game::{Connect4, Game, Move, Moves};
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Plies a stored position has.
pub const BOOK_PLIES: u32 = 4;

/// Scores of opening positions.
#[derive(Clone, Debug, Default)]
pub struct Book {
    scores: HashMap<u64, i8>,
}

/// A book file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookError {
    /// A line is not `COLUMNS SCORE`.
    #[error("book line {number}: '{line}' is not 'COLUMNS SCORE' of a {BOOK_PLIES}-ply position")]
    Line {
        /// Which line, from 1.
        number: usize,
        /// Its text.
        line: String,
    },
    /// The file cannot be read or written.
    #[error("book file: {0}")]
    Io(#[from] io::Error),
}

/// How far the building of a book is.
#[derive(Clone, Debug)]
pub struct BookProgress {
    /// Positions in the file.
    pub n_done: usize,
    /// Positions the finished book has.
    pub n_total: usize,
    /// The line just written.
    pub line: String,
    /// Nodes searched for it.
    pub n_nodes: u64,
}

impl Book {
    /// The book that ships with the program.
    #[must_use]
    pub fn shipped() -> Self {
        // The file is part of the source and a test reads every line of it, so an error cannot reach a user;
        // without a book the solver is only slower.
        Self::parse(include_str!("../../data/connect4.book")).unwrap_or_default()
    }

    /// Reads a book's text.
    ///
    /// # Errors
    /// When a line is malformed.
    pub fn parse(text: &str) -> Result<Self, BookError> {
        let mut scores = HashMap::new();
        for (idx, line) in text.lines().enumerate() {
            let (position, score) =
                parse_line(line).ok_or_else(|| BookError::Line { number: idx + 1, line: line.to_owned() })?;
            scores.insert(board(position).canonical_code(), score);
        }
        let mut book = Self { scores };
        book.derive(Connect4::default());
        Ok(book)
    }

    /// How many positions the book knows, mirror images counted once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether the book knows nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The score for the side to move.
    #[must_use]
    pub fn score(&self, position: Connect4) -> Option<i32> {
        if position.ply() > BOOK_PLIES {
            return None;
        }
        self.scores.get(&board(position).canonical_code()).map(|&score| i32::from(score))
    }

    /// Fills in the positions before the last ply, as far as all their successors are known.
    fn derive(&mut self, position: Connect4) -> Option<i8> {
        let code = board(position).canonical_code();
        if let Some(&score) = self.scores.get(&code) {
            return Some(score);
        }
        if position.ply() >= BOOK_PLIES {
            return None;
        }
        let successors = successors(position).into_iter().map(|next| self.derive(next)).collect::<Vec<_>>();
        let score =
            successors.into_iter().map(|score| score.map(|score| -score)).collect::<Option<Vec<_>>>()?;
        let best = score.into_iter().max()?;
        self.scores.insert(code, best);
        Some(best)
    }
}

/// Builds the book at `path`, or continues with one begun before, with a memory of about `bytes` bytes.
///
/// # Errors
/// When the file cannot be written or holds something else.
pub fn build_book(
    path: &Path,
    bytes: usize,
    mut progress: impl FnMut(&BookProgress),
) -> Result<Book, BookError> {
    let mut known = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    known.truncate(known.rfind('\n').map_or(0, |end| end + 1));
    let done = Book::parse(&known)?;
    let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
    file.set_len(known.len() as u64)?;
    drop(file);
    file = OpenOptions::new().append(true).open(path)?;

    let lines = opening_lines();
    let n_total = lines.len();
    let mut n_done = known.lines().count();
    let mut search = Search { table: Table::new(bytes), n_nodes: 0 };
    for (columns, position) in lines {
        if done.score(position).is_some() {
            continue;
        }
        search.n_nodes = 0;
        let line = format!("{columns} {}", search.score(board(position)));
        writeln!(file, "{line}")?;
        file.sync_data()?;
        n_done += 1;
        progress(&BookProgress { n_done, n_total, line, n_nodes: search.n_nodes });
    }
    Book::parse(&fs::read_to_string(path)?)
}

/// Every four-ply position up to mirror image, with the first sequence of columns that leads to it.
fn opening_lines() -> Vec<(String, Connect4)> {
    let mut seen = std::collections::HashSet::new();
    let mut lines = vec![(String::new(), Connect4::default())];
    for _ in 0..BOOK_PLIES {
        let mut longer = Vec::new();
        for (columns, position) in lines {
            let mut moves = Moves::new();
            position.legal_moves_into(&mut moves);
            for mv in moves {
                let mut next = position;
                next.play_unchecked(mv);
                if seen.insert(board(next).canonical_code()) {
                    longer.push((format!("{columns}{}", position.move_text(mv)), next));
                }
            }
        }
        lines = longer;
    }
    lines
}

fn successors(position: Connect4) -> Vec<Connect4> {
    let mut moves = Moves::new();
    position.legal_moves_into(&mut moves);
    moves
        .into_iter()
        .map(|mv| {
            let mut next = position;
            next.play_unchecked(mv);
            next
        })
        .collect()
}

fn parse_line(line: &str) -> Option<(Connect4, i8)> {
    let (columns, score) = line.split_once(' ')?;
    let mut position = Connect4::default();
    for column in columns.bytes() {
        position.play(Move(u16::from(column.checked_sub(b'1')?))).ok()?;
    }
    (position.ply() == BOOK_PLIES).then_some(())?;
    let score = score.parse().ok().filter(|score| (-21..=21).contains(score))?;
    Some((position, score))
}

fn board(position: Connect4) -> Board {
    Board { own: position.own(), all: position.occupied() }
}
