//! Games in PGN, chess and the others.

use super::record::{numbered_id, source_name};
use super::{GameRecord, ImportError, Importer, Source};
use crate::pgn::{PgnGame, PgnStream, start_of};
use crate::wire::termination_of_pgn;
use mavis_game::{Game, Position};
use std::path::Path;

/// Reads games until the source ends.
pub(super) fn import(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let read = |source| ImportError::Read { path: path.to_owned(), source };
    let mut stream = PgnStream::new(source, importer.rules);
    let mut number = 0;
    loop {
        let games = stream.games().map_err(read)?;
        if games.is_empty() {
            return Ok(());
        }
        for game in games {
            number += 1;
            match game {
                Ok(game) if importer.is_rated(rating(&game, "WhiteElo"), rating(&game, "BlackElo")) => {
                    importer.game(record(path, number, &game))?;
                }
                Ok(_) => {}
                Err(error) => importer.refuse(numbered_id(path, number), error.reason),
            }
        }
    }
}

/// Whether the first games are of another game than chess.
pub(super) fn names_other_game(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let variant = text.lines().find_map(|line| line.trim().strip_prefix("[Variant \"")?.strip_suffix("\"]"));
    let start = variant.and_then(|variant| start_of(variant, None, None).ok());
    start.is_some_and(|start| !matches!(start, Position::Chess(_)))
}

fn record(path: &Path, number: u64, game: &PgnGame) -> GameRecord {
    // Unknown values are written `?`, dates `????.??.??`.
    let is_known = |text: &&str| !text.trim_matches(['?', '.']).is_empty();
    let known = |name: &str| game.tag(name).filter(is_known).map(str::to_owned);
    let id = game_id(game).unwrap_or_else(|| numbered_id(path, number));
    let mut record = GameRecord::new(id, &game.start);
    let result = known("Result").filter(|result| result != "*");
    record.row.result = result.or_else(|| Some(game.result.clone()).filter(|result| result != "*"));
    (record.row.first, record.row.second) = (known("White"), known("Black"));
    (record.row.first_rating, record.row.second_rating) =
        (rating(game, "WhiteElo"), rating(game, "BlackElo"));
    record.row.date = known("UTCDate").or_else(|| known("Date"));
    record.row.source = source_name(path);
    record.row.termination = known("Termination").map(|text| termination_of_pgn(&text));
    let mut position = game.start.clone();
    for made in &game.moves {
        let text = position.move_text(made.mv);
        position.play_unchecked(made.mv);
        record.push(text, &position);
    }
    record
}

fn rating(game: &PgnGame, tag: &str) -> Option<i32> {
    game.tag(tag)?.parse().ok()
}

/// The id the source itself gives a game: a tag, or the last part of a Lichess address.
fn game_id(game: &PgnGame) -> Option<String> {
    let from_site = || {
        let id = game.tag("Site")?.strip_prefix("https://lichess.org/")?;
        (!id.is_empty() && !id.contains('/')).then_some(id)
    };
    let named = game.tag("GameId").filter(|id| !id.is_empty() && *id != "?");
    named.or_else(from_site).map(str::to_owned)
}
