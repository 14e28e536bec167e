//! The trait of inference: logits of tokens that follow a KV cache, the keys and values of a prefix.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::batch::Batch;
use crate::config::TransformerConfig;
use crate::error::NetError;

/// A transformer with fixed parameters that answers with logits.
///
/// A KV cache holds the keys and values of the tokens it was extended by. [`extend`](Decoder::extend) runs new tokens of many
/// caches in one pass: sequence `s` of the batch extends `caches[s]`, and its mask counts from the start of the cache, cached keys
/// first (token `i` of the sequence has index `len + i`). Branches that should see a prompt but leave no trace are an extension followed by a
/// [`truncate`](Decoder::truncate).
pub trait Decoder: Send {
    /// The shape.
    fn config(&self) -> &TransformerConfig;

    /// How much fits into one pass.
    fn room(&self) -> Room {
        Room { tokens: usize::MAX, rows: usize::MAX }
    }

    /// Opens an empty KV cache.
    ///
    /// # Errors
    /// When the device has no memory left.
    fn open(&mut self) -> Result<KvCacheId, NetError>;

    /// Opens a cache that begins with the first `len` tokens of another.
    ///
    /// # Errors
    /// When there is no such cache, it is shorter, or the device has no memory left.
    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError>;

    /// Closes a cache and frees its memory; closing one that is not open does nothing.
    fn close(&mut self, cache: KvCacheId);

    /// Number of cached tokens.
    ///
    /// # Errors
    /// When there is no such cache.
    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError>;

    /// Forgets all tokens from `len` on.
    ///
    /// # Errors
    /// When there is no such cache or it is shorter.
    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError>;

    /// Runs new tokens and keeps their keys and values; caches must be distinct. On an error no cache is changed.
    ///
    /// # Errors
    /// Unknown or repeated caches, a batch or rows that do not validate, a device failure.
    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError>;

    /// One pass without caches.
    ///
    /// # Errors
    /// A batch or rows that do not validate, a device failure.
    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError>;
}

/// Room of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Most tokens.
    pub tokens: usize,
    /// Most rows of logits.
    pub rows: usize,
}

/// In which numbers a decoder on the processor stores and multiplies matrices; on a GPU both are bf16. Sums are f32 everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// As given; what is exact in fewer bits may be kept in fewer.
    Exact,
    /// Matrices in bf16, as those of small checkpoints are. Where the processor multiplies such numbers (AVX-512 with bf16), activations are
    /// rounded to them too; elsewhere products are exact.
    #[default]
    Bf16,
    /// Matrices in whole numbers of 8 bits with a factor for each output row, and where the processor multiplies such numbers (AVX-512 with VNNI)
    /// activations too, with a factor for each row: fastest, and slightly off. The head is as in bf16.
    Int8,
}

/// A text that names no precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown precision '{0}' (known: exact bf16 int8)")]
pub struct UnknownPrecision(String);

impl Precision {
    /// Every one, the most exact first.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Bf16, Self::Int8];
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        })
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(text: &str) -> Result<Self, UnknownPrecision> {
        let named = Self::ALL.into_iter().find(|precision| precision.to_string() == text);
        named.ok_or_else(|| UnknownPrecision(text.to_owned()))
    }
}

/// Name of an open KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KvCacheId(pub u64);

/// Which logits are wanted; the head is computed for these only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// Token indices in the batch.
    pub rows: Vec<u32>,
    /// Range of the vocabulary, such as the value tokens; `None` means all of it.
    pub columns: Option<Range<u32>>,
}

impl Want {
    /// All columns of some rows.
    pub fn rows(rows: impl Into<Vec<u32>>) -> Self {
        Self { rows: rows.into(), columns: None }
    }

    /// The logits after the last token of each sequence.
    pub fn last(batch: &Batch) -> Self {
        Self::rows(batch.starts.iter().skip(1).map(|end| end.saturating_sub(1)).collect::<Vec<_>>())
    }

    /// The columns as a range of ids.
    ///
    /// # Errors
    /// When rows or columns are out of range.
    pub fn validate(&self, n_tokens: usize, vocab: usize) -> Result<Range<usize>, NetError> {
        if let Some(&row) = self.rows.iter().find(|row| **row as usize >= n_tokens) {
            return Err(NetError::Row { row, n_tokens });
        }
        match &self.columns {
            None => Ok(0..vocab),
            Some(range) if range.start <= range.end && range.end as usize <= vocab => {
                Ok(range.start as usize..range.end as usize)
            }
            Some(range) => Err(NetError::Target { id: range.end, vocab }),
        }
    }
}

/// Logits, `[n_rows, n_columns]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logits {
    /// Row-major values.
    pub values: Vec<f32>,
    /// Columns of a row: the vocabulary, or the range that was asked for.
    pub n_columns: usize,
}

impl Logits {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.values.len().checked_div(self.n_columns).unwrap_or(0)
    }

    /// Logits of the row asked for in that place.
    pub fn row(&self, row_idx: usize) -> &[f32] {
        &self.values[row_idx * self.n_columns..(row_idx + 1) * self.n_columns]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_come_back_and_others_are_refused() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        let error = "int4".parse::<Precision>().unwrap_err();
        assert_eq!(error.to_string(), "unknown precision 'int4' (known: exact bf16 int8)");
    }
}
