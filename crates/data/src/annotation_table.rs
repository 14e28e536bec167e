//! Annotations of a table in memory, for training.
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

use crate::checked_rows::{Refused, read_checked};
use crate::identity::PositionReader;
use crate::table::TableError;
use crate::wire::AnnotationRow;
use crate::{AnnotatedPosition, Annotations, RecordError};
use mavis_game::{Game, Position, Rules};
use std::path::Path;

/// Win probabilities are kept as parts of this, which makes 0, 1/2 and 1 exact.
const SCALE: f32 = 65_534.0;
/// Rows decoded by one batch of threads.
const BATCH: usize = 16_384;

/// A table of annotations in memory: the position's text and two bytes per move.
///
/// Loading checks every row against the rules, so that reading one only has to parse the position and list its moves. Rows that
/// do not value every legal move cannot be learned from in this way; they are left out and counted.
#[derive(Clone, Debug, Default)]
pub struct AnnotationTable {
    rules: Vec<Rules>,
    texts: String,
    values: Vec<u16>,
    records: Vec<Record>,
    refused: Refused,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    text_end: u64,
    values_end: u64,
    /// Index of the best move among the legal ones; `u16::MAX` once the game is over.
    best: u16,
    rules: u8,
}

impl AnnotationTable {
    /// Loads files and folders of a table of annotations.
    ///
    /// # Errors
    /// When a file cannot be read or is no such table.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, TableError> {
        Self::open_where(paths, |_| true)
    }

    /// Loads the rows whose position text passes.
    ///
    /// # Errors
    /// When a file cannot be read or is no such table.
    pub fn open_where<P: AsRef<Path>>(
        paths: &[P],
        mut keep: impl FnMut(&str) -> bool,
    ) -> Result<Self, TableError> {
        let mut table = Self::default();
        let keep = |row: &AnnotationRow| keep(&row.place.position);
        let push = |row: &AnnotationRow, decoded: Decoded| table.push(&row.place.position, &decoded);
        let refused = read_checked(paths, BATCH, decode, keep, push)?;
        table.texts.shrink_to_fit();
        table.values.shrink_to_fit();
        table.records.shrink_to_fit();
        Ok(Self { refused, ..table })
    }

    /// How many rows were left out.
    #[must_use]
    pub fn n_refused(&self) -> usize {
        self.refused.n
    }

    /// The first row that was left out, and why.
    #[must_use]
    pub fn first_refused(&self) -> Option<&RecordError> {
        self.refused.first.as_ref()
    }

    fn push(&mut self, text: &str, decoded: &Decoded) {
        let rules = self.rules.iter().position(|rules| *rules == decoded.rules).unwrap_or_else(|| {
            self.rules.push(decoded.rules);
            self.rules.len().saturating_sub(1)
        });
        self.texts.push_str(text);
        self.values.extend_from_slice(&decoded.values);
        self.records.push(Record {
            text_end: self.texts.len() as u64,
            values_end: self.values.len() as u64,
            best: decoded.best,
            // Names of games with their parameters are far fewer than 256 (two for each of 17 Hex sizes).
            rules: rules as u8,
        });
    }
}

impl Annotations for AnnotationTable {
    fn len(&self) -> usize {
        self.records.len()
    }

    fn get(&self, idx: usize) -> Result<AnnotatedPosition, RecordError> {
        let fail = |reason: String| RecordError { idx, reason };
        let record = self.records.get(idx).ok_or_else(|| fail("no such record".to_owned()))?;
        let (text_start, values_start) = match idx.checked_sub(1).and_then(|before| self.records.get(before))
        {
            Some(before) => (before.text_end as usize, before.values_end as usize),
            None => (0, 0),
        };
        let text = self.texts.get(text_start..record.text_end as usize);
        let values = self.values.get(values_start..record.values_end as usize);
        let rules = self.rules.get(usize::from(record.rules));
        let (Some(text), Some(values), Some(&rules)) = (text, values, rules) else {
            return Err(fail("no such record".to_owned()));
        };
        let position = Position::parse(rules, text).map_err(|error| fail(error.to_string()))?;
        let legal = position.legal_moves();
        if legal.len() != values.len() {
            return Err(fail(format!("{} legal moves, {} values", legal.len(), values.len())));
        }
        Ok(AnnotatedPosition {
            best: legal.get(usize::from(record.best)).copied(),
            moves: legal.iter().zip(values).map(|(mv, value)| (*mv, f32::from(*value) / SCALE)).collect(),
            position,
        })
    }

    fn n_moves(&self, idx: usize) -> Result<usize, RecordError> {
        let end = |idx: usize| self.records.get(idx).map(|record| record.values_end);
        let start = idx.checked_sub(1).map_or(Some(0), end);
        let n = end(idx).zip(start).map(|(end, start)| end.saturating_sub(start) as usize);
        n.ok_or_else(|| RecordError { idx, reason: "no such record".to_owned() })
    }
}

/// A row checked against the rules.
struct Decoded {
    rules: Rules,
    /// In the order of the legal moves.
    values: Vec<u16>,
    best: u16,
}

fn decode(reader: &mut PositionReader, row: &AnnotationRow) -> Result<Decoded, String> {
    let position = reader.position(&row.place.game, &row.place.position)?;
    let legal = position.legal_moves();
    if legal.len() != row.moves.len() {
        return Err(format!(
            "{} legal moves, {} annotated in {}",
            legal.len(),
            row.moves.len(),
            row.place.position
        ));
    }
    let mut values = Vec::with_capacity(legal.len());
    let mut best = u16::MAX;
    let mut annotated: Vec<(&str, Option<f32>)> =
        row.moves.iter().map(|mv| (mv.mv.as_str(), mv.win_probability)).collect();
    annotated.sort_unstable_by_key(|(text, _)| *text);
    for (idx, mv) in legal.iter().enumerate() {
        let text = position.move_text(*mv);
        let value = annotated
            .binary_search_by_key(&text.as_str(), |(text, _)| text)
            .ok()
            .and_then(|place| annotated.get(place)?.1)
            .filter(|value| (0.0..=1.0).contains(value))
            .ok_or_else(|| format!("no value for {text} in {}", row.place.position))?;
        values.push((value * SCALE).round() as u16);
        if row.best.is_some_and(|best| best.as_str() == text) {
            best = idx as u16;
        }
    }
    if best == u16::MAX && !legal.is_empty() {
        return Err(format!("no best move in {}", row.place.position));
    }
    Ok(Decoded { rules: position.rules(), values, best })
}
