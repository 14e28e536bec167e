//! Pairs of FENs and values.

use super::{ImportError, Importer, Source};
use crate::wire::{AnnotationRow, MoveRow, MoveText, OracleName, Place};
use crate::{Annotations, FenValues};
use mavis_game::{Game, Rules};
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records decoded at once.
const CHUNK: usize = 16_384;

pub(super) fn import(importer: &mut Importer, path: &Path) -> Result<(), ImportError> {
    let misfit = |reason: &str| ImportError::Misfit { path: path.to_owned(), reason: reason.to_owned() };
    let stem = path.to_str().and_then(|text| text.strip_suffix(".fen.zst"));
    let stem = stem.ok_or_else(|| misfit("expected a file STEM.fen.zst with STEM.val.zst beside it"))?;
    let values_path = PathBuf::from(format!("{stem}.val.zst"));
    let name = Path::new(stem).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let rules =
        importer.rules.unwrap_or(if name.starts_with("chess960") { Rules::Chess960 } else { Rules::Chess });
    // The files themselves do not say who judged.
    let unknown =
        || OracleName { name: "unknown".to_owned(), settings: name.clone(), ..OracleName::default() };
    let oracle = Arc::new(importer.oracle.clone().unwrap_or_else(unknown));
    let read = |path: &Path| {
        let path = path.to_owned();
        move |source| ImportError::Read { path: path.clone(), source }
    };
    let mut fens = Source::open(path).map_err(read(path))?;
    let mut values = Source::open(&values_path).map_err(read(&values_path))?;
    let mut n_before = 0;
    loop {
        let mut lines = Vec::new();
        let mut records = Vec::new();
        for _ in 0..CHUNK {
            let start = lines.len();
            if fens.read_until(b'\n', &mut lines).map_err(read(path))? == 0 {
                break;
            }
            if lines.get(start..).is_none_or(|line| line.trim_ascii().is_empty()) {
                lines.truncate(start);
                continue;
            }
            let mut head = [0; 2];
            values.read_exact(&mut head).map_err(read(&values_path))?;
            let mut record = vec![0; usize::from(head[0])];
            values.read_exact(&mut record).map_err(read(&values_path))?;
            records.extend(head);
            records.append(&mut record);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let chunk =
            FenValues::from_bytes(rules, &lines, &records).map_err(|error| misfit(&error.to_string()))?;
        for idx in 0..chunk.len() {
            match row(&chunk, idx, &oracle) {
                Ok(row) => importer.annotation(&row)?,
                Err(reason) => importer.refuse(format!("{name}#{}", n_before + idx + 1), reason),
            }
        }
        n_before += chunk.len();
    }
}

fn row(chunk: &FenValues, idx: usize, oracle: &Arc<OracleName>) -> Result<AnnotationRow, String> {
    let record = chunk.get(idx).map_err(|error| error.reason)?;
    let text = |mv| {
        let text = record.position.move_text(mv);
        MoveText::from(&text).map_err(|_| format!("'{text}' is too long for a move"))
    };
    let best = record.best.map(text).transpose()?;
    let mut moves = Vec::with_capacity(record.moves.len());
    for (mv, value) in &record.moves {
        moves.push(MoveRow { mv: text(*mv)?, win_probability: Some(*value), score: None, plies: None });
    }
    // Best first, and the oracle's own choice before its equals.
    moves.sort_by(|a, b| {
        let order = |row: &MoveRow| (row.win_probability, Some(row.mv) == best);
        order(b).partial_cmp(&order(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(AnnotationRow {
        place: Place::of(&record.position, None),
        value: moves.first().and_then(|row| row.win_probability),
        moves,
        best,
        oracle: Arc::clone(oracle),
    })
}
