//! From text to games.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

use super::{Note, PgnGame, PgnMove, start_of};
use mavis_game::{Game, Position, Rules};

/// Text that is no game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("game {game}, line {line}: {reason}")]
pub struct PgnError {
    /// Which game of the text, from 1.
    pub game: usize,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

/// The words that end a game.
pub(super) const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// The games of a text, one after the other. A game that cannot be read is an error, and the next one follows.
#[derive(Clone, Debug)]
pub struct PgnReader<'a> {
    text: &'a str,
    at: usize,
    /// Decides between the kinds of chess where it is given.
    rules: Option<Rules>,
    n_games: usize,
    /// How far lines have been counted, and how many there were.
    counted: (usize, usize),
}

impl<'a> PgnReader<'a> {
    /// Reads a text from its beginning.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text, at: 0, rules: None, n_games: 0, counted: (0, 1) }
    }

    /// Reads chess as the kind of chess given, and games without a tag `Variant` as the game given; `None` follows the tags.
    #[must_use]
    pub fn with_rules(self, rules: Option<Rules>) -> Self {
        Self { rules, ..self }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n')
    }

    /// The rest of the line, without its end.
    fn line(&self) -> &'a str {
        self.rest().split('\n').next().unwrap_or_default()
    }

    /// Skips blanks and lines that `%` escapes.
    fn skip_blanks(&mut self) {
        while let Some(next) = self.peek() {
            if next == '%' && self.at_line_start() {
                self.at += self.line().len();
            } else if next.is_whitespace() {
                self.at += next.len_utf8();
            } else {
                return;
            }
        }
    }

    /// Takes everything before a mark, and the mark.
    fn take_to(&mut self, mark: char, what: &str) -> Result<&'a str, String> {
        let (text, _) = self.rest().split_once(mark).ok_or_else(|| format!("{what} without an end"))?;
        self.at += text.len() + mark.len_utf8();
        Ok(text)
    }

    fn game(&mut self) -> Result<PgnGame, String> {
        let mut tags = Vec::new();
        while self.peek() == Some('[') {
            tags.push(self.tag()?);
            self.skip_blanks();
        }
        let value = |name: &str| {
            tags.iter().find(|(known, _): &&(String, String)| known == name).map(|(_, value)| value.as_str())
        };
        let start = start_of(value("Variant").unwrap_or_default(), value("FEN"), self.rules)?;
        let mut game = PgnGame {
            tags,
            start: start.clone(),
            preface: Vec::new(),
            moves: Vec::new(),
            result: "*".to_owned(),
        };
        let mut position = start;
        loop {
            self.skip_blanks();
            let note = match self.peek() {
                None | Some('[') => return Ok(game),
                Some('{') => {
                    self.at += 1;
                    Note::Comment(one_line(self.take_to('}', "a comment")?))
                }
                Some(';') => {
                    self.at += 1;
                    let text = self.line();
                    self.at += text.len();
                    Note::Comment(one_line(text))
                }
                Some('(') => Note::Variation(self.variation()?),
                Some('$') => {
                    self.at += 1;
                    let digits = self.word();
                    Note::Glyph(digits.parse().map_err(|_| format!("glyph '${digits}'"))?)
                }
                Some(mark @ (')' | '}')) => return Err(format!("'{mark}' where a move is expected")),
                Some(_) => {
                    let word = self.word();
                    if RESULTS.contains(&word) {
                        game.result = word.to_owned();
                        return Ok(game);
                    }
                    read_move(word, &mut position, &mut game.moves)?;
                    continue;
                }
            };
            match game.moves.last_mut() {
                Some(made) => made.notes.push(note),
                None => game.preface.push(note),
            }
        }
    }

    fn tag(&mut self) -> Result<(String, String), String> {
        let line_end = self.line().len();
        let line = self.line().trim();
        let parts = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let parts = parts.and_then(|line| line.trim().split_once(char::is_whitespace));
        let value = parts.and_then(|(_, value)| value.trim().strip_prefix('"')?.strip_suffix('"'));
        let (Some((name, _)), Some(value)) = (parts, value) else {
            return Err(format!("'{line}' is no tag"));
        };
        self.at += line_end;
        Ok((name.to_owned(), value.replace("\\\"", "\"").replace("\\\\", "\\")))
    }

    /// A variation with those inside it; its comments may hold parentheses.
    fn variation(&mut self) -> Result<String, String> {
        let begin = self.at;
        let mut depth = 0_usize;
        while let Some(next) = self.peek() {
            self.at += next.len_utf8();
            match next {
                '(' => depth += 1,
                ')' => depth -= 1,
                '{' => drop(self.take_to('}', "a comment")?),
                _ => {}
            }
            if depth == 0 {
                let text = self.text.get(begin + 1..self.at - 1).unwrap_or_default();
                return Ok(one_line(text));
            }
        }
        // Back to where it began, so that the games after it are found.
        self.at = begin;
        Err("a variation without an end".to_owned())
    }

    /// Goes to the next game after a fault: behind a result, or to a line that looks like a tag.
    fn skip_game(&mut self) {
        // The other tags of a game with a bad one.
        while self.at_line_start() && self.peek() == Some('[') {
            self.at = (self.at + self.line().len() + 1).min(self.text.len());
        }
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return,
                Some('[') if self.at_line_start() && looks_like_tag(self.line()) => return,
                Some('{') => {
                    self.at += 1;
                    // A comment without an end is skipped word by word.
                    self.take_to('}', "a comment").ok();
                }
                Some(_) if RESULTS.contains(&self.word()) => return,
                Some(_) => {}
            }
        }
    }

    /// The number of the line where the reader stands.
    fn line_number(&mut self) -> usize {
        let (from, lines) = self.counted;
        let passed = self.text.as_bytes().get(from..self.at).unwrap_or_default();
        self.counted = (self.at, lines + passed.iter().filter(|&&byte| byte == b'\n').count());
        self.counted.1
    }

    fn word(&mut self) -> &'a str {
        let ends = |c: char| c.is_whitespace() || "{}();[]$".contains(c);
        let word = self.rest().split(ends).next().unwrap_or_default();
        // What no word begins with must not hold the reader up.
        self.at += if word.is_empty() { self.peek().map_or(0, char::len_utf8) } else { word.len() };
        word
    }
}

