//! Tables on disk: Parquet files, one after the other, row by row.
//!
//! Writing and reading are streams: a writer holds one row group, a reader some thousand rows, however long the table is. A file
//! appears under its name only when it is complete.

mod buffer;
mod cursor;
mod footer;
mod pages;
mod reader;
mod writer;

pub use buffer::Buffers;
pub use cursor::{Cell, CellError, Cursors};
pub(crate) use reader::metadata_value;
pub use reader::{TableReader, n_rows, panics_are_errors, table_files, table_kind};
pub use writer::TableWriter;

use parquet::errors::ParquetError;
use std::path::PathBuf;

/// A table that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system refused.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a Parquet file, or a broken one.
    #[error("{}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
    /// A table of another kind or a later version.
    #[error("{}: expected a table of {expected}, got {got}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The kind wanted.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A row that cannot be understood.
    #[error("{}: row {row}: {source}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The row's number in it.
        row: u64,
        /// What is wrong.
        source: CellError,
    },
    /// A row whose position is no position.
    #[error("row {row}: {reason}")]
    Row {
        /// The row's number in the whole table.
        row: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is no table in the folder.
    #[error("{}: no Parquet files there", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
}

impl TableError {
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    /// An error of Parquet, or of the file system behind it.
    pub(crate) fn parquet(path: &std::path::Path) -> impl Fn(ParquetError) -> Self + Copy + '_ {
        |source| {
            let path = path.to_owned();
            match source {
                ParquetError::External(inner) => match inner.downcast() {
                    Ok(source) => Self::Io { path, source: *source },
                    Err(inner) => Self::Parquet { path, source: ParquetError::External(inner) },
                },
                source => Self::Parquet { path, source },
            }
        }
    }
}
