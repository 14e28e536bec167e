//! ChessBench bags.

use super::record::source_name;
use super::{ImportError, Importer};
use crate::bag::{BagReader, BagRecord};
use crate::wire::{AnnotationRow, MoveRow, MoveText, OracleName, Place};
use mavis_game::{Game, Position, Rules};
use std::path::Path;
use std::sync::Arc;

/// Records of one position that follow each other become one row; those that do not stay rows with a part of the moves.
pub(super) fn import(importer: &mut Importer, path: &Path) -> Result<(), ImportError> {
    let bag = |source| ImportError::Bag { path: path.to_owned(), source };
    let name = source_name(path).unwrap_or_default();
    // The files themselves do not say who judged.
    let unknown =
        || OracleName { name: "ChessBench".to_owned(), settings: name.clone(), ..OracleName::default() };
    let oracle = Arc::new(importer.oracle.clone().unwrap_or_else(unknown));
    let rules = importer.rules.unwrap_or(Rules::Chess);
    let mut group: Option<AnnotationRow> = None;
    for (number, record) in (1_u64..).zip(BagReader::open(path).map_err(bag)?) {
        let record = record.map_err(bag)?;
        let Some(record) = BagRecord::decode(&record) else {
            importer.refuse(format!("{name}#{number}"), "not a record of any of the three kinds");
            continue;
        };
        match row(rules, record, &oracle) {
            Err(reason) => importer.refuse(format!("{name}#{number}"), reason),
            Ok(mut row) => match &mut group {
                Some(open) if open.place == row.place && row.value.is_none() && open.value.is_none() => {
                    open.moves.append(&mut row.moves);
                }
                _ => {
                    if let Some(complete) = group.replace(row) {
                        importer.annotation(&completed(complete))?;
                    }
                }
            },
        }
    }
    match group {
        Some(complete) => Ok(importer.annotation(&completed(complete))?),
        None => Ok(()),
    }
}

fn row(rules: Rules, record: BagRecord, oracle: &Arc<OracleName>) -> Result<AnnotationRow, String> {
    let (fen, mv, value) = match record {
        BagRecord::StateValue(fen, value) => (fen, None, Some(value)),
        BagRecord::ActionValue(fen, mv, value) => (fen, Some(mv), Some(value)),
        BagRecord::BehavioralCloning(fen, mv) => (fen, Some(mv), None),
    };
    let position = Position::parse(rules, &fen).map_err(|error| error.to_string())?;
    let value = value.map(|value| value as f32);
    if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return Err(format!("{value:?} is no win probability"));
    }
    let mut moves = Vec::new();
    let mut best = None;
    if let Some(text) = &mv {
        let mv = position.parse_move(text).map_err(|error| format!("{error} in {fen}"))?;
        let text = MoveText::from(&position.move_text(mv)).map_err(|error| error.to_string())?;
        moves.push(MoveRow { mv: text, win_probability: value, score: None, plies: None });
        best = value.is_none().then_some(text);
    }
    Ok(AnnotationRow {
        place: Place::of(&position, None),
        value: value.filter(|_| mv.is_none()),
        moves,
        best,
        oracle: Arc::clone(oracle),
    })
}

/// Sorts the moves of a group and names the best one, once every legal move has a value.
fn completed(mut row: AnnotationRow) -> AnnotationRow {
    row.moves.sort_by(|a, b| {
        b.win_probability.partial_cmp(&a.win_probability).unwrap_or(std::cmp::Ordering::Equal)
    });
    row.moves.dedup_by(|a, b| a.mv == b.mv);
    let n_legal = row
        .place
        .game
        .parse::<Rules>()
        .ok()
        .and_then(|rules| Position::parse(rules, &row.place.position).ok())
        .map_or(0, |position| position.n_legal_moves());
    if row.moves.len() == n_legal
        && let Some(first) = row.moves.first().filter(|first| first.win_probability.is_some())
    {
        (row.best, row.value) = (Some(first.mv), first.win_probability);
    }
    row
}
