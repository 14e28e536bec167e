//! Games of the small games, and chess in tables of text.

use super::record::{numbered_id, source_name};
use super::source::{Source, for_each_line};
use super::{GameRecord, ImportError, Importer};
use crate::wire::{Place, PositionRow};
use mavis_game::{Game, Othello, Outcome, Position, Rules};
use std::cmp::Ordering;
use std::path::Path;

/// Replays texts of moves; who resigns has lost.
fn replay<'a>(
    id: String,
    path: &Path,
    start: Position,
    moves: impl IntoIterator<Item = &'a str>,
) -> Result<GameRecord, String> {
    let mut position = start;
    let mut record = GameRecord::new(id, &position);
    record.row.source = source_name(path);
    for text in moves {
        if text == "resign" {
            let outcome = Outcome::Win(position.side_to_move().other());
            record.row.result = Some(outcome.as_str().to_owned());
            return Ok(record);
        }
        // Records of Othello leave passes out.
        if position.is_legal(Othello::PASS) && matches!(position, Position::Othello(_)) && text != "pass" {
            position.play_unchecked(Othello::PASS);
            record.push(position.move_text(Othello::PASS), &position);
        }
        let mv = position.parse_move(text).map_err(|error| format!("{error} in {position}"))?;
        let text = position.move_text(mv);
        position.play_unchecked(mv);
        record.push(text, &position);
    }
    record.row.result = position.outcome().map(|outcome| outcome.as_str().to_owned());
    Ok(record)
}

impl Importer {
    fn game_or_refusal(&mut self, place: &str, game: Result<GameRecord, String>) -> Result<(), ImportError> {
        match game {
            Ok(game) => self.game(game)?,
            Err(reason) => self.refuse(place, reason),
        }
        Ok(())
    }
}

/// `year, black_discs, theoretical_black_discs, theory_empties, moves`, tab-separated, passes implicit.
pub(super) fn wthor(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    for_each_line(path, source, |number, line| {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns.first() == Some(&"year") {
            return Ok(());
        }
        let id = numbered_id(path, number);
        let moves = columns.last().copied().unwrap_or("");
        let start = Position::start(Rules::Othello);
        let moves = (0..moves.len()).step_by(2).map(|at| moves.get(at..at + 2).unwrap_or("?"));
        let game = replay(id.clone(), path, start, moves).map(|mut game| {
            game.row.date = columns.first().map(|year| (*year).to_owned());
            // Unfinished games have a result too: the discs stated.
            if let Some(Ok(discs)) = columns.get(1).map(|discs| discs.parse::<u32>()) {
                let result = match discs.cmp(&32) {
                    Ordering::Greater => "1-0",
                    Ordering::Equal => "1/2-1/2",
                    Ordering::Less => "0-1",
                };
                game.row.result = Some(result.to_owned());
            }
            game
        });
        importer.game_or_refusal(&id, game)
    })
}

/// Tags as in PGN; moves `ab`, sown from pit a to pit b, with notes on captures that are not needed to replay them.
pub(super) fn playok(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let mut game = PlayokGame::default();
    for_each_line::<ImportError>(path, source, |_, line| {
        // Tags after anything else begin the next game; some games end before a move.
        if line.starts_with('[') && game.in_moves {
            std::mem::take(&mut game).hand_over(importer, path)?;
        }
        game.read(line);
        Ok(())
    })?;
    if game.tags.is_empty() && game.moves.is_empty() { Ok(()) } else { game.hand_over(importer, path) }
}

#[derive(Default)]
struct PlayokGame {
    tags: Vec<(String, String)>,
    moves: Vec<String>,
    in_moves: bool,
    in_comment: bool,
}

impl PlayokGame {
    fn read(&mut self, line: &str) {
        if let Some(tag) = line.strip_prefix('[') {
            let mut parts = tag.split('"');
            if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
                self.tags.push((name.trim().to_owned(), value.to_owned()));
            }
            return;
        }
        self.in_moves = true;
        for word in line.split_whitespace() {
            self.in_comment |= word.starts_with('{');
            let mut letters = word.chars();
            if let (Some(pit @ '0'..='9'), Some('0'..='9')) = (letters.next(), letters.next())
                && !word.ends_with('.')
                && !self.in_comment
            {
                self.moves.push(pit.to_string());
            }
            self.in_comment &= !word.ends_with('}');
        }
    }

    fn hand_over(self, importer: &mut Importer, path: &Path) -> Result<(), ImportError> {
        let number = importer.counts.n_games + importer.counts.n_refused + 1;
        let id = numbered_id(path, number);
        let tag = |name: &str| self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let moves = self.moves.iter().map(String::as_str);
        let game = replay(id.clone(), path, Position::start(Rules::Togyz), moves).map(|mut game| {
            game.row.result = tag("Result").filter(|result| result != "*").or(game.row.result);
            (game.row.first, game.row.second) = (tag("White"), tag("Black"));
            let rating = |name| tag(name).and_then(|text| text.parse().ok());
            (game.row.first_rating, game.row.second_rating) = (rating("WhiteElo"), rating("BlackElo"));
            game.row.date = tag("Date");
            game
        });
        importer.game_or_refusal(&id, game)
    }
}

