//! What is stored on disk: the rows of the four tables, version 1.
//!
//! Every table is one Parquet file or a folder of them. The schemas below are the contract; `docs/data.md` explains the columns.
//! Files carry `mavis.table` and `mavis.version` in their key-value metadata, and tables of annotations and traces also
//! `mavis.oracle`, `mavis.oracle_version` and `mavis.oracle_settings`. The same three are columns of every row, so that a row
//! group, or a table that another program cut out or joined, still says where its values come from.
//!
//! Version 2 comes when a column changes its meaning or goes away; a new optional column keeps the version, and readers skip
//! columns they do not know.
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

mod annotation;
mod end_kind;
mod game;
mod job;
mod place;
mod position;
mod selfplay_job;
mod trace;
mod trace_job;

pub use annotation::{AnnotationRow, MoveRow, MoveText, OracleName, ScoreUnit};
pub use end_kind::{EndKind, termination_of_pgn, termination_to_pgn};
pub use game::GameRow;
pub(crate) use job::{AnnotateInputWire, JudgedWire};
pub use place::Place;
pub use position::PositionRow;
pub(crate) use selfplay_job::{PlayedWire, SelfplayInputWire};
pub use trace::TraceRow;
pub(crate) use trace_job::{TraceInputWire, TracedWire};

use crate::table::{Buffers, CellError, Cursors};
use std::sync::Arc;

/// The version of all schemas.
pub const VERSION: u32 = 1;

/// One row of one table.
pub trait Row: Sized + Send + 'static {
    /// The table's name, `positions`, `annotations`, `games` or `traces`.
    const TABLE: &'static str;
    /// The schema in Parquet's own language.
    const SCHEMA: &'static str;
    /// Rows a row group holds: some megabytes.
    const ROWS_PER_GROUP: usize;
    /// The leaf columns in the order of the schema, each as its outermost and innermost name.
    const LEAVES: &'static [(&'static str, &'static str)];

    /// Appends the row to column buffers, which are in the order of [`Row::LEAVES`].
    fn write(&self, columns: &mut Buffers);

    /// Takes the next row from column cursors, which are in the order of [`Row::LEAVES`].
    ///
    /// # Errors
    /// When a cell that must be there is missing or cannot be understood.
    fn read(columns: &mut Cursors) -> Result<Self, CellError>;

    /// Who judged, for tables that say so.
    fn oracle(&self) -> Option<&Arc<OracleName>> {
        None
    }
}

/// A row that holds a position, so that tables of either kind can be sampled, split and freed of duplicates.
pub trait HasPlace: Row {
    /// The position and where it came from.
    fn place(&self) -> &Place;
}
