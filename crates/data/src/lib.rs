//! Tables of games, positions and annotations: everything that lasts.
//!
//! Games and lists of positions come in through [`import`], an oracle judges the positions, and a model learns from the result. What stands on
//! disk is Parquet, which DuckDB, Polars and pandas open; [`wire`] is its one definition. [`TableWriter`] and [`TableReader`] are
//! streams of rows, so nothing here grows with the length of a table.
//!
//! An [`AnnotatedPosition`] is what a model learns from: a position, every legal move with its win probability for the player
//! who makes it, and the oracle's own choice. [`Annotations`] is a set of them that threads may read at random:
//! [`AnnotationTable`] keeps a table in memory, [`FenValues`] a pair of files, and both decode a record when it is asked for.
//!
//! [`unique()`], [`sample()`] and [`split()`] make tables out of tables.
//!
//! ```
//! use mavis_data::import::{Format, Importer};
//! use mavis_data::wire::PositionRow;
//! use mavis_data::{TableReader, TableWriter, unique};
//!
//! let folder = std::env::temp_dir().join(format!("mavis-data-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let [pgn, all, once] = ["two.pgn", "all.parquet", "once.parquet"].map(|name| folder.join(name));
//! std::fs::write(&pgn, "1. e4 e5 2. Nf3 *\n\n1. Nf3 e5 2. e4 *\n")?;
//!
//! let mut importer = Importer { positions: Some(TableWriter::create(&all)?), ..Importer::default() };
//! importer.import(&pgn, Some(Format::Pgn))?;
//! assert_eq!(importer.finish()?.n_positions, 8);
//! // The start and the end of both games are the same position.
//! assert_eq!(unique::<PositionRow, _>(&[&all], &once)?.n_kept, 6);
//! let first = TableReader::<PositionRow>::open(&[&once])?.next().unwrap()?;
//! assert_eq!(first.played.as_deref(), Some("e2e4"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod annotate;
mod annotation_table;
mod annotations;
pub mod bag;
mod checked_rows;
mod duplicates;
pub mod export;
mod fen_values;
mod identity;
pub mod import;
pub mod job;
mod ood;
pub mod pgn;
mod puzzles;
mod selfplay;
pub mod stats;
pub mod table;
mod trace_table;
pub mod traces;
mod unique;
pub mod wire;

pub use annotate::{
    AnnotateInput, AnnotateJob, AnnotateSettings, Annotated, Judge, Judged, Pace, Request, annotate,
    annotate_on,
};
pub use annotation_table::AnnotationTable;
pub use annotations::{AnnotatedPosition, Annotations, Concatenated, RecordError};
pub use fen_values::{FenValues, FenValuesError};
pub use identity::PositionReader;
pub use ood::{odd_position, out_of_distribution};
pub use puzzles::{Puzzle, PuzzleError, parse_puzzles, read_puzzles};
pub use selfplay::{
    GamePlan, Memory, Played, SelfPlayer, SelfplayInput, SelfplayJob, SelfplaySettings, Selfplayed,
    default_epsilon, selfplay, selfplay_on,
};
pub use table::{TableError, TableReader, TableWriter};
pub use trace_table::{StoredTrace, TraceTable};
pub use traces::{
    Grower, Labeler, TraceInput, TraceJob, TracePlan, TraceSettings, Traced, traces, traces_on,
};
pub use unique::{Kept, Split, SplitTo, sample, split, unique};
