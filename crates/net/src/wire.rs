//! What lies on disk: safetensors files with our keys in the metadata.
//!
//! A *full* checkpoint has `parameters.NAME`, `first_moment.NAME`, `second_moment.NAME` and `average.NAME` in f32 for each tensor, and `opaque` in
//! bytes. A *small* one has `NAME` in bf16, so that other tools open it as it is. Metadata: `format` (`pt`, which Hugging Face asks for) and `mavis.kind`,
//! `mavis.network`, `mavis.config` (JSON), `mavis.vocabulary`, `mavis.step`, and `note.KEY` for the caller's own.
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

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Map, Value, json};

use crate::layout::{Layout, TensorSpec};

/// Metadata key: `full` or `small`.
pub(crate) const KIND: &str = "mavis.kind";
/// Metadata key: kind of network, `transformer` or `convnet`.
pub(crate) const NETWORK: &str = "mavis.network";
/// Metadata key: the shape as JSON.
pub(crate) const CONFIG: &str = "mavis.config";
/// Metadata key: hash of the vocabulary.
pub(crate) const VOCABULARY: &str = "mavis.vocabulary";
/// Metadata key: updates done.
pub(crate) const STEP: &str = "mavis.step";
/// Prefix of the caller's own metadata.
pub(crate) const NOTE: &str = "note.";

/// Values of a tensor to write.
pub(crate) enum Values<'a> {
    F32(&'a [f32]),
    Bf16(&'a [f32]),
    U8(&'a [u8]),
}

impl Values<'_> {
    fn dtype(&self) -> &'static str {
        match self {
            Self::F32(_) => "F32",
            Self::Bf16(_) => "BF16",
            Self::U8(_) => "U8",
        }
    }

    fn n_bytes(&self) -> usize {
        match self {
            Self::F32(values) => size_of_val(*values),
            Self::Bf16(values) => size_of_val(*values) / 2,
            Self::U8(values) => values.len(),
        }
    }

    fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        // In pieces, so that a large tensor needs no second copy.
        const PIECE: usize = 1 << 16;
        match self {
            Self::F32(values) => values.chunks(PIECE).try_for_each(|piece| {
                writer.write_all(&piece.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
            }),
            Self::Bf16(values) => values.chunks(PIECE).try_for_each(|piece| {
                let bytes = piece.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes());
                writer.write_all(&bytes.collect::<Vec<u8>>())
            }),
            Self::U8(values) => writer.write_all(values),
        }
    }
}

/// A tensor to write.
pub(crate) struct Entry<'a> {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Values<'a>,
}

impl<'a> Entry<'a> {
    /// A tensor of a flat buffer under a prefixed name.
    pub(crate) fn f32(prefix: &str, tensor: &TensorSpec, buffer: &'a [f32]) -> Self {
        let values = Values::F32(buffer.get(tensor.range()).unwrap_or_default());
        Self { name: format!("{prefix}{}", tensor.name), shape: tensor.shape.clone(), values }
    }
}

/// Writes a safetensors file. Its bytes depend on the content only.
pub(crate) fn write(
    writer: &mut dyn Write,
    metadata: &BTreeMap<String, String>,
    entries: &[Entry<'_>],
) -> io::Result<()> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut offset = 0;
    for entry in entries {
        let end = entry.values.n_bytes().saturating_add(offset);
        let fields = json!({
            "dtype": entry.values.dtype(), "shape": entry.shape, "data_offsets": [offset, end]
        });
        header.insert(entry.name.clone(), fields);
        offset = end;
    }
    let mut header = serde_json::to_vec(&Value::Object(header))?;
    // The data begins at a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    writer.write_all(&(header.len() as u64).to_le_bytes())?;
    writer.write_all(&header)?;
    entries.iter().try_for_each(|entry| entry.values.write(writer))
}

/// Why a tensor cannot be taken from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// It is not there.
    #[error("tensor {name} is missing")]
    Missing {
        /// Its name.
        name: String,
    },
    /// It has another shape.
    #[error("tensor {name} has shape {got:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// The shape asked for.
        expected: Vec<usize>,
        /// The shape in the file.
        got: Vec<usize>,
    },
    /// Its numbers are of a type that is not read.
    #[error("tensor {name} has the element type {dtype}, expected F32, BF16 or F16")]
    Type {
        /// Its name.
        name: String,
        /// The type in the file.
        dtype: String,
    },
}

/// Fills a flat buffer with the tensors of a file whose names are those of the layout after `prefix`.
pub(crate) fn read_flat(
    file: &SafeTensors<'_>,
    layout: &Layout,
    prefix: &str,
) -> Result<Vec<f32>, TensorError> {
    let mut views = Vec::with_capacity(layout.tensors().len());
    for tensor in layout.tensors() {
        let name = format!("{prefix}{}", tensor.name);
        let Ok(view) = file.tensor(&name) else { return Err(TensorError::Missing { name }) };
        if view.shape() != tensor.shape {
            let (expected, got) = (tensor.shape.clone(), view.shape().to_vec());
            return Err(TensorError::Shape { name, expected, got });
        }
        views.push((tensor, view));
    }
    // Only now: the file has all these values, so a shape that is claimed and not there takes no memory.
    let mut buffer = vec![0.0; layout.len()];
    for (tensor, view) in views {
        read_values(&mut buffer, tensor.range(), &view).map_err(|dtype| TensorError::Type {
            name: format!("{prefix}{}", tensor.name),
            dtype: format!("{dtype:?}"),
        })?;
    }
    Ok(buffer)
}

/// Copies a tensor's values as f32; the error is a type that is not read.
fn read_values(buffer: &mut [f32], range: Range<usize>, view: &TensorView<'_>) -> Result<(), Dtype> {
    let out = buffer.get_mut(range).unwrap_or_default();
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => {
            out.iter_mut().zip(data.as_chunks().0).for_each(|(x, bytes)| *x = f32::from_le_bytes(*bytes))
        }
        Dtype::BF16 => out
            .iter_mut()
            .zip(data.as_chunks().0)
            .for_each(|(x, bytes)| *x = bf16::from_le_bytes(*bytes).to_f32()),
        Dtype::F16 => out
            .iter_mut()
            .zip(data.as_chunks().0)
            .for_each(|(x, bytes)| *x = f16::from_le_bytes(*bytes).to_f32()),
        other => return Err(other),
    }
    Ok(())
}
