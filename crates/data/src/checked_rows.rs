//! Rows of a table that are checked on all threads while it is loaded.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::RecordError;
use crate::table::{TableError, TableReader};
use crate::wire::Row;
use rayon::prelude::*;
use std::path::Path;

/// Rows that were left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused {
    /// How many.
    pub(crate) n: usize,
    /// The first of them, and why.
    pub(crate) first: Option<RecordError>,
}

/// Reads every row, decodes `batch` rows at a time on all threads, and passes those that `keep` wants to `push`, in order.
/// Each thread has a scratch value of its own. Rows that cannot be decoded are left out and counted.
pub(crate) fn read_checked<R: Row + Sync, S: Default, D: Send>(
    paths: &[impl AsRef<Path>],
    batch: usize,
    decode: impl Fn(&mut S, &R) -> Result<D, String> + Sync + Send,
    mut keep: impl FnMut(&R) -> bool,
    mut push: impl FnMut(&R, D),
) -> Result<Refused, TableError> {
    let mut reader = TableReader::<R>::open(paths)?;
    let (mut refused, mut n_rows) = (Refused::default(), 0);
    loop {
        let rows = reader.by_ref().take(batch).collect::<Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            return Ok(refused);
        }
        let decoded: Vec<_> = rows.par_iter().map_init(S::default, &decode).collect();
        for (row, decoded) in rows.iter().zip(decoded) {
            match decoded {
                _ if !keep(row) => {}
                Ok(decoded) => push(row, decoded),
                Err(reason) => {
                    refused.n += 1;
                    refused.first.get_or_insert(RecordError { idx: n_rows, reason });
                }
            }
            n_rows += 1;
        }
    }
}
