//! From tokens or text to meaning: strict and total.
//!
//! Only the one spelling that this crate writes is accepted, so whatever parses prints back token for token; and
//! whatever a model wrote, the result is a value or a [`Hallucination`], never a panic.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod cursor;
mod header;

pub(crate) use cursor::Cursor;
pub(crate) use header::{read_commands, read_number};

use crate::{
    answer::{Answer, Listing},
    command::{Commands, Form, Forms, Given, Top, header_token},
    example::outcome_of,
    hallucination::Hallucination,
    moves,
    request::{Request, RequestError, Start, open_token},
    state::{self, StateError},
    value::bucket_of,
    vocab::{self, LINE_END, Token, vocabulary},
};
use mavis_game::{Move, Position, Rules};
use mavis_value::{Bucket, Mistake};

/// Reads an answer to a request: the tokens after its prompt, openings included, the stop token excluded.
///
/// This checks the language and what the answer alone shows; whether it is true is the business of [`check_answer`](crate::check_answer).
///
/// # Errors
/// With the first thing that is not of the language, its place counted from the first token of the answer.
pub fn parse_answer(request: &Request, tokens: &[Token]) -> Result<Answer, Hallucination> {
    let mut cursor = Cursor::new(tokens);
    let answer = read_answer(&request.commands, &mut cursor)?;
    cursor.end()?;
    Ok(answer)
}

/// Reads the position after the given move, with which answers that track it begin, and nothing else.
///
/// # Errors
/// With the first thing that is not of the language, and where the commands ask for no such position.
pub fn parse_tracked(commands: &Commands, tokens: &[Token]) -> Result<Position, Hallucination> {
    let mut cursor = Cursor::new(tokens);
    let Given::Previous { tracked, .. } = commands.given else {
        return Err(Hallucination::new(0, Mistake::Malformed, "no position is tracked"));
    };
    let position = read_forms(commands, tracked, open_token, &mut cursor)?;
    cursor.end()?;
    Ok(position)
}

/// Reads header and input lines; returns how many tokens they take as well.
///
/// # Errors
/// With the first thing that is not of the language.
pub fn parse_request(tokens: &[Token]) -> Result<(Request, usize), Hallucination> {
    let mut cursor = Cursor::new(tokens);
    let request = read_request(&mut cursor)?;
    Ok((request, cursor.at()))
}

/// Reads a whole example: request and answer.
///
/// # Errors
/// With the first thing that is not of the language.
pub fn parse_example(tokens: &[Token]) -> Result<(Request, Answer), Hallucination> {
    let mut cursor = Cursor::new(tokens);
    let request = read_request(&mut cursor)?;
    let answer = read_answer(&request.commands, &mut cursor)?;
    cursor.end()?;
    Ok((request, answer))
}

/// Reads the commands of a header without its brackets, such as `%state %top_5 %best_action %FEN`.
///
/// # Errors
/// With the first thing that is not of the language, or with commands that make no sense together.
pub fn parse_commands(rules: Rules, text: &str) -> Result<Commands, Hallucination> {
    let mut tokens = vec![header_token(rules)];
    let words: String = text.split_whitespace().map(|word| format!(" {word}")).collect();
    tokens.extend(encode(&format!("{words} </mav>\n"))?);
    let mut cursor = Cursor::new(&tokens);
    let commands = read_commands(&mut cursor)?;
    cursor.end()?;
    Ok(commands)
}

/// Reads a whole example from text.
///
/// # Errors
/// With the first thing that is not of the language.
pub fn parse_example_text(text: &str) -> Result<(Request, Answer), Hallucination> {
    parse_example(&encode(text)?)
}

/// Splits text into tokens, with a failure as a hallucination.
pub(crate) fn encode(text: &str) -> Result<Vec<Token>, Hallucination> {
    let mut tokens = Vec::new();
    match vocabulary().encode_into(text, &mut tokens) {
        Ok(()) => Ok(tokens),
        Err(error) => Err(Hallucination::new(tokens.len(), Mistake::Malformed, error.to_string())),
    }
}

fn read_request(cursor: &mut Cursor<'_>) -> Result<Request, Hallucination> {
    let begin = cursor.at();
    let commands = read_commands(cursor)?;
    let start = match commands.given {
        Given::Current(forms) => Start::At(read_forms(&commands, forms, open_token, cursor)?),
        Given::Previous { forms: Some(forms), .. } => {
            let previous = read_forms(&commands, forms, open_previous, cursor)?;
            Start::After { previous, action: read_previous_action(&commands, cursor)? }
        }
        Given::Previous { forms: None, .. } => {
            return Err(Hallucination::new(begin, Mistake::Malformed, "no previous state is given"));
        }
    };
    let at = cursor.at();
    let request = Request { commands, start };
    request.validate().map_err(|error| {
        let kind = match error {
            RequestError::IllegalAction => Mistake::IllegalMove,
            _ => Mistake::Malformed,
        };
        Hallucination::new(at.saturating_sub(2), kind, error.to_string())
    })?;
    Ok(request)
}

