//! `mavis data export`.

use super::{chain, table_failure};
use crate::commands::{answer, wrote};
use crate::input::BadInput;
use clap::{Args, ValueEnum};
use mavis_data::bag::BagKind;
use mavis_data::export::{ExportError, export_bag, export_jsonl, export_pgn, export_tsv};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Writes a table in another format.
///
/// Example: mavis data export annotated --format tsv --out values.tsv
#[derive(Args)]
pub(crate) struct Export {
    /// A table of positions, annotations or games; of annotations for bags, of games for PGN
    #[arg(required = true)]
    tables: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_enum)]
    format: ExportFormat,
    /// The file to write. Default: the standard output (not for bags). A bag named .bagz is compressed
    #[arg(long)]
    out: Option<PathBuf>,
    /// What the records of a bag hold
    #[arg(long, value_enum, default_value = "action-value")]
    kind: ExportKind,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Tsv,
    Bag,
    Jsonl,
    Pgn,
}

#[derive(Clone, Copy, ValueEnum)]
enum ExportKind {
    StateValue,
    ActionValue,
    BehavioralCloning,
}

impl Export {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let n_rows = match (self.format, &self.out) {
            (ExportFormat::Bag, None) => return Err(BadInput::new("a bag needs --out FILE").into()),
            (ExportFormat::Bag, Some(out)) => export_bag(&self.tables, out, self.kind.into()),
            (format, Some(out)) => {
                let file = File::create(out)
                    .map_err(|error| BadInput::new(format!("cannot write {}: {error}", out.display())))?;
                self.text(format, BufWriter::new(file))
            }
            (format, None) => self.text(format, BufWriter::new(std::io::stdout().lock())),
        }
        .map_err(failure)?;
        match self.out {
            Some(out) => {
                wrote(&out);
                answer(&format!("{n_rows} records\n"))
            }
            None => Ok(()),
        }
    }

    fn text(&self, format: ExportFormat, out: impl Write) -> Result<u64, ExportError> {
        match format {
            ExportFormat::Tsv => export_tsv(&self.tables, out),
            ExportFormat::Pgn => export_pgn(&self.tables, out),
            _ => export_jsonl(&self.tables, out),
        }
    }
}

impl From<ExportKind> for BagKind {
    fn from(kind: ExportKind) -> Self {
        match kind {
            ExportKind::StateValue => Self::StateValue,
            ExportKind::ActionValue => Self::ActionValue,
            ExportKind::BehavioralCloning => Self::BehavioralCloning,
        }
    }
}

fn failure(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::Table(error) => table_failure(error),
        ExportError::NotForBag(_) | ExportError::NotForPgn(_) => BadInput::new(chain(&error)).into(),
        error => error.into(),
    }
}
