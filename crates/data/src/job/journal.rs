//! The rows of the shard in work, kept in small files until the shard is complete.
//!
//! A piece is a table of its own under a hidden name: rows in order, and in its metadata how many items they came from and which
//! were set aside. It is brought to the disk and renamed like every table, so a piece is whole or not there. Pieces hold the first items
//! of a shard without a gap and never all of them: the last ones complete the shard itself.

use super::{JobError, SetAside};
use crate::table::{TableReader, TableWriter, metadata_value};
use crate::wire::Row;
use std::fs;
use std::path::{Path, PathBuf};

/// Items after which a piece is brought to the disk: what a killed program loses at most, beside those in work.
const PIECE: u64 = 256;

/// The keys of a piece's metadata.
const ITEMS: &str = "mavis.items";
const ASIDE: &str = "mavis.aside";

/// Keeps the rows of one shard after the other.
pub(crate) struct Journal<R: Row> {
    folder: PathBuf,
    shard: u64,
    n_pieces: u64,
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
        let mut journal = Self { folder: folder.to_owned(), shard, n_pieces: 0, piece: None };
        let own = format!(".shard-{shard:06}-");
        for entry in fs::read_dir(folder).map_err(journal.io(folder))? {
            let path = entry.map_err(journal.io(folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".shard-") && name.ends_with(".piece") && !name.starts_with(&own) {
                fs::remove_file(&path).map_err(journal.io(&path))?;
            }
        }
        let mut kept = Kept::default();
        loop {
            let path = journal.path(journal.n_pieces);
            if !path.is_file() {
                return Ok((journal, kept));
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
            journal.n_pieces = journal.n_pieces.saturating_add(1);
        }
    }

    /// Takes an item of a shard. When it is another shard than before, the one before is complete.
    pub(crate) fn take(&mut self, shard: u64, item: &Result<R, SetAside>) -> Result<(), JobError> {
        if shard != self.shard {
            self.clear()?;
            self.shard = shard;
        }
        let piece = match &mut self.piece {
            Some(piece) => piece,
            None => {
                let table = TableWriter::create(&self.path(self.n_pieces))?;
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
        let path = self.path(self.n_pieces);
        let aside = serde_json::to_string(&aside).map_err(|source| JobError::Manifest { path, source })?;
        table.describe(ITEMS, &n_items.to_string());
        table.describe(ASIDE, &aside);
        table.finish()?;
        self.n_pieces = self.n_pieces.saturating_add(1);
        Ok(())
    }

    /// Forgets the shard, which is complete.
    pub(crate) fn clear(&mut self) -> Result<(), JobError> {
        self.piece = None;
        for number in 0..std::mem::take(&mut self.n_pieces) {
            let path = self.path(number);
            fs::remove_file(&path).map_err(self.io(&path))?;
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!(".shard-{:06}-{number:06}.piece", self.shard))
    }

    fn io(&self, path: &Path) -> impl FnOnce(std::io::Error) -> JobError + use<R> {
        let path = path.to_owned();
        |source| JobError::Io { path, source }
    }
}
