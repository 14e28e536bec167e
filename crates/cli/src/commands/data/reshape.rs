//! `mavis data unique`, `sample` and `split`: tables out of tables.

use super::{different, is_annotated, table_failure};
use crate::commands::{answer, answer_json, wrote};
use crate::input::BadInput;
use clap::Args;
use mavis_data::wire::{AnnotationRow, PositionRow};
use mavis_data::{Kept, SplitTo};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Keeps the first row of every position.
///
/// Two positions are the same if the rules of movement see no difference: move counters do not count.
/// Example: mavis data unique positions.parquet --out unique.parquet
#[derive(Args)]
pub(crate) struct Unique {
    /// A table of positions or annotations
    #[arg(required = true)]
    tables: Vec<PathBuf>,
    /// The table to write
    #[arg(long)]
    out: PathBuf,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Unique {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let kept = match is_annotated(&self.tables)? {
            true => mavis_data::unique::<AnnotationRow, _>(&self.tables, &self.out),
            false => mavis_data::unique::<PositionRow, _>(&self.tables, &self.out),
        };
        report(kept.map_err(table_failure)?, &self.out, self.json)
    }
}

/// Keeps rows drawn at random.
///
/// Example: mavis data sample positions.parquet -n 1000 --out sample.parquet
#[derive(Args)]
pub(crate) struct Sample {
    /// A table of positions or annotations
    #[arg(required = true)]
    tables: Vec<PathBuf>,
    /// Rows to keep
    #[arg(short, long)]
    n: u64,
    /// The table to write
    #[arg(long)]
    out: PathBuf,
    /// Seed; the same seed draws the same rows
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Sample {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let kept = match is_annotated(&self.tables)? {
            true => mavis_data::sample::<AnnotationRow, _>(&self.tables, &self.out, self.n, self.seed),
            false => mavis_data::sample::<PositionRow, _>(&self.tables, &self.out, self.n, self.seed),
        };
        report(kept.map_err(table_failure)?, &self.out, self.json)
    }
}

/// Splits a table by game, with no position on both sides.
///
/// A position that occurs in games of both sides stays in training only.
/// Example: mavis data split annotated --train train.parquet --valid valid.parquet
#[derive(Args)]
pub(crate) struct Split {
    /// A table of positions or annotations
    #[arg(required = true)]
    tables: Vec<PathBuf>,
    /// The table for training to write
    #[arg(long)]
    train: PathBuf,
    /// The table for validation to write
    #[arg(long)]
    valid: PathBuf,
    /// The share of games for validation
    #[arg(long, default_value_t = 0.05)]
    share: f64,
    /// Seed; the same seed draws the same games
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Split {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(BadInput::new(format!("--share must be between 0 and 1, not {}", self.share)).into());
        }
        different([("--train", &self.train), ("--valid", &self.valid)])?;
        let to = SplitTo { train: &self.train, valid: &self.valid, share: self.share, seed: self.seed };
        let split = match is_annotated(&self.tables)? {
            true => mavis_data::split::<AnnotationRow, _>(&self.tables, to),
            false => mavis_data::split::<PositionRow, _>(&self.tables, to),
        }
        .map_err(table_failure)?;
        wrote(&self.train);
        wrote(&self.valid);
        if self.json {
            return answer_json(&json!({
                "train": split.n_train, "valid": split.n_valid, "shared": split.n_shared,
            }));
        }
        answer(&format!(
            "{} rows for training, {} for validation, {} left out because training has the position too\n",
            split.n_train, split.n_valid, split.n_shared
        ))
    }
}

fn report(kept: Kept, out: &Path, json: bool) -> anyhow::Result<()> {
    wrote(out);
    if json {
        return answer_json(&json!({ "rows": kept.n_rows, "kept": kept.n_kept }));
    }
    answer(&format!("{} of {} rows kept\n", kept.n_kept, kept.n_rows))
}