/// Moves in a line (`l8 d10 i4`), or `file, size, moves` tab-separated with colors and swaps (`B:b2 W:SWAP W:f6`).
pub(super) fn hex(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let rules = importer.rules.unwrap_or_else(|| named_size(path));
    for_each_line(path, source, |number, line| {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns == ["file", "size", "moves"] {
            return Ok(());
        }
        let id = numbered_id(path, number);
        let game = match *columns {
            [_, size, moves] => colored_hex(&id, path, size, moves),
            _ => replay(id.clone(), path, Position::start(rules), line.split_whitespace()),
        };
        importer.game_or_refusal(&id, game)
    })
}

/// The board a file's name speaks of, as in `games_13x13.txt`; 11x11 if it does not.
fn named_size(path: &Path) -> Rules {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let size = name.split('x').next().and_then(|left| {
        let digits = left.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|size| (3..=19).contains(size))
    });
    // A name has more than one x at times.
    let size = size.or_else(|| (3..=19).rev().find(|size| name.contains(&format!("{size}x{size}"))));
    size.map_or(Rules::HEX, |size| Rules::Hex { size, swap: false })
}

/// In these records colors change hands with a swap and the stone stays; by our rules players keep their edges and the board is mirrored
/// instead.
fn colored_hex(id: &str, path: &Path, size: &str, moves: &str) -> Result<GameRecord, String> {
    let size = size.parse().ok().filter(|size| (3..=19).contains(size)).ok_or("no board size")?;
    let mut swapped = false;
    let texts = moves.split_whitespace().map(|word| {
        let cell = word.split_once(':').map_or(word, |(_, cell)| cell).to_lowercase();
        if cell.starts_with("swap") {
            swapped = true;
            return "swap".to_owned();
        }
        if swapped { mirrored(&cell).unwrap_or(cell) } else { cell }
    });
    let texts: Vec<String> = texts.collect();
    let start = Position::start(Rules::Hex { size, swap: true });
    replay(id.to_owned(), path, start, texts.iter().map(String::as_str))
}

/// A cell mirrored on the long diagonal: b4 becomes d2.
fn mirrored(cell: &str) -> Option<String> {
    let column = cell.bytes().next().filter(u8::is_ascii_lowercase)? - b'a';
    let row: u8 = cell.get(1..)?.parse().ok().filter(|row| (1..=26).contains(row))?;
    Some(format!("{}{}", char::from(b'a' + row - 1), column + 1))
}

/// Columns from 1 to 7 in a word, each line one position after them; what follows (the solver's score) is not needed.
pub(super) fn connect4(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    for_each_line(path, source, |number, line| {
        let id = numbered_id(path, number);
        let columns = line.split_whitespace().next().unwrap_or("");
        let moves = (0..columns.len()).map(|at| columns.get(at..=at).unwrap_or("?"));
        let mut position = Position::start(Rules::Connect4);
        let played: Result<Vec<_>, _> = moves.clone().map(|text| position.play_text(text)).collect();
        match (played, importer.games.is_some()) {
            (Err(error), _) => importer.refuse(&id, error),
            (Ok(_), true) => {
                let game = replay(id.clone(), path, Position::start(Rules::Connect4), moves);
                importer.game_or_refusal(&id, game)?;
            }
            (Ok(_), false) => {
                importer.position(&PositionRow { place: Place::of(&position, Some(id)), played: None })?;
            }
        }
        Ok(())
    })
}

/// Comma-separated lines with a header that names `moves_san`, and perhaps `id`, `winner`, `white_elo`, `black_elo`, `created`.
pub(super) fn lichess_csv(importer: &mut Importer, path: &Path, source: Source) -> Result<(), ImportError> {
    let fault = |error: csv::Error| {
        let reason = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(source) => ImportError::Read { path: path.to_owned(), source },
            _ => ImportError::Misfit { path: path.to_owned(), reason },
        }
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(source);
    let header = reader.byte_headers().map_err(fault)?.clone();
    // Without it every line would be a game of no moves.
    if !header.iter().any(|column| column == b"moves_san") {
        let reason = "the header has no column 'moves_san'".to_owned();
        return Err(ImportError::Misfit { path: path.to_owned(), reason });
    }
    for row in reader.byte_records() {
        let row = row.map_err(fault)?;
        let number = row.position().map_or(0, csv::Position::line);
        // What is not UTF-8 is replaced, as in every other source.
        let field = |name: &str| {
            let place = header.iter().position(|column| column == name.as_bytes())?;
            row.get(place)
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .filter(|text| !text.is_empty())
        };
        let id = field("id").unwrap_or_else(|| numbered_id(path, number));
        let moves = field("moves_san").unwrap_or_default();
        let start = Position::start(Rules::Chess);
        let game = replay(id.clone(), path, start, moves.split_whitespace()).map(|mut game| {
            game.row.result = match field("winner").as_deref() {
                Some("white") => Some("1-0".to_owned()),
                Some("black") => Some("0-1".to_owned()),
                _ => field("status").filter(|status| status == "draw").map(|_| "1/2-1/2".to_owned()),
            }
            .or(game.row.result);
            let rating = |name: &str| field(name).and_then(|text| text.parse().ok());
            (game.row.first_rating, game.row.second_rating) = (rating("white_elo"), rating("black_elo"));
            game.row.date = field("created");
            game
        });
        importer.game_or_refusal(&id, game)?;
    }
    Ok(())
}
