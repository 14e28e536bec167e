//! Columns in memory, on the way to a row group.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedColumnWriter;

/// The leaf columns of a row group being filled, in the order of the schema.
#[derive(Debug)]
pub struct Buffers {
    leaves: Vec<Leaf>,
}

/// One leaf with Parquet's levels: a value is present at the highest definition level; a row begins where the repetition level
/// is 0.
#[derive(Debug, Default)]
struct Leaf {
    values: Values,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

#[derive(Debug, Default)]
enum Values {
    #[default]
    None,
    /// All texts in one piece of memory, with the end of each.
    Text(Vec<u8>, Vec<usize>),
    Integers(Vec<i32>),
    Floats(Vec<f32>),
}

impl Buffers {
    pub(crate) fn new(n_leaves: usize) -> Self {
        Self { leaves: (0..n_leaves).map(|_| Leaf::default()).collect() }
    }

    /// A required text.
    pub fn text(&mut self, leaf: usize, text: &str) {
        self.leaves[leaf].values.push_text(text);
    }

    /// A required integer.
    pub fn integer(&mut self, leaf: usize, integer: i32) {
        self.leaves[leaf].values.push_integer(integer);
    }

    /// A text that may be absent.
    pub fn optional_text(&mut self, leaf: usize, text: Option<&str>) {
        let leaf = &mut self.leaves[leaf];
        leaf.definition.push(i16::from(text.is_some()));
        // An empty column still has a type.
        leaf.values.text_column();
        if let Some(text) = text {
            leaf.values.push_text(text);
        }
    }

    /// An integer that may be absent.
    pub fn optional_integer(&mut self, leaf: usize, integer: Option<i32>) {
        let leaf = &mut self.leaves[leaf];
        leaf.definition.push(i16::from(integer.is_some()));
        leaf.values.integer_column();
        if let Some(integer) = integer {
            leaf.values.push_integer(integer);
        }
    }

    /// A number that may be absent.
    pub fn optional_float(&mut self, leaf: usize, float: Option<f32>) {
        let leaf = &mut self.leaves[leaf];
        leaf.definition.push(i16::from(float.is_some()));
        leaf.values.float_column();
        if let Some(float) = float {
            leaf.values.push_float(float);
        }
    }

    /// A list of texts; `optional` says whether the schema lets elements be absent.
    pub fn list_of_text<'a>(
        &mut self,
        leaf: usize,
        texts: impl Iterator<Item = Option<&'a str>>,
        optional: bool,
    ) {
        let leaf = &mut self.leaves[leaf];
        leaf.values.text_column();
        leaf.push_list(texts, i16::from(optional), Values::push_text);
    }

    /// A list of numbers that may be absent.
    pub fn list_of_floats(&mut self, leaf: usize, floats: impl Iterator<Item = Option<f32>>) {
        let leaf = &mut self.leaves[leaf];
        leaf.values.float_column();
        leaf.push_list(floats, 1, Values::push_float);
    }

    /// A list of integers that may be absent.
    pub fn list_of_integers(&mut self, leaf: usize, integers: impl Iterator<Item = Option<i32>>) {
        let leaf = &mut self.leaves[leaf];
        leaf.values.integer_column();
        leaf.push_list(integers, 1, Values::push_integer);
    }

    /// Writes a leaf to its column and empties it.
    pub(crate) fn flush(&mut self, leaf: usize, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let leaf = self
            .leaves
            .get_mut(leaf)
            .map(std::mem::take)
            .ok_or_else(|| ParquetError::General("more columns than the row has".to_owned()))?;
        let definition = (!leaf.definition.is_empty()).then_some(&leaf.definition[..]);
        let repetition = (!leaf.repetition.is_empty()).then_some(&leaf.repetition[..]);
        match leaf.values {
            Values::Text(bytes, ends) => {
                let bytes = Bytes::from(bytes);
                let mut start = 0;
                let texts: Vec<ByteArray> = ends
                    .into_iter()
                    .map(|end| ByteArray::from(bytes.slice(std::mem::replace(&mut start, end)..end)))
                    .collect();
                column.typed::<ByteArrayType>().write_batch(&texts, definition, repetition)?;
            }
            Values::Integers(values) => {
                column.typed::<Int32Type>().write_batch(&values, definition, repetition)?;
            }
            Values::Floats(values) => {
                column.typed::<FloatType>().write_batch(&values, definition, repetition)?;
            }
            Values::None => {}
        }
        Ok(())
    }
}

impl Leaf {
    /// Appends a list: level 0 is an empty one, 1 an element, and where elements may be absent 2 one that is there.
    fn push_list<T>(
        &mut self,
        elements: impl Iterator<Item = Option<T>>,
        optional: i16,
        push: impl Fn(&mut Values, T),
    ) {
        let mut repetition = 0;
        for element in elements {
            self.repetition.push(repetition);
            repetition = 1;
            self.definition.push(if element.is_some() { 1 + optional } else { 1 });
            if let Some(element) = element {
                push(&mut self.values, element);
            }
        }
        if repetition == 0 {
            self.repetition.push(0);
            self.definition.push(0);
        }
    }
}

impl Values {
    fn text_column(&mut self) -> (&mut Vec<u8>, &mut Vec<usize>) {
        if !matches!(self, Self::Text(..)) {
            *self = Self::Text(Vec::new(), Vec::new());
        }
        match self {
            Self::Text(bytes, ends) => (bytes, ends),
            _ => unreachable!("just set"),
        }
    }

    fn integer_column(&mut self) -> &mut Vec<i32> {
        if !matches!(self, Self::Integers(_)) {
            *self = Self::Integers(Vec::new());
        }
        match self {
            Self::Integers(values) => values,
            _ => unreachable!("just set"),
        }
    }

    fn float_column(&mut self) -> &mut Vec<f32> {
        if !matches!(self, Self::Floats(_)) {
            *self = Self::Floats(Vec::new());
        }
        match self {
            Self::Floats(values) => values,
            _ => unreachable!("just set"),
        }
    }

    fn push_text(&mut self, text: &str) {
        let (bytes, ends) = self.text_column();
        bytes.extend_from_slice(text.as_bytes());
        ends.push(bytes.len());
    }

    fn push_integer(&mut self, integer: i32) {
        self.integer_column().push(integer);
    }

    fn push_float(&mut self, float: f32) {
        self.float_column().push(float);
    }
}
