//! Annotated positions as the commands name them: tables, and pairs of files.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::input::{BadInput, OrBadInput, one_line};
use mavis_data::{AnnotatedPosition, AnnotationTable, Annotations, FenValues};
use mavis_game::{Game as _, Position, Rules};
use rand::{SeedableRng, seq::index};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens a table of annotations (a file or a folder), or a pair of files by their stem or by the name of the FENs.
///
/// Rows that cannot be used are left out; `note` gets them. `keep` sees the position text of each row.
pub(crate) fn open(
    path: &Path,
    rules: Rules,
    keep: impl FnMut(&str) -> bool,
    note: &dyn Fn(&str),
) -> anyhow::Result<Arc<dyn Annotations>> {
    let bad = |error: anyhow::Error| BadInput::new(one_line(&error));
    if path.is_dir() || path.extension().is_some_and(|ending| ending == "parquet") {
        let table = AnnotationTable::open_where(&[path], keep).map_err(|error| bad(error.into()))?;
        if let Some(refused) = table.first_refused() {
            let n = table.n_refused();
            note(&format!("{}: {n} rows cannot be used, the first is {refused}", path.display()));
        }
        return Ok(Arc::new(table));
    }
    let mut set = FenValues::open(rules, &stem(path)).map_err(|error| bad(error.into()))?;
    set.retain(keep);
    if let Some(fen) = set.fen(0) {
        Position::parse(rules, fen).or_bad_input()?;
    }
    Ok(Arc::new(set))
}

/// The same for a set that must be of one game; both kinds of chess are one here, and so are all boards of Hex.
pub(crate) fn open_game(
    path: &Path,
    rules: Rules,
    keep: impl FnMut(&str) -> bool,
    note: &dyn Fn(&str),
) -> anyhow::Result<Arc<dyn Annotations>> {
    let set = open(path, rules, keep, note)?;
    let family = |rules: Rules| match rules {
        Rules::Chess960 => Rules::Chess,
        Rules::Hex { .. } => Rules::HEX,
        other => other,
    };
    if !set.is_empty() {
        let found = set.get(0).or_bad_input()?.position.rules();
        if family(found) != family(rules) {
            let text = format!("{} holds positions of {found}, not of {rules}", path.display());
            return Err(BadInput::new(text).into());
        }
    }
    Ok(set)
}

/// The common part of a pair's names.
pub(crate) fn stem(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    let stem = text.strip_suffix(".fen.zst").or_else(|| text.strip_suffix(".val.zst"));
    stem.map_or_else(|| path.to_owned(), PathBuf::from)
}

/// The game of a pair of files, which only their name gives.
pub(crate) fn rules_of_pair(path: &Path) -> Rules {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("960") { Rules::Chess960 } else { Rules::Chess }
}

/// Positions of a set that are not over, of one game where one is named: all, or so many drawn by the seed, in the set's order.
pub(crate) fn draw(
    set: &dyn Annotations,
    game: Option<Rules>,
    limit: Option<usize>,
    seed: u64,
) -> Result<Vec<AnnotatedPosition>, BadInput> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let wanted = limit.unwrap_or(usize::MAX);
    // A random order, so that the first ones that fit are a fair sample.
    let order: Vec<usize> = if wanted < set.len() {
        index::sample(&mut random, set.len(), set.len()).into_vec()
    } else {
        (0..set.len()).collect()
    };
    let mut drawn: Vec<(usize, AnnotatedPosition)> = Vec::new();
    for idx in order {
        if drawn.len() == wanted {
            break;
        }
        let record = set.get(idx).or_bad_input()?;
        if !record.moves.is_empty() && game.is_none_or(|rules| rules == record.position.rules()) {
            drawn.push((idx, record));
        }
    }
    drawn.sort_by_key(|(idx, _)| *idx);
    Ok(drawn.into_iter().map(|(_, record)| record).collect())
}
