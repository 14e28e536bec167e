//! Places: which field of which board a token of a text stands for.
//!
//! A state has one token a field, so a network can only tell the field by counting tokens from the opening of the line. A place says it at
//! once: the same square has the same place wherever it is written, in the previous state and the next, in `%state` and in `%FEN`. The place of a token
//! depends on it and on what stands before it, so it is known while a text is being written.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    command::rules_of_header,
    state::{chess, state_len},
    vocab::{self, DIGITS, Token, is_spaced},
};
use mavis_game::Rules;

/// Columns of the widest board of Hex: a cell has the same place on boards of every size.
const WIDEST: usize = 19;

/// The places of a game: the first, and how many.
const CHESS: (usize, usize) = (1, chess::WIDTH);
const CONNECT4: (usize, usize) = (CHESS.0 + CHESS.1, 43);
const OTHELLO: (usize, usize) = (CONNECT4.0 + CONNECT4.1, 65);
const TOGYZ: (usize, usize) = (OTHELLO.0 + OTHELLO.1, 23);
const HEX: (usize, usize) = (TOGYZ.0 + TOGYZ.1, 1 + WIDEST * WIDEST);

/// How many places there are; 0 is that of a token which is no field of a state.
pub const N_PLACES: usize = HEX.0 + HEX.1;

/// The places of the tokens of a text from `from` on.
#[must_use]
pub fn places(text: &[Token], from: usize) -> Vec<u32> {
    let before = text.get(..from).unwrap_or(text);
    // What a place depends on begins with the header before it at the earliest.
    let start = before.iter().rposition(|&token| rules_of_header(token).is_some()).unwrap_or(0);
    let mut reader = Reader::default();
    let tokens = text.iter().skip(start);
    tokens.map(|&token| reader.place(token) as u32).skip(before.len() - start).collect()
}

/// Reads a text token by token.
#[derive(Default)]
struct Reader {
    rules: Option<Rules>,
    line: Line,
}

/// The line at hand.
#[derive(Default)]
enum Line {
    /// One without a state.
    #[default]
    Other,
    /// A state, and the field that comes next.
    State(usize),
    Fen(Fen),
}

/// How far a FEN is read.
#[derive(Default)]
struct Fen {
    /// Parts that are complete; the first one is the board.
    part: usize,
    /// Rows of the board that are complete, from the eighth down.
    row: usize,
    file: usize,
    /// Tokens of the part at hand.
    n_tokens: usize,
}

impl Reader {
    fn place(&mut self, token: Token) -> usize {
        if let Some(rules) = rules_of_header(token) {
            (self.rules, self.line) = (Some(rules), Line::Other);
            return 0;
        }
        match token {
            vocab::OPEN_STATE | vocab::OPEN_PREV_STATE => self.line = Line::State(0),
            vocab::OPEN_FEN | vocab::OPEN_PREV_FEN => self.line = Line::Fen(Fen::default()),
            vocab::LINE_END => self.line = Line::Other,
            _ => return self.field(token).zip(self.rules).map_or(0, |(field, rules)| place_of(rules, field)),
        }
        0
    }

    /// The field that a token of the line at hand stands for.
    fn field(&mut self, token: Token) -> Option<usize> {
        match &mut self.line {
            Line::Other => None,
            Line::State(next) => {
                *next += 1;
                Some(*next - 1)
            }
            Line::Fen(fen) => fen.field(token),
        }
    }
}

impl Fen {
    /// As in a chess state: a number of empty squares has the place of the first of them, and letters and digits of a part count on.
    fn field(&mut self, token: Token) -> Option<usize> {
        if is_spaced(token) {
            (self.part, self.n_tokens) = (self.part + 1, 0);
        }
        self.n_tokens += 1;
        match self.part {
            0 if token == vocab::SLASH => {
                (self.row, self.file) = (self.row + 1, 0);
                None
            }
            0 => {
                let field =
                    (self.row < 8 && self.file < 8).then(|| chess::SQUARES + 8 * (7 - self.row) + self.file);
                self.file += DIGITS.place(token).map_or(1, usize::from);
                field
            }
            1 => Some(0),
            2 => Some(chess::RIGHTS + (self.n_tokens - 1).min(3)),
            3 => Some(chess::EN_PASSANT),
            4 => Some(chess::HALFMOVES),
            _ => Some(chess::FULLMOVES),
        }
    }
}

