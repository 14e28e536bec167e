//! Columns in memory, on the way from a row group.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::wire::{MoveText, OracleName};
use parquet::basic::Repetition;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::schema::types::{ColumnDescriptor, Type};
use std::sync::Arc;

/// A cell that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CellError {
    /// It is absent and must not be.
    #[error("no value in column '{column}'")]
    Missing {
        /// The column's name.
        column: &'static str,
    },
    /// The column has another type.
    #[error("column '{column}' is not {expected}")]
    Type {
        /// The column's name.
        column: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The text is no text, or too long.
    #[error("column '{column}': '{text}' is {reason}")]
    Text {
        /// The column's name.
        column: &'static str,
        /// The offending text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The leaf columns of a table being read, in the order a row asks for them.
pub struct Cursors {
    columns: Vec<Cursor>,
    /// The last oracle read, since a table usually has one.
    oracle: Arc<OracleName>,
}

impl Cursors {
    pub(crate) fn new(columns: Vec<Cursor>) -> Self {
        Self { columns, oracle: Arc::default() }
    }

    /// Reads up to `n_rows` rows into memory; all before must have been taken.
    pub(crate) fn refill(&mut self, n_rows: usize) -> ParquetResult<usize> {
        let mut n_read = None;
        for column in &mut self.columns {
            if let Some(rows) = column.refill(n_rows)?
                && *n_read.get_or_insert(rows) != rows
            {
                return Err(ParquetError::General("columns of different lengths".to_owned()));
            }
        }
        Ok(n_read.unwrap_or(0))
    }

    fn column(&mut self, column: usize) -> Result<&mut Cursor, CellError> {
        self.columns.get_mut(column).ok_or(CellError::Missing { column: "past the last" })
    }

    /// A cell that may be absent.
    ///
    /// # Errors
    /// When `decode` fails.
    pub fn optional<T>(
        &mut self,
        column: usize,
        decode: impl Fn(Cell<'_>) -> Result<T, CellError>,
    ) -> Result<Option<T>, CellError> {
        let cursor = self.column(column)?;
        cursor.next_level();
        cursor.take(&decode)
    }

    /// The cells of a list, each of which may be absent; none where the column is.
    ///
    /// # Errors
    /// When `decode` fails.
    pub fn list<T>(
        &mut self,
        column: usize,
        decode: impl Fn(Cell<'_>) -> Result<T, CellError>,
    ) -> Result<Vec<Option<T>>, CellError> {
        let cursor = self.column(column)?;
        let mut list = Vec::new();
        cursor.next_level();
        if cursor.definition_here() < cursor.element_definition {
            return Ok(list);
        }
        loop {
            list.push(cursor.take(&decode)?);
            if cursor.repetition.get(cursor.level).is_none_or(|level| *level == 0) {
                return Ok(list);
            }
            cursor.next_level();
        }
    }

    /// A required text.
    ///
    /// # Errors
    /// When it is absent or no text.
    pub fn text(&mut self, column: usize) -> Result<String, CellError> {
        let name = self.column(column)?.name;
        self.optional_text(column)?.ok_or(CellError::Missing { column: name })
    }

    /// A text that may be absent.
    ///
    /// # Errors
    /// When it is no text.
    pub fn optional_text(&mut self, column: usize) -> Result<Option<String>, CellError> {
        self.optional(column, |cell| cell.str().map(str::to_owned))
    }

    /// An integer that may be absent.
    ///
    /// # Errors
    /// When the column holds none.
    pub fn optional_integer(&mut self, column: usize) -> Result<Option<i32>, CellError> {
        self.optional(column, |cell| cell.integer())
    }

    /// A required integer.
    ///
    /// # Errors
    /// When it is absent or none.
    pub fn integer(&mut self, column: usize) -> Result<i32, CellError> {
        let name = self.column(column)?.name;
        self.optional_integer(column)?.ok_or(CellError::Missing { column: name })
    }

    /// A list of texts.
    ///
    /// # Errors
    /// When one is no text.
    pub fn list_of_text(&mut self, column: usize) -> Result<Vec<Option<String>>, CellError> {
        self.list(column, |cell| cell.str().map(str::to_owned))
    }

    /// Name, version and settings from three columns in a row; absent ones are empty.
    ///
    /// # Errors
    /// When one is no text.
    pub fn oracle(&mut self, column: usize) -> Result<Arc<OracleName>, CellError> {
        let last = Arc::clone(&self.oracle);
        let mut changed = false;
        let mut fields = [String::new(), String::new(), String::new()];
        for (offset, (field, known)) in
            fields.iter_mut().zip([&last.name, &last.version, &last.settings]).enumerate()
        {
            let text = self.optional(column + offset, |cell| {
                cell.str().map(|text| (text != known).then(|| text.to_owned()))
            })?;
            match text {
                Some(None) => field.clone_from(known),
                Some(Some(text)) => (*field, changed) = (text, true),
                None => changed |= !known.is_empty(),
            }
        }
        if changed {
            let [name, version, settings] = fields;
            self.oracle = Arc::new(OracleName { name, version, settings });
        }
        Ok(Arc::clone(&self.oracle))
    }
}

/// One value of a column.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    column: &'static str,
    values: &'a Values,
    idx: usize,
}

impl<'a> Cell<'a> {
    /// The value as text.
    ///
    /// # Errors
    /// When it is none.
    pub fn str(self) -> Result<&'a str, CellError> {
        match self.values {
            Values::Text(values) => {
                values.get(self.idx).and_then(|value| std::str::from_utf8(value.data()).ok())
            }
            _ => None,
        }
        .ok_or(CellError::Type { column: self.column, expected: "text" })
    }

    /// The value as the text of a move.
    ///
    /// # Errors
    /// When it is none, or longer than any move.
    pub fn short_text(self) -> Result<MoveText, CellError> {
        let text = self.str()?;
        MoveText::from(text).map_err(|_| CellError::Text {
            column: self.column,
            text: text.to_owned(),
            reason: "too long for a move",
        })
    }

    /// The value as an integer.
    ///
    /// # Errors
    /// When it is none, or beyond 32 bits.
    pub fn integer(self) -> Result<i32, CellError> {
        match self.values {
            Values::Integers(values) => values.get(self.idx).copied(),
            Values::Longs(values) => values.get(self.idx).and_then(|value| i32::try_from(*value).ok()),
            _ => None,
        }
        .ok_or(CellError::Type { column: self.column, expected: "a 32-bit integer" })
    }

    /// The value as a number.
    ///
    /// # Errors
    /// When it is none.
    pub fn float(self) -> Result<f32, CellError> {
        match self.values {
            Values::Floats(values) => values.get(self.idx).copied(),
            Values::Doubles(values) => values.get(self.idx).map(|value| *value as f32),
            _ => None,
        }
        .ok_or(CellError::Type { column: self.column, expected: "a number" })
    }
}

/// Values of a leaf without the absent ones. Other programs write wider types, and those are read too.
enum Values {
    Text(Vec<ByteArray>),
    Integers(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Absent,
}

/// One leaf column.
pub(crate) struct Cursor {
    name: &'static str,
    reader: Option<ColumnReader>,
    values: Values,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// The definition level of a value that is there.
    max_definition: i16,
    /// The definition level from which on a list has an element.
    element_definition: i16,
    /// Whether the column has levels at all.
    has_levels: bool,
    /// The next level and the next value.
    level: usize,
    value: usize,
}

impl Cursor {
    /// A column of a row group.
    pub(crate) fn new(
        name: &'static str,
        reader: ColumnReader,
        descriptor: &ColumnDescriptor,
        root: &Type,
    ) -> Self {
        let values = match &reader {
            ColumnReader::ByteArrayColumnReader(_) => Values::Text(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Integers(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Longs(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Floats(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Doubles(Vec::new()),
            _ => Values::Absent,
        };
        Self {
            reader: Some(reader),
            values,
            max_definition: descriptor.max_def_level(),
            element_definition: element_definition(root, descriptor.path().parts()),
            has_levels: descriptor.max_def_level() > 0,
            ..Self::absent(name)
        }
    }

    /// A column the table does not have.
    pub(crate) fn absent(name: &'static str) -> Self {
        Self {
            name,
            reader: None,
            values: Values::Absent,
            definition: Vec::new(),
            repetition: Vec::new(),
            max_definition: 1,
            element_definition: 1,
            has_levels: true,
            level: 0,
            value: 0,
        }
    }

    fn refill(&mut self, n_rows: usize) -> ParquetResult<Option<usize>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        (self.level, self.value) = (0, 0);
        self.definition.clear();
        self.repetition.clear();
        let levels = (&mut self.definition, &mut self.repetition);
        let n_read = match (reader, &mut self.values) {
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(values)) => {
                read(reader, n_rows, levels, values)
            }
            (ColumnReader::Int32ColumnReader(reader), Values::Integers(values)) => {
                read(reader, n_rows, levels, values)
            }
            (ColumnReader::Int64ColumnReader(reader), Values::Longs(values)) => {
                read(reader, n_rows, levels, values)
            }
            (ColumnReader::FloatColumnReader(reader), Values::Floats(values)) => {
                read(reader, n_rows, levels, values)
            }
            (ColumnReader::DoubleColumnReader(reader), Values::Doubles(values)) => {
                read(reader, n_rows, levels, values)
            }
            _ => return Err(ParquetError::General(format!("column '{}' has an odd type", self.name))),
        }?;
        Ok(Some(n_read))
    }

    /// Steps to the next cell.
    fn next_level(&mut self) {
        self.level += 1;
    }

    /// The definition level of the cell stepped to.
    fn definition_here(&self) -> i16 {
        if self.reader.is_none() {
            0
        } else if self.has_levels {
            self.level.checked_sub(1).and_then(|level| self.definition.get(level)).copied().unwrap_or(0)
        } else {
            self.max_definition
        }
    }

    fn take<T>(
        &mut self,
        decode: &impl Fn(Cell<'_>) -> Result<T, CellError>,
    ) -> Result<Option<T>, CellError> {
        if self.definition_here() < self.max_definition || self.reader.is_none() {
            return Ok(None);
        }
        let cell = Cell { column: self.name, values: &self.values, idx: self.value };
        let value = decode(cell)?;
        self.value += 1;
        Ok(Some(value))
    }
}

/// The definition level of a list's elements: optional and repeated steps of the path down to the repeated one. Writers differ
/// in how many there are.
fn element_definition(root: &Type, path: &[String]) -> i16 {
    let (mut level, mut element_level) = (0, 0);
    let mut node = Some(root);
    for depth in 0..path.len() {
        let Some(here) = node else { break };
        match here.get_basic_info().repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => {
                level += 1;
                element_level = level;
            }
        }
        node = path
            .get(depth + 1)
            .filter(|_| here.is_group())
            .and_then(|name| here.get_fields().iter().find(|field| field.name() == name))
            .map(|field| &**field);
    }
    element_level
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    (definition, repetition): (&mut Vec<i16>, &mut Vec<i16>),
    values: &mut Vec<T::T>,
) -> ParquetResult<usize> {
    values.clear();
    let (mut n_read, mut last) = (0, 1);
    // A page boundary may end a read early.
    while n_read < n_rows && last > 0 {
        (last, _, _) = reader.read_records(n_rows - n_read, Some(definition), Some(repetition), values)?;
        n_read += last;
    }
    Ok(n_read)
}
