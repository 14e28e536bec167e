//! The trait of inference: logits of tokens that follow a KV cache, the keys and values of a prefix.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use rayon::prelude::*;

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

    /// Where the time of the last pass went, for which it runs again; no cache may have changed since. `None` where the device does not say.
    ///
    /// # Errors
    /// A device failure.
    fn parts_of_last_pass(&mut self) -> Result<Option<PassParts>, NetError> {
        Ok(None)
    }
}

/// Where the time of a pass went, in seconds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct PassParts {
    /// Tokens and rows it was rounded up to.
    pub rounded: [usize; 2],
    /// On the processor: packing the batch, starting the pass, waiting for it, and reading what came back.
    pub host: [f64; 4],
    /// On the device: the batch on its way there, the recorded pass, and the logits on their way back.
    pub device: [f64; 3],
    /// Name, launches and seconds of each kind of operation, one operation started after the other, the slowest first.
    pub operations: Vec<(String, usize, f64)>,
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
    /// Which of the rows are read in part only, if any.
    pub brief: Option<Brief>,
}

/// Rows of which the likeliest column and the first few are all that is read. A GPU sends nothing else of them, since the way of whole rows to the
/// processor takes longer than the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Whether each row of [`Want::rows`] is one of them.
    pub is_brief: Vec<bool>,
    /// How many columns of them are read, from the first one on.
    pub n_columns: u32,
}

impl Brief {
    /// Where each row goes if the whole ones come first, and how many are whole.
    pub(crate) fn places(&self) -> (Vec<u32>, usize) {
        let n_whole = self.is_brief.iter().filter(|is_brief| !**is_brief).count();
        let mut next = [0, n_whole as u32];
        let place = |is_brief: &bool| {
            let next = &mut next[usize::from(*is_brief)];
            *next += 1;
            *next - 1
        };
        (self.is_brief.iter().map(place).collect(), n_whole)
    }
}

impl Want {
    /// All columns of some rows.
    pub fn rows(rows: impl Into<Vec<u32>>) -> Self {
        Self { rows: rows.into(), ..Self::default() }
    }

    /// The logits after the last token of each sequence.
    pub fn last(batch: &Batch) -> Self {
        Self::rows(batch.starts.iter().skip(1).map(|end| end.saturating_sub(1)).collect::<Vec<_>>())
    }

    /// The columns as a range of ids.
    ///
    /// # Errors
    /// When rows or columns are out of range, or `brief` is about other rows.
    pub fn validate(&self, n_tokens: usize, vocab: usize) -> Result<Range<usize>, NetError> {
        if let Some(&row) = self.rows.iter().find(|row| **row as usize >= n_tokens) {
            return Err(NetError::Row { row, n_tokens });
        }
        let columns = match &self.columns {
            None => 0..vocab,
            Some(range) if range.start <= range.end && range.end as usize <= vocab => {
                range.start as usize..range.end as usize
            }
            Some(range) => return Err(NetError::Target { id: range.end, vocab }),
        };
        if let Some(Brief { is_brief, n_columns }) = &self.brief {
            if is_brief.len() != self.rows.len() {
                let (expected, got) = (self.rows.len(), is_brief.len());
                return Err(NetError::Length { what: "rows that may be brief", expected, got });
            }
            if *n_columns as usize > columns.len() {
                return Err(NetError::Target { id: *n_columns, vocab: columns.len() });
            }
        }
        Ok(columns)
    }
}

/// Logits, `[n_rows, n_columns]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logits {
    /// Row-major values of the rows that came whole.
    pub values: Vec<f32>,
    /// Columns of a row: the vocabulary, or the range that was asked for.
    pub n_columns: usize,
    /// The other rows, where there are any.
    pub brief: Option<BriefLogits>,
}

/// Rows that came in brief, beside whole ones.
#[derive(Clone, Debug, PartialEq)]
pub struct BriefLogits {
    /// Where the row asked for in each place is: the whole ones come first.
    pub places: Vec<u32>,
    /// How many rows are whole.
    pub n_whole: usize,
    /// The likeliest column of each brief row, the first of equals.
    pub likeliest: Vec<u32>,
    /// The first columns of each brief row.
    pub values: Vec<f32>,
    /// How many columns that are.
    pub n_columns: usize,
}

impl Logits {
    /// Whole rows.
    pub fn whole(values: Vec<f32>, n_columns: usize) -> Self {
        Self { values, n_columns, brief: None }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.brief {
            Some(brief) => brief.places.len(),
            None => self.values.len().checked_div(self.n_columns).unwrap_or(0),
        }
    }

    /// Logits of the row asked for in that place; of a brief one as many as were asked for at least.
    pub fn row(&self, row_idx: usize) -> &[f32] {
        match self.place(row_idx) {
            Ok(row) => part(&self.values, row, self.n_columns),
            Err((brief, row)) => part(&brief.values, row, brief.n_columns),
        }
    }

    /// The likeliest column of the row asked for in that place, the first of equals.
    pub fn likeliest(&self, row_idx: usize) -> usize {
        match self.place(row_idx) {
            Ok(row) => likeliest(part(&self.values, row, self.n_columns)),
            Err((brief, row)) => brief.likeliest[row] as usize,
        }
    }

