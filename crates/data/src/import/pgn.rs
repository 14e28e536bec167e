//! Chess games in PGN.

use super::record::{numbered_id, source_name};
use super::{GameRecord, ImportError, Importer, Source};
use mavis_game::{Chess, Game, Position, Rules};
use pgn_reader::{RawTag, Reader, SanPlus, Skip, Visitor};
use std::ops::ControlFlow;
use std::path::Path;

pub(super) fn import(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
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
        let text = || value.decode_utf8_lossy().into_owned();
        let known = || Some(text()).filter(|text| !text.is_empty() && text != "?");
        match name {
            b"FEN" => tags.fen = Some(text()),
            b"Variant" => tags.variant = text().to_lowercase(),
            b"Site" => tags.site = text(),
            b"GameId" => tags.game_id = known(),
            b"White" => tags.white = known(),
            b"Black" => tags.black = known(),
            b"WhiteElo" => tags.white_elo = text().parse().ok(),
            b"BlackElo" => tags.black_elo = text().parse().ok(),
            b"UTCDate" | b"Date" => tags.date = known(),
            b"Result" => tags.result = known(),
            _ => {}
        }
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
                let id = game_id(&tags).unwrap_or_else(|| numbered_id(self.path, self.number));
                let mut record = GameRecord::new(id, &position);
                record.row.result = tags.result.filter(|result| result != "*");
                (record.row.first, record.row.second) = (tags.white, tags.black);
                (record.row.first_rating, record.row.second_rating) = (tags.white_elo, tags.black_elo);
                record.row.date = tags.date;
                record.row.source = source_name(self.path);
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
        match crate::pgn::start_of(&tags.variant, tags.fen.as_deref(), self.rules)? {
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