pub(crate) fn read_answer(commands: &Commands, cursor: &mut Cursor<'_>) -> Result<Answer, Hallucination> {
    let mut answer = Answer::default();
    if let Given::Previous { tracked, .. } = commands.given {
        answer.tracked = Some(read_forms(commands, tracked, open_token, cursor)?);
    }
    let Some(top) = commands.top else { return Ok(answer) };
    let listing = read_listing(commands, top, cursor)?;
    let over = matches!(listing, Listing::Over(_));
    answer.listing = Some(listing);
    if !commands.best || over {
        return Ok(answer);
    }
    cursor.take(vocab::BEST_ACTION)?;
    answer.best = Some(read_move(commands, cursor)?);
    cursor.take(LINE_END)?;
    if let Some(forms) = commands.next {
        answer.next = Some(read_forms(commands, forms, open_token, cursor)?);
    }
    Ok(answer)
}

fn read_listing(commands: &Commands, top: Top, cursor: &mut Cursor<'_>) -> Result<Listing, Hallucination> {
    let mut opening = Vec::new();
    commands.write_list_opening(&mut opening);
    for token in opening {
        cursor.take(token)?;
    }
    if cursor.skip(vocab::INVALID) {
        let at = cursor.at();
        let outcome = cursor.next()?;
        let outcome = outcome_of(outcome).ok_or_else(|| cursor.unexpected(at, "an outcome"))?;
        cursor.take(LINE_END)?;
        return Ok(Listing::Over(outcome));
    }
    let mut listed: Vec<(Move, Bucket)> = Vec::new();
    loop {
        let at = cursor.at();
        let mv = read_move(commands, cursor)?;
        if listed.iter().any(|&(earlier, _)| earlier == mv) {
            return Err(Hallucination::new(
                at,
                Mistake::RepeatedMove,
                format!("{} is listed twice", shown(commands, mv)),
            ));
        }
        if matches!(top, Top::Best(k) if listed.len() >= usize::from(k)) {
            return Err(Hallucination::new(at, Mistake::Malformed, "more moves than requested"));
        }
        let at = cursor.at();
        let value = cursor.next()?;
        let value = bucket_of(value).ok_or_else(|| cursor.unexpected(at, "a value"))?;
        listed.push((mv, value));
        if cursor.skip(LINE_END) {
            return Ok(Listing::Moves(listed));
        }
    }
}

/// A move of the game, legal or not.
pub(crate) fn read_move(commands: &Commands, cursor: &mut Cursor<'_>) -> Result<Move, Hallucination> {
    let at = cursor.at();
    let token = cursor.next()?;
    moves::move_of(commands.rules, token)
        .ok_or_else(|| cursor.unexpected(at, &format!("a move of {}", commands.rules.name())))
}

pub(crate) fn read_previous_action(
    commands: &Commands,
    cursor: &mut Cursor<'_>,
) -> Result<Move, Hallucination> {
    cursor.take(vocab::OPEN_PREV_ACTION)?;
    let action = read_move(commands, cursor)?;
    cursor.take(LINE_END)?;
    Ok(action)
}

/// The lines of one position; all of them must mean the same.
pub(crate) fn read_forms(
    commands: &Commands,
    forms: Forms,
    opening: impl Fn(Form) -> Token,
    cursor: &mut Cursor<'_>,
) -> Result<Position, Hallucination> {
    let mut found: Option<Position> = None;
    for &form in forms.as_slice() {
        cursor.take(opening(form))?;
        let at = cursor.at();
        let position = match form {
            Form::State => {
                let fields = cursor.take_some(state::state_len(commands.rules))?;
                state::read_state(commands.rules, fields).map_err(|error| placed(at, error))?
            }
            Form::Fen => {
                let letters = cursor.take_until(LINE_END)?;
                state::read_fen(commands.rules, letters).map_err(|error| placed(at, error))?
            }
        };
        cursor.take(LINE_END)?;
        if found.as_ref().is_some_and(|earlier| !state::same_state(earlier, &position)) {
            return Err(Hallucination::new(
                at,
                Mistake::WrongState,
                "state and FEN are of different positions",
            ));
        }
        // A FEN counts moves beyond what a state can show, so it is the one to keep.
        if found.is_none() || form == Form::Fen {
            found = Some(position);
        }
    }
    found.ok_or_else(|| Hallucination::new(cursor.at(), Mistake::Malformed, "no position is given"))
}

pub(crate) const fn open_previous(form: Form) -> Token {
    match form {
        Form::State => vocab::OPEN_PREV_STATE,
        Form::Fen => vocab::OPEN_PREV_FEN,
    }
}

fn placed(at: usize, error: StateError) -> Hallucination {
    let (at, kind) = match error {
        StateError::Field { at: field, .. } => (at.saturating_add(field), Mistake::Malformed),
        StateError::Width { .. } => (at, Mistake::Malformed),
        StateError::Impossible(_) => (at, Mistake::WrongState),
    };
    Hallucination::new(at, kind, error.to_string())
}

fn shown(commands: &Commands, mv: Move) -> &'static str {
    moves::move_text(commands.rules, mv).unwrap_or("a move")
}
