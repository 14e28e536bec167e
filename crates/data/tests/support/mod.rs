//! What several tests need.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses a part, and may stop at the first surprise"
)]

use mavis_data::import::{Format, ImportCounts, Importer};
use mavis_data::wire::Row;
use mavis_data::{TableReader, TableWriter};
use std::path::{Path, PathBuf};

/// A file among the samples of the rules' tests.
pub(crate) fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data").join(name)
}

/// Every row of a table.
pub(crate) fn rows<R: Row>(path: &Path) -> Vec<R> {
    TableReader::<R>::open(&[path]).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Writes a table.
pub(crate) fn write<R: Row>(path: &Path, rows: &[R]) {
    let mut writer = TableWriter::create(path).unwrap();
    rows.iter().for_each(|row| writer.write(row).unwrap());
    assert_eq!(writer.finish().unwrap(), rows.len() as u64);
}

/// Imports positions and games.
pub(crate) fn import(source: &Path, format: Option<Format>, positions: &Path, games: &Path) -> ImportCounts {
    let mut importer = Importer {
        positions: Some(TableWriter::create(positions).unwrap()),
        games: Some(TableWriter::create(games).unwrap()),
        ..Importer::default()
    };
    importer.import(source, format).unwrap();
    importer.finish().unwrap()
}