impl Iterator for PgnReader<'_> {
    type Item = Result<PgnGame, PgnError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blanks();
        if self.rest().is_empty() {
            return None;
        }
        self.n_games += 1;
        Some(self.game().map_err(|reason| {
            let line = self.line_number();
            self.skip_game();
            PgnError { game: self.n_games, line, reason }
        }))
    }
}

/// Reads a word of movetext: a number, a move, or both in one.
fn read_move(word: &str, position: &mut Position, moves: &mut Vec<PgnMove>) -> Result<(), String> {
    // Digits count as a number only before a dot: columns and pits are digits too.
    let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let word = if digits.starts_with('.') { digits.trim_start_matches('.') } else { word };
    let text = word.trim_end_matches(['!', '?']);
    let glyph = match word.strip_prefix(text).unwrap_or_default() {
        "" => None,
        "!" => Some(1),
        "?" => Some(2),
        "!!" => Some(3),
        "??" => Some(4),
        "!?" => Some(5),
        "?!" => Some(6),
        other => return Err(format!("'{other}' after {text}")),
    };
    if text.is_empty() || text == "e.p." {
        return Ok(());
    }
    let mv = position.parse_move(text).map_err(|error| format!("{error} in {position}"))?;
    position.play_unchecked(mv);
    moves.push(PgnMove { mv, notes: glyph.map(Note::Glyph).into_iter().collect() });
    Ok(())
}

/// Whether a line begins as a tag does: `[Name "`. Comments may hold lines that begin with `[%`.
pub(super) fn looks_like_tag(line: &str) -> bool {
    let name = line.strip_prefix('[').and_then(|rest| rest.split_once('"')).map(|(name, _)| name.trim());
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
