//! PGN of any game as data: tags, moves and the notes between them, and back to text.
//!
//! Chess moves are SAN; other games use their own move text, name themselves in the tag `Variant` (`connect4`,
//! `hex:size=7,swap`) and write their position text in `FEN`, as leagues do.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod reader;
mod stream;

pub use reader::{PgnError, PgnReader};
pub use stream::PgnStream;

use crate::PositionReader;
use crate::wire::{GameRow, termination_to_pgn};
use mavis_game::{CastlingMode, Chess, Game, Move, Position, Rules, Side};
use std::fmt::{self, Write};

/// One game.
#[derive(Clone, PartialEq, Debug)]
pub struct PgnGame {
    /// Tags in their order.
    pub tags: Vec<(String, String)>,
    /// Where it starts.
    pub start: Position,
    /// Notes before the first move.
    pub preface: Vec<Note>,
    /// The moves.
    pub moves: Vec<PgnMove>,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
}

/// A move and the notes after it.
#[derive(Clone, PartialEq, Debug)]
pub struct PgnMove {
    /// The move, legal in its position.
    pub mv: Move,
    /// Comments, glyphs and variations after it.
    pub notes: Vec<Note>,
}

/// What may follow a move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// A comment, without its braces.
    Comment(String),
    /// A numeric glyph: 1 to 6 are `!`, `?`, `!!`, `??`, `!?` and `?!`.
    Glyph(u16),
    /// A variation as it was written, without its parentheses.
    Variation(String),
}

impl PgnGame {
    /// A game of two named players, with the tags that reading it back needs.
    #[must_use]
    pub fn played(start: &Position, moves: &[Move], names: [&str; 2], result: &str) -> Self {
        let mut game = Self {
            tags: Vec::new(),
            start: start.clone(),
            preface: Vec::new(),
            moves: moves.iter().map(|&mv| PgnMove { mv, notes: Vec::new() }).collect(),
            result: result.to_owned(),
        };
        let [white, black] = names;
        // The seven tags that the standard (8.1.1) asks for, in its order.
        let roster = [
            ("Event", "Mavis"),
            ("Site", "?"),
            ("Date", "????.??.??"),
            ("Round", "?"),
            ("White", white),
            ("Black", black),
            ("Result", result),
        ];
        roster.into_iter().for_each(|(name, value)| game.set_tag(name, value));
        let rules = start.rules();
        match rules {
            Rules::Chess => {}
            Rules::Chess960 => game.set_tag("Variant", "Chess960"),
            other => game.set_tag("Variant", other.to_string()),
        }
        if *start != Position::start(rules) || rules == Rules::Chess960 {
            game.set_tag("SetUp", "1");
            game.set_tag("FEN", start.to_string());
        }
        game
    }

    /// A game of a table.
    ///
    /// # Errors
    /// In words, when the game is unknown or the moves are not legal from the start.
    pub fn of_row(row: &GameRow) -> Result<Self, String> {
        let start = PositionReader::default().position(&row.game, &row.start)?;
        let mut position = start.clone();
        let mut moves = Vec::with_capacity(row.moves.len());
        for text in &row.moves {
            let mv = position.parse_move(text).map_err(|error| format!("{error} in {position}"))?;
            position.play_unchecked(mv);
            moves.push(mv);
        }
        let name = |name: &'_ Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
        let (first, second) = (name(&row.first), name(&row.second));
        let mut game = Self::played(&start, &moves, [&first, &second], row.result.as_deref().unwrap_or("*"));
        let rating = |rating: Option<i32>| rating.map(|rating| rating.to_string());
        let tags = [
            ("Event", row.source.clone()),
            ("Date", row.date.clone()),
            ("WhiteElo", rating(row.first_rating)),
            ("BlackElo", rating(row.second_rating)),
            ("GameId", Some(row.game_id.clone()).filter(|id| !id.is_empty())),
            ("PlyCount", Some(moves.len().to_string())),
            ("Termination", row.termination.as_deref().map(termination_to_pgn)),
        ];
        for (name, value) in tags {
            if let Some(value) = value {
                game.set_tag(name, value);
            }
        }
        Ok(game)
    }

