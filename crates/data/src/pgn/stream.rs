//! Games out of a file of any length.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::reader::{RESULTS, looks_like_tag};
use super::{PgnError, PgnGame, PgnReader};
use mavis_game::Rules;
use std::io::{self, BufRead, Read as _};

/// The longest line worth reading; anything longer is not part of a game.
const LONGEST_LINE: u64 = 1 << 24;

/// Reads the games of a file one after the other and holds the text of one at a time.
#[derive(Debug)]
pub struct PgnStream<R> {
    source: R,
    rules: Option<Rules>,
    /// The first line of the next game, which ended the one before.
    next: String,
    /// Lines before `next`.
    n_lines: usize,
    n_games: usize,
}

impl<R: BufRead> PgnStream<R> {
    /// Reads a file from its beginning; `rules` as in [`PgnReader::with_rules`].
    pub fn new(source: R, rules: Option<Rules>) -> Self {
        Self { source, rules, next: String::new(), n_lines: 0, n_games: 0 }
    }

    /// The next games, usually one: text without tags or blank lines between its games is read at once. Empty at the end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn games(&mut self) -> io::Result<Vec<Result<PgnGame, PgnError>>> {
        loop {
            let (first_line, text) = (self.n_lines, self.game_text()?);
            if text.is_empty() {
                return Ok(Vec::new());
            }
            let games: Vec<_> = PgnReader::new(&text)
                .with_rules(self.rules)
                .map(|game| {
                    self.n_games += 1;
                    game.map_err(|error| PgnError {
                        game: self.n_games,
                        line: first_line + error.line,
                        ..error
                    })
                })
                .collect();
            if !games.is_empty() {
                return Ok(games);
            }
        }
    }

    /// Lines up to a blank one after a result, or up to the tags of the next game.
    fn game_text(&mut self) -> io::Result<String> {
        let mut text = std::mem::take(&mut self.next);
        self.n_lines += usize::from(!text.is_empty());
        let (mut has_moves, mut in_comment, mut has_result) = (false, false, false);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if self.source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(text);
            }
            let line = String::from_utf8_lossy(&bytes);
            let words = line.trim();
            if has_moves && looks_like_tag(&line) {
                self.next = line.into_owned();
                return Ok(text);
            }
            self.n_lines += 1;
            text.push_str(&line);
            if words.is_empty() {
                if has_result && !in_comment {
                    return Ok(text);
                }
            } else if in_comment || !words.starts_with('[') {
                has_moves = true;
                in_comment = ends_in_comment(words, in_comment);
                has_result = words.split_whitespace().next_back().is_some_and(|word| RESULTS.contains(&word));
            }
        }
    }
}

/// Whether a line of moves that begins inside a comment, or not, ends inside one. Braces do not nest.
fn ends_in_comment(line: &str, begins_inside: bool) -> bool {
    line.chars().fold(begins_inside, |inside, letter| match letter {
        '{' => true,
        '}' => false,
        _ => inside,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream reads what a reader of the whole text does.
    fn check(text: &str) {
        let mut stream = PgnStream::new(text.as_bytes(), None);
        let mut streamed = Vec::new();
        loop {
            let games = stream.games().unwrap();
            if games.is_empty() {
                break;
            }
            streamed.extend(games);
        }
        assert_eq!(streamed, PgnReader::new(text).collect::<Vec<_>>(), "{text}");
    }

    #[test]
    fn a_stream_reads_what_the_reader_of_a_text_does() {
        for text in [
            "",
            "\n\n",
            "1. e4 e5 1-0\n1. d4 1/2-1/2\n\n[A \"b\"]\n*",
            "[A \"b\"]\n\n1. e4 {a 1-0\n\n[%eval 1] c} e5\n2. d4 *\n\n\n[A \"c\"]\n[B \"d\"]\n\n*\n\n1. c4 *",
            "[Variant \"hex:size=3\"]\n\n1. a1 {x} b2 2. c1 *\n[Variant \"connect4\"]\n\n1. 4 4 2. 3 *\n",
            "[A \"b\"]\r\n\r\n1. e4 e5 ; 1-0\r\n2. Ke3 Ke7 1-0\r\n\r\n[A \"c\"]\r\n\r\n1. d4 *\r\n",
            "[A \"b]\n[B \"c\"]\n\n1. e4 1-0\n\n1. d4 *\n[Event \"cu",
        ] {
            check(text);
        }
        check(include_str!("../../../game/tests/data/tcec_standard_sample.pgn"));
        check(include_str!("../../../game/tests/data/tcec_frc_dfrc_sample.pgn"));
    }
}
