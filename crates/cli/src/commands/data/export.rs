//! `mavis data export`.

use super::{chain, table_failure};
use crate::commands::{answer, wrote};
use crate::input::BadInput;
use clap::{Args, ValueEnum};
use mavis_data::bag::BagKind;
use mavis_data::export::{ExportError, export_bag, export_jsonl, export_pgn, export_tsv};
use mavis_stable::kill_safe::replace_file;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
            (ExportFormat::Bag, Some(out)) => {
                export_bag(&self.tables, out, self.kind.into()).map_err(failure)?
            }
            (_, Some(out)) => self.text_file(out)?,
            (_, None) => self.text(BufWriter::new(io::stdout().lock())).map_err(failure)?,
        };
        match self.out {
            Some(out) => {
                wrote(&out);
                answer(&format!("{n_rows} records\n"))
            }
            None => Ok(()),
        }
    }

    /// Writes a file that gets its name once it is complete.
    fn text_file(&self, out: &Path) -> anyhow::Result<u64> {
        let mut exported = None;
        let written = replace_file(out, |file| {
            match exported.insert(self.text(file)) {
                Ok(_) => Ok(()),
                // It only leaves the file as it was; the export's own error is the one that is reported.
                Err(_) => Err(io::ErrorKind::Other.into()),
            }
        });
        let n_rows = exported.transpose().map_err(failure)?;
        match (written, n_rows) {
            (Ok(()), n_rows) => Ok(n_rows.unwrap_or_default()),
            (Err(error), Some(_)) => Err(failure(error.into())),
            (Err(error), None) => {
                Err(BadInput::new(format!("cannot write {}: {error}", out.display())).into())
            }
        }
    }

    fn text(&self, out: impl Write) -> Result<u64, ExportError> {
        match self.format {
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
