//! Unique positions, samples and splits of a table.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::duplicates::{Groups, RowSet};
use crate::identity::PositionReader;
use crate::table::{TableError, TableReader, TableWriter};
use crate::wire::HasPlace;
use mavis_stable::seed::hash_bytes;
use std::path::Path;

/// What was kept of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Rows read.
    pub n_rows: u64,
    /// Rows written.
    pub n_kept: u64,
}

/// Writes the first row of every position, in order.
///
/// # Errors
/// When a table cannot be read or written, or a row holds no position.
pub fn unique<R: HasPlace, P: AsRef<Path>>(tables: &[P], out: &Path) -> Result<Kept, TableError> {
    let repeats = repeats::<R, P>(tables, out)?;
    filter::<R, P>(tables, out, |row| !repeats.contains(row))
}

/// The rows whose position occurs in an earlier row.
pub(crate) fn repeats<R: HasPlace, P: AsRef<Path>>(
    tables: &[P],
    beside: &Path,
) -> Result<RowSet, TableError> {
    let mut groups = Groups::beside(beside);
    for_each_key::<R, P>(tables, |_, key, row| groups.push(key, row).map_err(TableError::io(beside)))?;
    let mut repeats = RowSet::default();
    groups
        .for_each(|rows| rows.iter().skip(1).for_each(|row| repeats.insert(*row)))
        .map_err(TableError::io(beside))?;
    Ok(repeats)
}

/// Writes `n` rows drawn at random without replacement, in their order; all of them if there are no more.
///
/// # Errors
/// When a table cannot be read or written.
pub fn sample<R: HasPlace, P: AsRef<Path>>(
    tables: &[P],
    out: &Path,
    n: u64,
    seed: u64,
) -> Result<Kept, TableError> {
    let n_rows = crate::table::n_rows(tables)?;
    let mut n_left = n_rows;
    let mut n_wanted = n.min(n_rows);
    // Each row is taken with the chance that the rows still wanted have among those left, which makes every set equally likely.
    filter::<R, P>(tables, out, |row| {
        let random = hash_bytes(seed, &row.to_le_bytes());
        let taken = ((u128::from(random) * u128::from(n_left)) >> 64) < u128::from(n_wanted);
        n_left = n_left.saturating_sub(1);
        n_wanted -= u64::from(taken && n_wanted > 0);
        taken
    })
}

/// The two sides of a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// Rows for training.
    pub n_train: u64,
    /// Rows for validation.
    pub n_valid: u64,
    /// Rows of validation games left out because their position is also in a training game.
    pub n_shared: u64,
}

/// Where the sides of a split go, and how it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct SplitTo<'a> {
    /// The table for training.
    pub train: &'a Path,
    /// The table for validation.
    pub valid: &'a Path,
    /// The share of games for validation, 0 to 1.
    pub share: f64,
    /// Draws the games.
    pub seed: u64,
}

/// Splits a table by game: all rows of a game go to one side, drawn by the hash of its id and the seed, so that a game stays on its side
/// when the table grows. A row without a game is a game of its own, known by its position. A position that occurs on both sides
/// stays in training only.
///
/// # Errors
/// When a table cannot be read or written, or a row holds no position.
pub fn split<R: HasPlace, P: AsRef<Path>>(tables: &[P], to: SplitTo<'_>) -> Result<Split, TableError> {
    let threshold = (to.share.clamp(0.0, 1.0) * 2_f64.powi(64)) as u128;
    let mut groups = Groups::beside(to.valid);
    let mut valid_rows = RowSet::default();
    for_each_key::<R, P>(tables, |row, key, idx| {
        let hash = match &row.place().game_id {
            Some(game_id) => hash_bytes(to.seed, game_id.as_bytes()),
            None => hash_bytes(to.seed, &key.to_le_bytes()),
        };
        let valid = u128::from(hash) < threshold;
        if valid {
            valid_rows.insert(idx);
        }
        groups.push(key, idx << 1 | u64::from(valid)).map_err(TableError::io(to.valid))
    })?;
    let mut shared = RowSet::default();
    groups
        .for_each(|words| {
            if words.iter().any(|word| word & 1 == 0) {
                words.iter().filter(|word| *word & 1 == 1).for_each(|word| shared.insert(word >> 1));
            }
        })
        .map_err(TableError::io(to.valid))?;
    let mut train = TableWriter::<R>::create(to.train)?;
    let mut valid = TableWriter::<R>::create(to.valid)?;
    for (idx, row) in (0..).zip(TableReader::<R>::open(tables)?) {
        let row = row?;
        if !valid_rows.contains(idx) {
            train.write(&row)?;
        } else if !shared.contains(idx) {
            valid.write(&row)?;
        }
    }
    Ok(Split { n_train: train.finish()?, n_valid: valid.finish()?, n_shared: shared.len() })
}

fn for_each_key<R: HasPlace, P: AsRef<Path>>(
    tables: &[P],
    mut visit: impl FnMut(&R, u64, u64) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let mut reader = PositionReader::default();
    for (idx, row) in (0..).zip(TableReader::<R>::open(tables)?) {
        let row = row?;
        let place = row.place();
        let key = reader
            .key(&place.game, &place.position)
            .map_err(|reason| TableError::Row { row: idx, reason })?;
        visit(&row, key, idx)?;
    }
    Ok(())
}

fn filter<R: HasPlace, P: AsRef<Path>>(
    tables: &[P],
    out: &Path,
    mut keep: impl FnMut(u64) -> bool,
) -> Result<Kept, TableError> {
    let mut writer = TableWriter::<R>::create(out)?;
    let mut n_rows = 0;
    for row in TableReader::<R>::open(tables)? {
        let row = row?;
        if keep(n_rows) {
            writer.write(&row)?;
        }
        n_rows += 1;
    }
    Ok(Kept { n_rows, n_kept: writer.finish()? })
}