/// The place of a field; 0 beyond the last one.
fn place_of(rules: Rules, field: usize) -> usize {
    if field >= state_len(rules) {
        return 0;
    }
    match rules {
        Rules::Chess | Rules::Chess960 => CHESS.0 + field,
        Rules::Connect4 => CONNECT4.0 + field,
        Rules::Othello => OTHELLO.0 + field,
        Rules::Togyz => TOGYZ.0 + field,
        Rules::Hex { size, .. } => match field.checked_sub(1) {
            None => HEX.0,
            Some(cell) => HEX.0 + 1 + cell / usize::from(size) * WIDEST + cell % usize::from(size),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commands, Form, Forms, Given, Request, vocabulary};
    use mavis_game::{Game, Position};
    use std::collections::HashSet;

    const GAMES: [Rules; 8] = [
        Rules::Chess,
        Rules::Chess960,
        Rules::Connect4,
        Rules::Othello,
        Rules::Togyz,
        Rules::Hex { size: 3, swap: false },
        Rules::Hex { size: 11, swap: true },
        Rules::Hex { size: 19, swap: false },
    ];

    fn prompt(rules: Rules, form: Form) -> Vec<Token> {
        let start = Position::start(rules);
        let commands = Commands {
            given: Given::Previous { forms: Forms::from_slice(&[form]), tracked: Forms::State },
            ..Commands::tracking(rules)
        };
        let mv = start.legal_moves()[0];
        Request::after(start, mv, commands).prompt()
    }

    #[test]
    fn every_field_has_a_place_of_its_own_and_nothing_else_has_one() {
        for rules in GAMES {
            let text = prompt(rules, Form::State);
            let places = places(&text, 0);
            let open = text.iter().position(|&token| token == vocab::OPEN_PREV_STATE).unwrap();
            let fields = open + 1..open + 1 + state_len(rules);
            let of_state: HashSet<u32> = places[fields.clone()].iter().copied().collect();
            assert_eq!(of_state.len(), state_len(rules), "{rules:?}");
            assert!(of_state.iter().all(|&place| place > 0 && (place as usize) < N_PLACES));
            let others = (0..text.len()).filter(|at| !fields.contains(at));
            assert!(others.into_iter().all(|at| places[at] == 0), "{rules:?}");
        }
    }

    #[test]
    fn games_share_no_place_but_the_kinds_of_chess_and_sizes_of_a_board() {
        let first_and_last = |rules| (place_of(rules, 0), place_of(rules, state_len(rules) - 1));
        let mut ranges: Vec<(usize, usize)> =
            [GAMES[0], GAMES[2], GAMES[3], GAMES[4], GAMES[7]].map(first_and_last).to_vec();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
        assert_eq!(ranges.last().unwrap().1, N_PLACES - 1);
        assert_eq!(first_and_last(GAMES[0]), first_and_last(GAMES[1]));
        // b2 on boards of 3 and of 19.
        assert_eq!(place_of(GAMES[5], 1 + 3 + 1), place_of(GAMES[7], 1 + 19 + 1));
    }

    #[test]
    fn a_fen_has_the_places_of_the_state() {
        let fen = "r3k2r/8/8/8/4P3/8/8/4K2R b Kkq e3 0 12";
        let mut text = vec![vocab::HEADER_CHESS, vocab::OPEN_FEN];
        vocabulary().encode_into(fen, &mut text).unwrap();
        text.push(vocab::LINE_END);
        let found: Vec<(String, u32)> = text
            .iter()
            .zip(places(&text, 0))
            .filter(|(_, place)| *place > 0)
            .map(|(&token, place)| (vocabulary().string(token).unwrap().to_owned(), place - 1))
            .collect();
        let square = |name: &str| {
            let [file, rank] = name.as_bytes() else { panic!() };
            (chess::SQUARES + usize::from(rank - b'1') * 8 + usize::from(file - b'a')) as u32
        };
        let expected: Vec<(&str, u32)> = vec![
            ("r", square("a8")),
            ("3", square("b8")),
            ("k", square("e8")),
            ("2", square("f8")),
            ("r", square("h8")),
            ("8", square("a7")),
            ("8", square("a6")),
            ("8", square("a5")),
            ("4", square("a4")),
            ("P", square("e4")),
            ("3", square("f4")),
            ("8", square("a3")),
            ("8", square("a2")),
            ("4", square("a1")),
            ("K", square("e1")),
            ("2", square("f1")),
            ("R", square("h1")),
            (" b", 0),
            (" K", chess::RIGHTS as u32),
            ("k", chess::RIGHTS as u32 + 1),
            ("q", chess::RIGHTS as u32 + 2),
            (" e3", chess::EN_PASSANT as u32),
            (" 0", chess::HALFMOVES as u32),
            (" 12", chess::FULLMOVES as u32),
        ];
        let found: Vec<(&str, u32)> = found.iter().map(|(text, place)| (text.as_str(), *place)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_text_may_be_read_from_anywhere_and_any_text_has_places() {
        let mut text = prompt(Rules::Chess, Form::Fen);
        text.extend(prompt(Rules::Hex { size: 5, swap: false }, Form::State));
        let whole = places(&text, 0);
        for from in 0..=text.len() + 1 {
            assert_eq!(places(&text, from), whole.get(from..).unwrap_or_default(), "{from}");
        }
        // Fields, slashes and digits without end.
        let noise = (0..20_000_u32).map(|n| (n * n % 97 % vocabulary().len() as u32) as Token);
        let noise: Vec<Token> = [vocab::HEADER_CHESS, vocab::OPEN_FEN].into_iter().chain(noise).collect();
        assert!(places(&noise, 0).iter().all(|&place| (place as usize) < N_PLACES));
    }
}
