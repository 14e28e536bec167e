//! One position per line.

use super::record::numbered_id;
use super::source::{Source, for_each_line};
use super::{ImportError, Importer};
use crate::wire::{Place, PositionRow};
use mavis_game::{Position, Rules};
use std::path::Path;

pub(super) fn import(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let rules = importer.rules.unwrap_or(Rules::Chess);
    // Where the FEN stands, if the first line names columns.
    let mut column: Option<(char, usize)> = None;
    for_each_line::<ImportError>(path, source, |number, line| {
        if line.trim_start().starts_with('#') {
            return Ok(());
        }
        if number == 1
            && let Some(found) = fen_column(line)
        {
            column = Some(found);
            return Ok(());
        }
        let text = match column {
            Some((separator, place)) => line.split(separator).nth(place).unwrap_or(""),
            None => line.split('\t').next().unwrap_or(""),
        };
        match parse(rules, importer.rules.is_none(), text) {
            Ok(position) => {
                importer.position(&PositionRow { place: Place::of(&position, None), played: None })?
            }
            Err(reason) => importer.refuse(numbered_id(path, number), reason),
        }
        Ok(())
    })
}

/// The separator and the place of a column named `fen` in a header.
fn fen_column(line: &str) -> Option<(char, usize)> {
    ['\t', ',', ';'].into_iter().find_map(|separator| {
        let place = line.split(separator).position(|name| name.trim().eq_ignore_ascii_case("fen"))?;
        Some((separator, place))
    })
}

/// Reads a position text; in chess FEN or EPD, whose operations are not looked at. Without a game named, chess that only
/// Chess960 allows is Chess960.
fn parse(rules: Rules, guess: bool, text: &str) -> Result<Position, String> {
    if !matches!(rules, Rules::Chess | Rules::Chess960) {
        // Lists of other programs go on after a semicolon.
        let text = text.split(';').next().unwrap_or("");
        return Position::parse(rules, text).map_err(|error| error.to_string());
    }
    let words: Vec<&str> = text.split(';').next().unwrap_or("").split_whitespace().collect();
    let has_counts =
        words.get(4..6).is_some_and(|counts| counts.iter().all(|word| word.parse::<u32>().is_ok()));
    let n_words = words.len().min(if has_counts { 6 } else { 4 });
    let fen = words.get(..n_words).unwrap_or(&words).join(" ");
    Position::parse(rules, &fen).or_else(|error| match guess {
        true => Position::parse(Rules::Chess960, &fen).map_err(|_| error.to_string()),
        false => Err(error.to_string()),
    })
}
