//! Rows into a Parquet file.

use super::{Buffers, TableError};
use crate::wire::{OracleName, Row, VERSION};
use mavis_stable::kill_safe::PartialFile;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs;
use std::io::BufWriter;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes one file of a table. Until [`TableWriter::finish`] it has another name, so a stop at any moment leaves
/// no half table behind under the right one.
pub struct TableWriter<R: Row> {
    path: PathBuf,
    /// Dropped before it is finished, it removes itself.
    file: SerializedFileWriter<BufWriter<PartialFile>>,
    buffers: Buffers,
    /// Rows in the buffers.
    n_buffered: usize,
    n_rows: u64,
    oracles: Vec<Arc<OracleName>>,
    metadata: Vec<(String, String)>,
    row: PhantomData<fn(R)>,
}

impl<R: Row> TableWriter<R> {
    /// Starts a file, with the folders above it.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(TableError::io(folder))?;
        }
        // A device is refused, since a table cannot be written in one go.
        let file = PartialFile::create(path).map_err(TableError::io(path))?;
        let schema = parse_message_type(R::SCHEMA).map_err(TableError::parquet(path))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("mavis {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties))
            .map_err(TableError::parquet(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            buffers: Buffers::new(R::LEAVES.len()),
            n_buffered: 0,
            n_rows: 0,
            oracles: Vec::new(),
            metadata: Vec::new(),
            row: PhantomData,
        })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// When a full row group cannot be written.
    pub fn write(&mut self, row: &R) -> Result<(), TableError> {
        row.write(&mut self.buffers);
        if let Some(oracle) = row.oracle()
            // The pointer settles nearly every row.
            && !self.oracles.iter().any(|known| Arc::ptr_eq(known, oracle) || known == oracle)
        {
            self.oracles.push(Arc::clone(oracle));
        }
        self.n_buffered += 1;
        self.n_rows += 1;
        if self.n_buffered == R::ROWS_PER_GROUP { self.flush() } else { Ok(()) }
    }

    /// A word for the file's key-value metadata.
    pub fn describe(&mut self, key: &str, value: &str) {
        self.metadata.push((key.to_owned(), value.to_owned()));
    }

    /// Rows written so far.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Completes the file: all its bytes reach the disk before it takes its name.
    ///
    /// # Errors
    /// When it cannot be written or renamed.
    pub fn finish(mut self) -> Result<u64, TableError> {
        if self.n_buffered > 0 {
            self.flush()?;
        }
        for (key, value) in self.key_values() {
            self.file.append_key_value_metadata(KeyValue::new(key, value));
        }
        let parquet = TableError::parquet(&self.path);
        let buffer = self.file.into_inner().map_err(parquet)?;
        let io = |error: std::io::Error| TableError::Io { path: self.path.clone(), source: error };
        let file = buffer.into_inner().map_err(|error| io(error.into_error()))?;
        file.finish().map_err(io)?;
        Ok(self.n_rows)
    }

    fn flush(&mut self) -> Result<(), TableError> {
        let parquet = TableError::parquet(&self.path);
        let mut group = self.file.next_row_group().map_err(parquet)?;
        let mut leaf = 0;
        while let Some(mut column) = group.next_column().map_err(parquet)? {
            self.buffers.flush(leaf, &mut column).map_err(parquet)?;
            column.close().map_err(parquet)?;
            leaf += 1;
        }
        group.close().map_err(parquet)?;
        self.n_buffered = 0;
        Ok(())
    }

    fn key_values(&mut self) -> Vec<(String, String)> {
        let joined = |field: fn(&OracleName) -> &str| {
            self.oracles.iter().map(|oracle| field(oracle)).collect::<Vec<_>>().join("; ")
        };
        let mut values = vec![
            ("mavis.table".to_owned(), R::TABLE.to_owned()),
            ("mavis.version".to_owned(), VERSION.to_string()),
        ];
        if !self.oracles.is_empty() {
            values.extend([
                ("mavis.oracle".to_owned(), joined(|oracle| &oracle.name)),
                ("mavis.oracle_version".to_owned(), joined(|oracle| &oracle.version)),
                ("mavis.oracle_settings".to_owned(), joined(|oracle| &oracle.settings)),
            ]);
        }
        values.append(&mut self.metadata);
        values
    }
}