    /// The same with some of its rows in brief.
    pub(crate) fn in_brief(self, brief: &Brief) -> Self {
        let ((places, n_whole), n_columns) = (brief.places(), brief.n_columns as usize);
        let rows = |is_brief: bool| {
            let rows = brief.is_brief.iter().enumerate().filter(move |(_, brief)| **brief == is_brief);
            rows.map(|(row, _)| part(&self.values, row, self.n_columns))
        };
        let short: Vec<&[f32]> = rows(true).collect();
        // Of many rows this would take longer on one core than a layer does on all.
        let likeliest = short.par_iter().with_min_len(16).map(|row| likeliest(row) as u32).collect();
        let first = flat(short.iter().map(|row| &row[..n_columns]), short.len() * n_columns);
        let values = flat(rows(false), n_whole * self.n_columns);
        let brief = BriefLogits { places, n_whole, likeliest, values: first, n_columns };
        Self { values, n_columns: self.n_columns, brief: Some(brief) }
    }

    /// Where a row is: among the whole ones, or among the others.
    fn place(&self, row_idx: usize) -> Result<usize, (&BriefLogits, usize)> {
        let Some(brief) = &self.brief else { return Ok(row_idx) };
        let place = brief.places[row_idx] as usize;
        if place < brief.n_whole { Ok(place) } else { Err((brief, place - brief.n_whole)) }
    }
}

fn part(values: &[f32], row: usize, n_columns: usize) -> &[f32] {
    &values[row * n_columns..(row + 1) * n_columns]
}

/// Rows end to end, `len` numbers in all.
fn flat<'r>(rows: impl Iterator<Item = &'r [f32]>, len: usize) -> Vec<f32> {
    let mut flat = Vec::with_capacity(len);
    rows.for_each(|row| flat.extend_from_slice(row));
    flat
}

/// The likeliest column, the first of equals.
pub fn likeliest(logits: &[f32]) -> usize {
    let most = greatest(logits);
    logits.iter().position(|logit| *logit == most).unwrap_or(0)
}

/// The greatest of some logits, found many at a time; minus infinity where there are none.
pub fn greatest(logits: &[f32]) -> f32 {
    let Some(&first) = logits.first() else { return f32::NEG_INFINITY };
    let greater = |one: f32, other: f32| if other > one { other } else { one };
    let (chunks, rest) = logits.as_chunks::<16>();
    let mut lanes = [first; 16];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, logit)| *lane = greater(*lane, *logit));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(first, greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_rows_are_found_among_whole_ones() {
        let whole = vec![0.5, 0.5, 0.75, 1.0, 3.0, 3.0, 0.25, 0.0, 0.0, 4.0, 5.0, 6.0];
        let brief = Brief { is_brief: vec![true, false, true, false], n_columns: 1 };
        let logits = Logits::whole(whole, 3).in_brief(&brief);
        assert_eq!(logits.n_rows(), 4);
        let rows: Vec<&[f32]> = (0..4).map(|row| logits.row(row)).collect();
        assert_eq!(rows, [&[0.5][..], &[1.0, 3.0, 3.0], &[0.25], &[4.0, 5.0, 6.0]]);
        assert_eq!((0..4).map(|row| logits.likeliest(row)).collect::<Vec<_>>(), [2, 1, 0, 2]);
    }

    #[test]
    fn the_likeliest_column_is_the_first_of_the_greatest() {
        let mut logits: Vec<f32> = (0..100).map(|i| -(i as f32)).collect();
        assert_eq!(likeliest(&logits), 0);
        for at in [97, 50, 33, 16] {
            logits[at] = 1.0;
            assert_eq!(likeliest(&logits), at, "also of equals after it");
            logits[at + 1] = f32::NAN;
            assert_eq!(likeliest(&logits), at);
        }
        for len in 0..40 {
            let mut few = vec![-0.0; len];
            assert_eq!(likeliest(&few), 0);
            if let Some(last) = few.last_mut() {
                *last = 0.5;
                assert_eq!(likeliest(&few), len - 1);
            }
            assert_eq!(likeliest(&vec![f32::NEG_INFINITY; len]), 0);
        }
        assert_eq!(likeliest(&[f32::NAN, 1.0, 2.0]), 0);
    }

    #[test]
    fn rows_in_brief_may_have_no_columns() {
        let brief = Brief { is_brief: vec![true, false], n_columns: 0 };
        let logits = Logits::whole(vec![0.5, 2.0, 1.0, 3.0, 0.0, 0.0], 3).in_brief(&brief);
        assert_eq!((logits.row(0), logits.row(1)), (&[][..], &[3.0, 0.0, 0.0][..]));
        assert_eq!([logits.likeliest(0), logits.likeliest(1)], [1, 0]);
    }

    #[test]
    fn rows_in_brief_are_those_asked_for() {
        let of = |is_brief: Vec<bool>, n_columns| Want {
            rows: vec![0, 1],
            columns: Some(4..8),
            brief: Some(Brief { is_brief, n_columns }),
        };
        assert_eq!(of(vec![true, false], 4).validate(2, 16).ok(), Some(4..8));
        assert!(of(vec![true], 4).validate(2, 16).is_err());
        assert!(of(vec![true, false], 5).validate(2, 16).is_err());
    }

    #[test]
    fn precisions_come_back_and_others_are_refused() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        let error = "int4".parse::<Precision>().unwrap_err();
        assert_eq!(error.to_string(), "unknown precision 'int4' (known: exact bf16 int8)");
    }
}