    /// The value of a tag.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Sets a tag, at its place or at the end.
    pub fn set_tag(&mut self, name: &str, value: impl Into<String>) {
        match self.tags.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.into(),
            None => self.tags.push((name.to_owned(), value.into())),
        }
    }

    /// The position before each move, and the last one.
    #[must_use]
    pub fn positions(&self) -> Vec<Position> {
        let mut position = self.start.clone();
        let mut positions = vec![position.clone()];
        for made in &self.moves {
            position.play_unchecked(made.mv);
            positions.push(position.clone());
        }
        positions
    }
}

impl fmt::Display for PgnGame {
    /// The game with an empty line at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.tags.iter().for_each(|(name, value)| write_tag(name, value, &mut text));
        if !self.tags.is_empty() {
            text.push('\n');
        }
        let mut body = String::new();
        write_notes(&self.preface, &mut body);
        let mut position = self.start.clone();
        let mut numbered = false;
        for made in &self.moves {
            let number = 1 + position.ply() / 2;
            match position.side_to_move() {
                Side::First => body.push_str(&format!("{number}. ")),
                Side::Second if !numbered => body.push_str(&format!("{number}... ")),
                Side::Second => {}
            }
            body.push_str(&move_text(&position, made.mv));
            body.push(' ');
            write_notes(&made.notes, &mut body);
            // A number is needed again after anything but a glyph.
            numbered = made.notes.iter().all(|note| matches!(note, Note::Glyph(_)));
            position.play_unchecked(made.mv);
        }
        body.push_str(&self.result);
        wrap(&body, &mut text);
        text.push('\n');
        f.write_str(&text)
    }
}

fn write_notes(notes: &[Note], body: &mut String) {
    for note in notes {
        // Writing to a string cannot fail.
        let _ = match note {
            Note::Comment(text) => write!(body, "{{{}}} ", text.replace(['{', '}'], "|")),
            Note::Glyph(number) => write!(body, "${number} "),
            Note::Variation(text) => write!(body, "({text}) "),
        };
    }
}

/// Appends a tag's line.
fn write_tag(name: &str, value: &str, text: &mut String) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[{name} \"{value}\"]");
}

/// A move as PGN writes it: SAN in chess, the game's own text elsewhere.
#[must_use]
pub fn move_text(position: &Position, mv: Move) -> String {
    match position {
        Position::Chess(chess) => chess.san(mv).unwrap_or_else(|_| position.move_text(mv)),
        other => other.move_text(mv),
    }
}

