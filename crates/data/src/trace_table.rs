//! Traces of a table in memory, for training.
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

use crate::RecordError;
use crate::checked_rows::{Refused, read_checked};
use crate::table::{TableError, metadata_value, table_files};
use crate::traces::VOCABULARY;
use crate::wire::TraceRow;
use mavis_lang::{Token, read_trace, trace::TraceNode, vocabulary_hash};
use std::path::Path;

/// Rows checked by one batch of threads.
const BATCH: usize = 4_096;

/// A table of traces in memory, two bytes a token.
///
/// Loading reads every trace by its grammar; rows that do not follow it are left out and counted.
#[derive(Clone, Debug, Default)]
pub struct TraceTable {
    tokens: Vec<Token>,
    records: Vec<Record>,
    refused: Refused,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    end: u64,
    loss_start: u32,
}

/// A trace as training reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredTrace<'a> {
    /// Prompt and response.
    pub tokens: &'a [Token],
    /// Tokens of the prompt.
    pub loss_start: usize,
}

impl TraceTable {
    /// Loads files and folders of a table of traces; `keep` sees the text of each position, and a trace with one that it refuses is left
    /// out.
    ///
    /// # Errors
    /// When a file cannot be read, is no such table, or is written in another vocabulary.
    pub fn open<P: AsRef<Path>>(
        paths: &[P],
        keep: impl Fn(&str) -> bool + Sync + Send,
    ) -> Result<Self, TableError> {
        for path in table_files(paths)? {
            let found = metadata_value(&path, VOCABULARY)?.unwrap_or_else(|| "none".to_owned());
            if found != vocabulary_hash() {
                let expected = format!("traces in vocabulary {}", vocabulary_hash());
                return Err(TableError::Kind { path, expected, got: format!("vocabulary {found}") });
            }
        }
        let mut table = Self::default();
        let push = |row: &TraceRow, tokens: Option<Vec<Token>>| {
            let Some(tokens) = tokens else { return };
            table.tokens.extend_from_slice(&tokens);
            let (end, loss_start) = (table.tokens.len() as u64, row.loss_start as u32);
            table.records.push(Record { end, loss_start });
        };
        let decode = |(): &mut (), row: &TraceRow| decode(row, &keep);
        let refused = read_checked(paths, BATCH, decode, |_| true, push)?;
        table.tokens.shrink_to_fit();
        Ok(Self { refused, ..table })
    }

    /// Traces in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Tokens of all traces.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// A trace.
    #[must_use]
    pub fn get(&self, idx: usize) -> Option<StoredTrace<'_>> {
        let record = self.records.get(idx)?;
        let before = idx.checked_sub(1).and_then(|before| self.records.get(before));
        let start = before.map_or(0, |before| before.end as usize);
        let tokens = self.tokens.get(start..record.end as usize)?;
        Some(StoredTrace { tokens, loss_start: record.loss_start as usize })
    }

    /// How many rows were left out.
    #[must_use]
    pub fn n_refused(&self) -> usize {
        self.refused.n
    }

    /// The first row that was left out, and why.
    #[must_use]
    pub fn first_refused(&self) -> Option<&RecordError> {
        self.refused.first.as_ref()
    }
}

/// The tokens of a trace; `None` if a position in it is not to be kept.
fn decode(row: &TraceRow, keep: &impl Fn(&str) -> bool) -> Result<Option<Vec<Token>>, String> {
    let tokens: Result<Vec<Token>, _> = row.tokens.iter().map(|&token| Token::try_from(token)).collect();
    let tokens = tokens.map_err(|_| "a token is out of range".to_owned())?;
    let trace = read_trace(&tokens).map_err(|error| format!("{error} in the trace of {}", row.position))?;
    let prompt = mavis_lang::trace::trace_prompt(&trace.shape, &trace.root.position);
    if row.loss_start as usize != prompt.len() {
        return Err(format!("loss_start is {} and the prompt has {} tokens", row.loss_start, prompt.len()));
    }
    Ok(keeps_all(&trace.root, keep).then_some(tokens))
}

fn keeps_all(node: &TraceNode, keep: &impl Fn(&str) -> bool) -> bool {
    keep(&node.position.to_string()) && node.children.iter().all(|(_, child)| keeps_all(child, keep))
}
