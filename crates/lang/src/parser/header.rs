//! The header line.

use super::Cursor;
use crate::{
    command::{Commands, Form, Forms, Given, Top, rules_of_header},
    hallucination::Hallucination,
    vocab::{self, DIGITS, Token},
};
use mavis_value::Mistake;

/// Reads a header; a compact trace may leave out the previous state, which the caller decides on.
pub(crate) fn read_commands(cursor: &mut Cursor<'_>) -> Result<Commands, Hallucination> {
    let begin = cursor.at();
    let rules =
        rules_of_header(cursor.next()?).ok_or_else(|| cursor.unexpected(begin, "the header of a game"))?;
    let previous = read_forms(vocab::HEADER_PREV_STATE, vocab::HEADER_PREV_FEN, cursor)?;
    let at = cursor.at();
    let tracking = cursor.skip(vocab::HEADER_PREV_ACTION);
    let current = read_forms(vocab::HEADER_STATE, vocab::HEADER_FEN, cursor)?
        .ok_or_else(|| cursor.unexpected(cursor.at(), "' %state' or ' %FEN'"))?;
    let given = match (previous, tracking) {
        (forms, true) => Given::Previous { forms, tracked: current },
        (None, false) => Given::Current(current),
        (Some(_), false) => return Err(cursor.unexpected(at, "' %prev_action'")),
    };
    let top = if cursor.skip(vocab::HEADER_TOP_ALL) {
        Some(Top::All)
    } else if cursor.skip(vocab::HEADER_TOP) {
        Some(Top::Best(read_number(cursor)?))
    } else {
        None
    };
    let best = cursor.skip(vocab::HEADER_BEST);
    let next = read_forms(vocab::HEADER_STATE, vocab::HEADER_FEN, cursor)?;
    cursor.take(vocab::HEADER_END)?;
    let commands = Commands { rules, given, top, best, next };
    commands.validate().map_err(|error| Hallucination::new(begin, Mistake::Malformed, error.to_string()))?;
    Ok(commands)
}

/// One or two different forms, or none.
fn read_forms(state: Token, fen: Token, cursor: &mut Cursor<'_>) -> Result<Option<Forms>, Hallucination> {
    let begin = cursor.at();
    let mut forms = Vec::new();
    loop {
        if cursor.skip(state) {
            forms.push(Form::State);
        } else if cursor.skip(fen) {
            forms.push(Form::Fen);
        } else {
            break;
        }
    }
    if forms.is_empty() {
        return Ok(None);
    }
    let forms = Forms::from_slice(&forms);
    forms.map(Some).ok_or_else(|| Hallucination::new(begin, Mistake::Malformed, "the same position twice"))
}

/// A number in plain digits, without leading zeros, 1 to 65,535.
pub(crate) fn read_number(cursor: &mut Cursor<'_>) -> Result<u16, Hallucination> {
    let begin = cursor.at();
    let mut number: Option<u16> = None;
    while let Some(digit) = cursor.peek().and_then(|token| DIGITS.place(token)) {
        number = match number {
            None if digit > 0 => Some(digit),
            Some(so_far) => so_far.checked_mul(10).and_then(|tens| tens.checked_add(digit)),
            None => None,
        };
        if number.is_none() {
            return Err(cursor.unexpected(begin, "a number from 1 to 65535"));
        }
        cursor.next()?;
    }
    number.ok_or_else(|| cursor.unexpected(begin, "a number"))
}
