//! Games in PGN: chess as fast as it comes, other games as leagues write them.

use super::record::{numbered_id, source_name};
use super::{GameRecord, ImportError, Importer, Source};
use crate::pgn::{PgnGame, PgnReader, start_of};
use mavis_game::{Chess, Game, Position, Rules};
use pgn_reader::{RawTag, Reader, SanPlus, Skip, Visitor};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes in which the first game must name its variant.
const N_TAGS: usize = 4_096;

pub(super) fn import(importer: &mut Importer, path: &Path, mut source: Source) -> Result<(), ImportError> {
    let head = source.peek(N_TAGS).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    if names_other_game(head) { other_game(importer, path, source) } else { chess(importer, path, source) }
}

/// Whether the first games are of another game than chess.
pub(super) fn names_other_game(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let variant = text.lines().find_map(|line| line.trim().strip_prefix("[Variant \"")?.strip_suffix("\"]"));
    let start = variant.and_then(|variant| start_of(variant, None, None).ok());
    start.is_some_and(|start| !matches!(start, Position::Chess(_)))
}

/// Games of any kind, whose moves only their own rules can read.
fn other_game(importer: &mut Importer, path: &Path, mut source: Source) -> Result<(), ImportError> {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    for (number, game) in (1..).zip(PgnReader::new(&text)) {
        match game {
            Ok(game) => importer.game(record(path, number, &game))?,
            Err(error) => importer.refuse(numbered_id(path, number), error),
        }
    }
    Ok(())
}

fn record(path: &Path, number: u64, game: &PgnGame) -> GameRecord {
    let mut tags = Tags::default();
    game.tags.iter().for_each(|(name, value)| tags.set(name.as_bytes(), value.clone()));
    let mut record = tags.record(path, number, &game.start);
    let mut position = game.start.clone();
    for made in &game.moves {
        let text = position.move_text(made.mv);
        position.play_unchecked(made.mv);
        record.push(text, &position);
    }
    record
}

fn chess(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let read = |source| ImportError::Read { path: path.to_owned(), source };
    let mut reader = Reader::new(source);
    let mut number = 0;
    loop {
        number += 1;
        let mut visitor = Replay { path, number, rules: importer.rules, min_rating: importer.min_rating };
        match reader.read_game(&mut visitor) {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(Some(game)))) => importer.game(game)?,
            Ok(Some(Ok(None))) => {}
            Ok(Some(Err(reason))) => importer.refuse(numbered_id(path, number), reason),
            // A torn line, as at the end of a file that was cut off: the reader has left it behind.
            Err(error) if error.to_string() == "unterminated tag" => {
                importer.refuse(numbered_id(path, number), error);
            }
            Err(error) => return Err(read(error)),
        }
    }
}

/// A game, none because of its players' ratings, or why it cannot be used.
type Replayed = Result<Option<GameRecord>, String>;

struct Replay<'a> {
    path: &'a Path,
    number: u64,
    rules: Option<Rules>,
    min_rating: Option<i32>,
}

#[derive(Default)]
struct Tags {
    fen: Option<String>,
    variant: String,
    site: String,
    game_id: Option<String>,
    white: Option<String>,
    black: Option<String>,
    white_elo: Option<i32>,
    black_elo: Option<i32>,
    date: Option<String>,
    result: Option<String>,
}

impl Tags {
    fn set(&mut self, name: &[u8], text: String) {
        let known = || Some(text.clone()).filter(|text| !text.is_empty() && text != "?");
        match name {
            b"FEN" => self.fen = Some(text),
            b"Variant" => self.variant = text.to_lowercase(),
            b"Site" => self.site = text,
            b"GameId" => self.game_id = known(),
            b"White" => self.white = known(),
            b"Black" => self.black = known(),
            b"WhiteElo" => self.white_elo = text.parse().ok(),
            b"BlackElo" => self.black_elo = text.parse().ok(),
            b"UTCDate" | b"Date" => self.date = known(),
            b"Result" => self.result = known(),
            _ => {}
        }
    }

    /// A game without moves yet.
    fn record(self, path: &Path, number: u64, start: &Position) -> GameRecord {
        let id = game_id(&self).unwrap_or_else(|| numbered_id(path, number));
        let mut record = GameRecord::new(id, start);
        record.row.result = self.result.filter(|result| result != "*");
        (record.row.first, record.row.second) = (self.white, self.black);
        (record.row.first_rating, record.row.second_rating) = (self.white_elo, self.black_elo);
        record.row.date = self.date;
        record.row.source = source_name(path);
        record
    }
}

struct Movetext {
    position: Position,
    record: GameRecord,
}

impl Visitor for Replay<'_> {
    type Tags = Tags;
    type Movetext = Movetext;
    type Output = Replayed;

    fn begin_tags(&mut self) -> ControlFlow<Replayed, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<Replayed> {
        tags.set(name, value.decode_utf8_lossy().into_owned());
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Replayed, Movetext> {
        let rating = tags.white_elo.min(tags.black_elo);
        if self.min_rating.is_some_and(|least| rating.is_none_or(|rating| rating < least)) {
            return ControlFlow::Break(Ok(None));
        }
        match self.start(&tags) {
            Ok(start) => {
                let position = Position::Chess(start);
                let record = tags.record(self.path, self.number, &position);
                ControlFlow::Continue(Movetext { position, record })
            }
            Err(reason) => ControlFlow::Break(Err(reason)),
        }
    }

    fn san(&mut self, movetext: &mut Movetext, san: SanPlus) -> ControlFlow<Replayed> {
        let Position::Chess(chess) = &mut movetext.position else {
            return ControlFlow::Break(Err("not chess".to_owned()));
        };
        match san.san.to_move(chess.position()) {
            Ok(mv) => {
                let mv = Chess::move_code(mv);
                let text = chess.move_text(mv);
                chess.play_unchecked(mv);
                movetext.record.push(text, &movetext.position);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Err(format!("{san}: {error} in {}", movetext.position))),
        }
    }

    fn begin_variation(&mut self, _: &mut Movetext) -> ControlFlow<Replayed, Skip> {
        ControlFlow::Continue(Skip(true))
    }

    fn end_game(&mut self, movetext: Movetext) -> Replayed {
        Ok(Some(movetext.record))
    }
}

impl Replay<'_> {
    fn start(&self, tags: &Tags) -> Result<Chess, String> {
        match start_of(&tags.variant, tags.fen.as_deref(), self.rules)? {
            Position::Chess(chess) => Ok(chess),
            _ => Err(format!("variant '{}'", tags.variant)),
        }
    }
}

/// The id the source itself gives a game: a tag, or the last part of a Lichess address.
fn game_id(tags: &Tags) -> Option<String> {
    let from_site = || {
        let id = tags.site.strip_prefix("https://lichess.org/")?;
        (!id.is_empty() && !id.contains('/')).then(|| id.to_owned())
    };
    tags.game_id.clone().or_else(from_site)
}
