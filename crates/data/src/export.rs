//! Tables for programs that read something else.

use crate::bag::{BagKind, BagRecord, BagWriter};
use crate::pgn::PgnGame;
use crate::table::{TableError, TableReader, table_kind};
use crate::wire::{AnnotationRow, GameRow, PositionRow};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An export that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The output cannot be written.
    #[error("cannot write the export")]
    Write(#[from] io::Error),
    /// A game that does not fit into PGN.
    #[error("cannot be written as PGN: {0}")]
    NotForPgn(String),
    /// Only annotations of chess fit into a bag.
    #[error("a bag holds annotations of chess: {0}")]
    NotForBag(String),
    /// The output of a bag.
    #[error("cannot write {}", path.display())]
    Bag {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes a table of positions, annotations or games as one JSON object a line, with the columns of the table.
///
/// # Errors
/// When the table cannot be read or the output not written.
pub fn export_jsonl<P: AsRef<Path>>(tables: &[P], mut out: impl Write) -> Result<u64, ExportError> {
    let mut n_rows = 0;
    let mut line = |value: Value| {
        n_rows += 1;
        writeln!(out, "{value}")
    };
    match table_kind(tables)?.as_str() {
        "annotations" => {
            for row in TableReader::<AnnotationRow>::open(tables)? {
                line(annotation_json(&row?))?;
            }
        }
        "games" => {
            for row in TableReader::<GameRow>::open(tables)? {
                line(game_json(&row?))?;
            }
        }
        _ => {
            for row in TableReader::<PositionRow>::open(tables)? {
                let row = row?;
                line(json!({
                    "game": row.place.game, "position": row.place.position, "game_id": row.place.game_id,
                    "ply": row.place.ply, "played": row.played,
                }))?;
            }
        }
    }
    out.flush()?;
    Ok(n_rows)
}

fn annotation_json(row: &AnnotationRow) -> Value {
    let moves = row.moves.iter().map(|judged| {
        json!({
            "move": judged.mv.as_str(), "win_probability": judged.win_probability,
            "score": judged.score.map(|(score, _)| score), "unit": judged.score.map(|(_, unit)| unit.as_str()),
            "plies": judged.plies,
        })
    });
    json!({
        "game": row.place.game, "position": row.place.position, "game_id": row.place.game_id, "ply": row.place.ply,
        "moves": moves.collect::<Vec<_>>(), "best": row.best.as_deref(), "value": row.value,
        "oracle": row.oracle.name, "oracle_version": row.oracle.version, "oracle_settings": row.oracle.settings,
    })
}

fn game_json(row: &GameRow) -> Value {
    json!({
        "game": row.game, "game_id": row.game_id, "start": row.start, "moves": row.moves,
        "result": row.result, "first": row.first, "second": row.second,
        "first_rating": row.first_rating, "second_rating": row.second_rating,
        "date": row.date, "source": row.source, "termination": row.termination, "values": row.values,
    })
}

/// Writes a table of positions, annotations or games as tab-separated lines under a header; lists are joined by spaces, moves of
/// annotations are `move:win_probability`.
///
/// # Errors
/// When the table cannot be read or the output not written.
pub fn export_tsv<P: AsRef<Path>>(tables: &[P], mut out: impl Write) -> Result<u64, ExportError> {
    let mut n_rows = 0;
    let mut line = |fields: &[&str]| {
        n_rows += 1;
        // Names of players may hold anything.
        let clean = fields.iter().map(|field| field.replace(['\t', '\n', '\r'], " "));
        writeln!(out, "{}", clean.collect::<Vec<_>>().join("\t"))
    };
    match table_kind(tables)?.as_str() {
        "annotations" => {
            line(&["game", "position", "game_id", "ply", "best", "value", "moves"])?;
            for row in TableReader::<AnnotationRow>::open(tables)? {
                let row = row?;
                let moves = row.moves.iter().map(|judged| match judged.win_probability {
                    Some(value) => format!("{}:{value}", judged.mv),
                    None => judged.mv.to_string(),
                });
                line(&[
                    &row.place.game,
                    &row.place.position,
                    row.place.game_id.as_deref().unwrap_or(""),
                    &row.place.ply.to_string(),
                    row.best.as_deref().unwrap_or(""),
                    &row.value.map_or_else(String::new, |value| value.to_string()),
                    &moves.collect::<Vec<_>>().join(" "),
                ])?;
            }
        }
        "games" => {
            line(&["game", "game_id", "start", "result", "first", "second", "moves"])?;
            for row in TableReader::<GameRow>::open(tables)? {
                let row = row?;
                line(&[
                    &row.game,
                    &row.game_id,
                    &row.start,
                    row.result.as_deref().unwrap_or(""),
                    row.first.as_deref().unwrap_or(""),
                    row.second.as_deref().unwrap_or(""),
                    &row.moves.join(" "),
                ])?;
            }
        }
        _ => {
            line(&["game", "position", "game_id", "ply", "played"])?;
            for row in TableReader::<PositionRow>::open(tables)? {
                let row = row?;
                let game_id = row.place.game_id.as_deref().unwrap_or("");
                let played = row.played.as_deref().unwrap_or("");
                line(&[&row.place.game, &row.place.position, game_id, &row.place.ply.to_string(), played])?;
            }
        }
    }
    out.flush()?;
    Ok(n_rows - 1)
}

/// Writes a table of games as PGN.
///
/// # Errors
/// When the table cannot be read, holds no games or illegal ones, or the output cannot be written.
pub fn export_pgn<P: AsRef<Path>>(tables: &[P], mut out: impl Write) -> Result<u64, ExportError> {
    let mut n_games = 0;
    for row in TableReader::<GameRow>::open(tables)? {
        let row = row?;
        let game = PgnGame::of_row(&row)
            .map_err(|reason| ExportError::NotForPgn(format!("game {}: {reason}", row.game_id)))?;
        write!(out, "{game}")?;
        n_games += 1;
    }
    out.flush()?;
    Ok(n_games)
}

/// Writes a table of annotations as a bag of one kind; rows that do not know what the kind asks for are left out.
///
/// # Errors
/// When the table cannot be read, is not of chess, or the bag cannot be written.
pub fn export_bag<P: AsRef<Path>>(tables: &[P], out: &Path, kind: BagKind) -> Result<u64, ExportError> {
    let write = |source| ExportError::Bag { path: out.to_owned(), source };
    let mut bag = BagWriter::create(out).map_err(write)?;
    for row in TableReader::<AnnotationRow>::open(tables)? {
        let row = row?;
        if row.place.game != "chess" && row.place.game != "chess960" {
            return Err(ExportError::NotForBag(format!("a row of {}", row.place.game)));
        }
        match kind {
            BagKind::StateValue => {
                if let Some(value) = row.value {
                    bag.write(&BagRecord::StateValue(row.place.position, value.into())).map_err(write)?;
                }
            }
            BagKind::BehavioralCloning => {
                if let Some(best) = row.best {
                    bag.write(&BagRecord::BehavioralCloning(row.place.position, best.to_string()))
                        .map_err(write)?;
                }
            }
            BagKind::ActionValue => {
                for judged in &row.moves {
                    if let Some(value) = judged.win_probability {
                        let (fen, mv) = (row.place.position.clone(), judged.mv.to_string());
                        bag.write(&BagRecord::ActionValue(fen, mv, value.into())).map_err(write)?;
                    }
                }
            }
        }
    }
    bag.finish().map_err(write)
}
