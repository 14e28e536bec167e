//! Positions as the commands name them: tables of positions or annotations, pairs of files, puzzles.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::annotated::{rules_of_pair, stem};
use crate::input::BadInput;
use mavis_data::import::Source;
use mavis_data::table::table_kind;
use mavis_data::wire::{AnnotationRow, HasPlace, PositionRow};
use mavis_data::{Puzzle, TableError, TableReader, read_puzzles};
use std::io::BufRead;
use std::path::Path;

/// Whether a file holds puzzles rather than a table.
pub(crate) fn is_puzzles(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".csv"))
}

/// The puzzles of a file, or its first ones.
pub(crate) fn puzzles(path: &Path, limit: Option<usize>) -> Result<Vec<Puzzle>, BadInput> {
    // Lichess' file has millions of lines; those beyond the limit are never read.
    let list = read_puzzles(path, limit.unwrap_or(usize::MAX))
        .map_err(|error| BadInput::new(format!("{:#}", anyhow::Error::from(error))))?;
    if list.is_empty() {
        return Err(BadInput::new(format!("{} holds no puzzle", path.display())));
    }
    Ok(list)
}

/// Goes through a table of positions or annotations, or the FENs of a pair of files; `take` sees the game's name and the position
/// text of each row.
pub(crate) fn for_each(path: &Path, take: &mut dyn FnMut(&str, &str)) -> Result<(), BadInput> {
    if path.is_dir() || path.extension().is_some_and(|ending| ending == "parquet") {
        return match table_kind(&[path]).map_err(table_fault)?.as_str() {
            "annotations" => rows::<AnnotationRow>(path, take),
            "positions" => rows::<PositionRow>(path, take),
            other => {
                let path = path.display();
                Err(BadInput::new(format!("{path}: expected positions or annotations, got {other}")))
            }
        };
    }
    let fens = format!("{}.fen.zst", stem(path).display());
    let game = rules_of_pair(path).to_string();
    let unreadable = |error: std::io::Error| BadInput::new(format!("cannot read {fens}: {error}"));
    for line in Source::open(Path::new(&fens)).map_err(unreadable)?.lines() {
        take(&game, line.map_err(unreadable)?.trim_end());
    }
    Ok(())
}

fn rows<R: HasPlace>(path: &Path, take: &mut dyn FnMut(&str, &str)) -> Result<(), BadInput> {
    for row in TableReader::<R>::open(&[path]).map_err(table_fault)? {
        let row = row.map_err(table_fault)?;
        let place = row.place();
        take(&place.game, &place.position);
    }
    Ok(())
}

fn table_fault(error: TableError) -> BadInput {
    BadInput::new(format!("{:#}", anyhow::Error::from(error)))
}
