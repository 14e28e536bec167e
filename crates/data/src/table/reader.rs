//! Rows out of Parquet files.
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

use super::{Cursors, TableError, cursor::Cursor, footer, pages::CheckedPages};
use crate::wire::{Row, VERSION};
use parquet::column::reader::get_column_reader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use std::cell::Cell;
use std::fs::{self, File};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Rows held in memory at once.
const CHUNK: usize = 2_048;

/// Reads the rows of files and folders of one table in order.
pub struct TableReader<R: Row> {
    files: std::vec::IntoIter<PathBuf>,
    open: Option<OpenFile>,
    row: PhantomData<fn() -> R>,
}

struct OpenFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    next_group: usize,
    cursors: Option<Cursors>,
    /// Rows in memory not yet given out.
    n_ready: usize,
    n_given: u64,
}

impl<R: Row> TableReader<R> {
    /// Opens a table: files, and folders whose `.parquet` files count in order of their names.
    ///
    /// # Errors
    /// When one cannot be opened, or is of another kind.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, TableError> {
        let files = table_files(paths)?;
        // A wrong kind should fail now and not after hours.
        for file in &files {
            check_kind::<R>(file, read_metadata(file)?.metadata())?;
        }
        Ok(Self { files: files.into_iter(), open: None, row: PhantomData })
    }

    fn next_row(&mut self) -> Result<Option<R>, TableError> {
        loop {
            if self.open.is_none() {
                let Some(path) = self.files.next() else { return Ok(None) };
                let reader = read_metadata(&path)?;
                self.open =
                    Some(OpenFile { path, reader, next_group: 0, cursors: None, n_ready: 0, n_given: 0 });
            }
            let Some(file) = &mut self.open else { return Ok(None) };
            if let Some(row) = file.next_row::<R>()? {
                return Ok(Some(row));
            }
            self.open = None;
        }
    }
}

impl<R: Row> Iterator for TableReader<R> {
    type Item = Result<R, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}

impl OpenFile {
    fn next_row<R: Row>(&mut self) -> Result<Option<R>, TableError> {
        loop {
            if self.n_ready > 0
                && let Some(cursors) = &mut self.cursors
            {
                self.n_ready = self.n_ready.saturating_sub(1);
                let row = self.n_given;
                self.n_given = row.saturating_add(1);
                return R::read(cursors).map(Some).map_err(|source| TableError::Cell {
                    path: self.path.clone(),
                    row,
                    source,
                });
            }
            let parquet = |source| TableError::Parquet { path: self.path.clone(), source };
            if let Some(cursors) = &mut self.cursors {
                self.n_ready = contained(|| cursors.refill(CHUNK)).map_err(parquet)?;
                if self.n_ready > 0 {
                    continue;
                }
            }
            if self.next_group == self.reader.num_row_groups() {
                // Whoever asked the footer for the number of rows relies on it.
                let claimed = self.reader.metadata().file_metadata().num_rows();
                if u64::try_from(claimed) == Ok(self.n_given) {
                    return Ok(None);
                }
                let reason = format!("{} rows, but its footer says {claimed}", self.n_given);
                return Err(parquet(ParquetError::General(reason)));
            }
            let group = contained(|| open_group::<R>(&self.reader, self.next_group)).map_err(parquet)?;
            self.cursors = Some(group);
            self.next_group = self.next_group.saturating_add(1);
        }
    }
}

fn open_group<R: Row>(reader: &SerializedFileReader<File>, group: usize) -> Result<Cursors, ParquetError> {
    let group = reader.get_row_group(group)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let cursors = R::LEAVES.iter().map(|&(outer, inner)| {
        let place = schema.columns().iter().position(|column| {
            let parts = column.path().parts();
            parts.first().is_some_and(|part| part == outer)
                // The element of a plain list has other names elsewhere.
                && (parts.last().is_some_and(|part| part == inner) || inner == "element")
        });
        Ok(match place {
            Some(place) => Cursor::new(
                inner,
                get_column_reader(
                    schema.column(place),
                    Box::new(CheckedPages(group.get_column_page_reader(place)?)),
                ),
                &schema.column(place),
                schema.get_column_root(place),
            ),
            None => Cursor::absent(inner),
        })
    });
    Ok(Cursors::new(cursors.collect::<Result<_, ParquetError>>()?))
}

