//! The rows of the shard in work, kept in small files until the shard is complete.
//!
//! A piece is a table of its own under a hidden name: rows in order, and in its metadata how many items they came from and which
//! were set aside. It is brought to the disk and renamed like every table, so a piece is whole or not there. Pieces hold the first items
//! of a shard without a gap and never all of them: the last ones complete the shard itself.

use super::pieces::Pieces;
use super::{JobError, SetAside};
use crate::table::{TableReader, TableWriter, metadata_value};
use crate::wire::Row;
use std::path::Path;

/// Items after which a piece is brought to the disk: what a killed program loses at most, beside those in work.
const PIECE: u64 = 256;

/// The keys of a piece's metadata.
const ITEMS: &str = "mavis.items";
const ASIDE: &str = "mavis.aside";

/// Keeps the rows of one shard after the other.
pub(crate) struct Journal<R: Row> {
    pieces: Pieces,
    piece: Option<Piece<R>>,
}

/// The piece being filled.
struct Piece<R: Row> {
    table: TableWriter<R>,
    n_items: u64,
    aside: Vec<SetAside>,
}

/// What a stopped run left of a shard, beside its rows.
#[derive(Default)]
pub(crate) struct Kept {
    /// Items, those set aside included.
    pub(crate) n_items: u64,
    pub(crate) aside: Vec<SetAside>,
}

impl<R: Row> Journal<R> {
    /// The journal of a job's folder. The rows kept of `shard`, the first that is to do, go to `take` in their order; pieces of
    /// other shards go away.
    pub(crate) fn open(
        folder: &Path,
        shard: u64,
        mut take: impl FnMut(R) -> Result<(), JobError>,
    ) -> Result<(Self, Kept), JobError> {
        let mut pieces = Pieces::open(folder, shard)?;
        let mut kept = Kept::default();
        loop {
            let path = pieces.next();
            if !path.is_file() {
                return Ok((Self { pieces, piece: None }, kept));
            }
            for row in TableReader::<R>::open(&[&path])? {
                take(row?)?;
            }
            let json = |source| JobError::Manifest { path: path.clone(), source };
            let value = |key: &str| Ok::<_, JobError>(metadata_value(&path, key)?.unwrap_or_default());
            let n_items = serde_json::from_str::<u64>(&value(ITEMS)?).map_err(json)?;
            let sum = kept.n_items.checked_add(n_items);
            kept.n_items = sum.ok_or_else(|| JobError::Counts { path: path.clone() })?;
            kept.aside.extend(serde_json::from_str::<Vec<SetAside>>(&value(ASIDE)?).map_err(json)?);
            pieces.count();
        }
    }

    /// Takes an item of a shard. When it is another shard than before, the one before is complete.
    pub(crate) fn take(&mut self, shard: u64, item: &Result<R, SetAside>) -> Result<(), JobError> {
        if shard != self.pieces.shard() {
            self.piece = None;
            self.pieces.begin(shard)?;
        }
        let piece = match &mut self.piece {
            Some(piece) => piece,
            None => {
                let table = TableWriter::create(&self.pieces.next())?;
                self.piece.insert(Piece { table, n_items: 0, aside: Vec::new() })
            }
        };
        piece.n_items = piece.n_items.saturating_add(1);
        match item {
            Ok(row) => piece.table.write(row)?,
            Err(aside) => piece.aside.push(aside.clone()),
        }
        if piece.n_items >= PIECE { self.keep() } else { Ok(()) }
    }

    /// Brings the items taken so far to the disk.
    pub(crate) fn keep(&mut self) -> Result<(), JobError> {
        let Some(Piece { mut table, n_items, aside }) = self.piece.take() else { return Ok(()) };
        let path = self.pieces.next();
        let aside = serde_json::to_string(&aside).map_err(|source| JobError::Manifest { path, source })?;
        table.describe(ITEMS, &n_items.to_string());
        table.describe(ASIDE, &aside);
        table.finish()?;
        self.pieces.count();
        Ok(())
    }

    /// Forgets the shard, which is complete.
    pub(crate) fn clear(&mut self) -> Result<(), JobError> {
        self.piece = None;
        self.pieces.begin(self.pieces.shard())
    }
}