/// Appends movetext broken at 80 columns, as PGN readers of old expect.
fn wrap(body: &str, text: &mut String) {
    let mut column = 0;
    // A command such as `[%eval 0.31]` stays on one line.
    let mut words: Vec<String> = Vec::new();
    for word in body.split([' ', '\n', '\r', '\t']).filter(|word| !word.is_empty()) {
        match words
            .last_mut()
            .filter(|last| last.rsplit_once("[%").is_some_and(|(_, open)| !open.contains(']')))
        {
            Some(open) => *open = format!("{open} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    for word in &words {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 79 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}

/// Where a game starts by its tags. `rules` decides between the kinds of chess, and names the game where the tags do not.
pub(crate) fn start_of(variant: &str, fen: Option<&str>, rules: Option<Rules>) -> Result<Position, String> {
    let variant = match rules {
        Some(Rules::Chess | Rules::Chess960) | None => variant.to_lowercase(),
        Some(rules) if variant.is_empty() => rules.to_string(),
        Some(_) => variant.to_lowercase(),
    };
    let shuffled = ["960", "fischer", "random"].iter().any(|word| variant.contains(word));
    let plain = ["", "standard", "chess", "normal", "from position", "fromposition"];
    if !shuffled && !plain.contains(&&*variant) {
        let rules: Rules = variant.parse().map_err(|_| format!("variant '{variant}'"))?;
        return match fen {
            None => Ok(Position::start(rules)),
            Some(fen) => Position::parse(rules, fen).map_err(|error| error.to_string()),
        };
    }
    let mode = match rules {
        Some(Rules::Chess960) => CastlingMode::Chess960,
        Some(_) => CastlingMode::Standard,
        None if shuffled => CastlingMode::Chess960,
        None => CastlingMode::Standard,
    };
    let chess = match fen {
        None if mode == CastlingMode::Chess960 => {
            Chess::start960(518).ok_or_else(|| "no start position".to_owned())
        }
        None => Ok(Chess::default()),
        // Some sources leave out the variant; rooks off their corners give it away.
        Some(fen) => Chess::parse(mode, fen).or_else(|error| match rules {
            None => Chess::parse(CastlingMode::Chess960, fen).map_err(|_| error.to_string()),
            Some(_) => Err(error.to_string()),
        }),
    };
    chess.map(Position::Chess)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read is written back, wrapped and in one spelling.
    fn check(text: &str, expected: &str) {
        let written: String = PgnReader::new(text)
            .map(|game| game.unwrap_or_else(|error| panic!("{error}")).to_string())
            .collect();
        assert_eq!(written, expected);
        let again: String = PgnReader::new(&written).map(|game| game.unwrap().to_string()).collect();
        assert_eq!(again, written);
    }

    #[test]
    fn notes_survive_and_spelling_is_unified() {
        check(
            "[Event \"a \\\"b\\\"\"]\n\n{before} 1.e4! {good {so} 1... e5?? $10 (1... c5 {Sicilian (open)} 2. Nf3) ; rest\n2. Nf3 *\n",
            "[Event \"a \\\"b\\\"\"]\n\n{before} 1. e4 $1 {good |so} 1... e5 $4 $10 (1... c5 {Sicilian (open)} 2. Nf3)\n{rest} 2. Nf3 *\n\n",
        );
    }

    #[test]
    fn games_without_tags_follow_each_other() {
        check(
            "1. e4 e5 1-0\n1. d4 1/2-1/2\n\n[A \"b\"]\n*",
            "1. e4 e5 1-0\n\n1. d4 1/2-1/2\n\n[A \"b\"]\n\n*\n\n",
        );
    }

    #[test]
    fn other_games_and_starts_are_read() {
        check(
            "[Variant \"connect4\"]\n\n1. 4 4 2. 3 *\n\n[Variant \"hex:size=3\"]\n\n1. a1 {x} b2 2. c1 *\n",
            "[Variant \"connect4\"]\n\n1. 4 4 2. 3 *\n\n[Variant \"hex:size=3\"]\n\n1. a1 {x} 1... b2 2. c1 *\n\n",
        );
        check(
            "[Variant \"Chess960\"]\n[FEN \"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9\"]\n\n9. Nf3 *",
            "[Variant \"Chess960\"]\n[FEN \"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9\"]\n\n9. Nf3 *\n\n",
        );
    }

    /// A fault costs its game and no other.
    #[test]
    fn games_after_a_fault_are_read() {
        for bad in [
            "1. e4 e5 2. Ke3 {a [b]} Ke7 1-0",
            "[A \"b\"]\n\n1. e4 {never ends\n\n2. d4 *",
            "[A \"b\"]\n\n1. e4 (1. d4\n[%x] 2. d4",
            "[A \"b]\n[B \"c\"]\n\n1. e4 1-0",
            "[A \"b]\n[B \"c\"]\n",
            "[Variant \"atomic\"]\n\n1. e4 {\n[%eval 1] 1-0} e5 1/2-1/2",
            "1. e4 } *",
        ] {
            let text = format!("{bad}\n[Event \"next\"]\n\n1. d4 *\n{bad}\n\n[Event \"last\"]\n\n*\n");
            let read: Vec<_> = PgnReader::new(&text).map(|game| game.ok().map(|game| game.tags)).collect();
            let tag = |value: &str| Some(vec![("Event".to_owned(), value.to_owned())]);
            assert_eq!(read, [None, tag("next"), None, tag("last")], "{text}");
        }
        let games: Vec<_> = PgnReader::new("1. Ke3 *\n1. d4 *").map(|game| game.is_ok()).collect();
        assert_eq!(games, [false, true]);
    }

    #[test]
    fn faults_name_their_place() {
        for (text, place, part) in [
            ("1. e4 e5\n2. Ke3 *", "game 1, line 2", "Ke3"),
            ("1. e4 {never ends", "game 1, line 1", "comment"),
            ("1. e4 (1. d4", "game 1, line 1", "variation"),
            ("1. e4 *\n[Event \"x]\n", "game 2, line 2", "tag"),
            ("[Variant \"atomic\"]\n\n1. e4 *", "game 1, line 3", "atomic"),
            ("1. e4 } *", "game 1, line 1", "}"),
        ] {
            let error = PgnReader::new(text).find_map(Result::err).unwrap().to_string();
            assert!(error.contains(place) && error.contains(part), "{text}: {error}");
        }
    }
}