/// The files of a table in order.
///
/// # Errors
/// When a folder cannot be read or has none.
pub fn table_files<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, TableError> {
    let mut files = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if !path.is_dir() {
            files.push(path.to_owned());
            continue;
        }
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(TableError::io(path))? {
            let file = entry.map_err(TableError::io(path))?.path();
            let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !hidden && file.extension().is_some_and(|extension| extension == "parquet") {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            return Err(TableError::Empty { path: path.to_owned() });
        }
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

/// The number of rows of a table, from its files' footers.
///
/// # Errors
/// When a file cannot be opened.
pub fn n_rows<P: AsRef<Path>>(paths: &[P]) -> Result<u64, TableError> {
    let mut total = 0_u64;
    for file in table_files(paths)? {
        let claimed = read_metadata(&file)?.metadata().file_metadata().num_rows();
        let sum = u64::try_from(claimed).ok().and_then(|n_rows| total.checked_add(n_rows));
        total = sum.ok_or_else(|| {
            TableError::parquet(&file)(ParquetError::General(format!("a number of {claimed} rows")))
        })?;
    }
    Ok(total)
}

/// The name of the table a file belongs to, by its metadata or else by its columns.
///
/// # Errors
/// When the first file cannot be opened, or is of a later version.
pub fn table_kind<P: AsRef<Path>>(paths: &[P]) -> Result<String, TableError> {
    let files = table_files(paths)?;
    let path = files.first().ok_or_else(|| TableError::Empty { path: PathBuf::new() })?;
    kind_of(path, read_metadata(path)?.metadata())
}

/// A word of a file's key-value metadata.
pub(crate) fn metadata_value(path: &Path, key: &str) -> Result<Option<String>, TableError> {
    Ok(key_value(read_metadata(path)?.metadata(), key).map(str::to_owned))
}

fn key_value<'a>(metadata: &'a ParquetMetaData, key: &str) -> Option<&'a str> {
    let values = metadata.file_metadata().key_value_metadata()?;
    values.iter().find(|pair| pair.key == key)?.value.as_deref()
}

fn read_metadata(path: &Path) -> Result<SerializedFileReader<File>, TableError> {
    let file = File::open(path).map_err(TableError::io(path))?;
    contained(|| {
        footer::check(&file)?;
        SerializedFileReader::new(file)
    })
    .map_err(TableError::parquet(path))
}

/// The Parquet library panics on some damaged files (57.3: lengths and enums of its footer); for us that is an error like
/// any other. Nothing that it touched is used again.
fn contained<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let before = CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    CONTAINED.set(before);
    result.unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".to_owned())))
}

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes an error about a damaged file. The panic hook of a program may ask this, and print
/// nothing then.
#[must_use]
pub fn panics_are_errors() -> bool {
    CONTAINED.get()
}

fn check_kind<R: Row>(path: &Path, metadata: &ParquetMetaData) -> Result<(), TableError> {
    let got = kind_of(path, metadata)?;
    if got == R::TABLE {
        Ok(())
    } else {
        Err(TableError::Kind { path: path.to_owned(), expected: R::TABLE.to_owned(), got })
    }
}

fn kind_of(path: &Path, metadata: &ParquetMetaData) -> Result<String, TableError> {
    let value = |key: &str| key_value(metadata, key);
    if let Some(version) = value("mavis.version").and_then(|version| version.parse::<u32>().ok())
        && version > VERSION
    {
        return Err(TableError::Kind {
            path: path.to_owned(),
            expected: format!("version {VERSION} or earlier"),
            got: format!("version {version}"),
        });
    }
    if let Some(kind) = value("mavis.table") {
        return Ok(kind.to_owned());
    }
    // Another program wrote it; what it holds says what it is.
    let schema = metadata.file_metadata().schema_descr();
    let has = |name: &str| {
        schema.columns().iter().any(|column| column.path().parts().first().is_some_and(|part| part == name))
    };
    Ok(if has("position") && has("moves") {
        "annotations"
    } else if has("position") {
        "positions"
    } else if has("moves") && has("start") {
        "games"
    } else {
        "something else"
    }
    .to_owned())
}
