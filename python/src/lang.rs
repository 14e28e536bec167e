//! The MAV language: tokens, prompts, examples, and what a text means.

use crate::{arrays::bytes_of, bad_input, position::Position};
use mavis_bundled::wire::CheckRecord;
use mavis_game::{Game as _, Move, Position as AnyPosition, Rules};
use mavis_lang::{
    Answer, Commands, Listing, Request, Start, Token, Variety, check_answer, export, parse_commands,
    parse_example, parse_request, report,
};
use pyo3::{prelude::*, types::PyByteArray};
use serde::Serialize;

/// Splits a text into tokens, as bytes of uint16.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn encode<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyByteArray>> {
    bytes_of(py, &mavis_lang::vocabulary().encode(text).map_err(bad_input)?)
}

/// The text of tokens.
#[pyfunction]
#[pyo3(signature = (tokens, /))]
pub(crate) fn decode(tokens: Vec<Token>) -> PyResult<String> {
    mavis_lang::vocabulary().decode(&tokens).map_err(bad_input)
}

/// Every token's string in the order of ids.
#[pyfunction]
pub(crate) fn vocabulary() -> Vec<&'static str> {
    mavis_lang::vocabulary().strings().collect()
}

/// The vocabulary as a `tokenizer.json` of Hugging Face.
#[pyfunction]
pub(crate) fn tokenizer_json() -> String {
    export::tokenizer_json()
}

/// The `tokenizer_config.json` beside it.
#[pyfunction]
pub(crate) fn tokenizer_config_json() -> String {
    export::tokenizer_config_json()
}

/// The request about a position that commands name, such as `%state %top_all %best_action`; with a move, about what follows it.
pub(crate) fn request(
    position: &AnyPosition,
    commands: Option<&str>,
    track: Option<&str>,
) -> PyResult<Request> {
    let rules = position.rules();
    let named = commands.map(|text| parse_commands(rules, text)).transpose();
    let named = named.map_err(|error| bad_input(format!("commands: {}", error.reason)))?;
    let request = match track {
        Some(text) => {
            let mv = position.parse_move(text).map_err(bad_input)?;
            let state = Commands { top: None, best: false, ..Commands::tracking(rules) };
            Request::after(position.clone(), mv, named.unwrap_or(state))
        }
        None => Request::at(position.clone(), named.unwrap_or_else(|| Commands::top_all_best(rules))),
    };
    request.validate().map_err(bad_input)?;
    Ok(request)
}

/// The prompt of a request as tokens, bytes of uint16.
#[pyfunction]
#[pyo3(signature = (position, commands = None, track = None))]
pub(crate) fn prompt<'py>(
    py: Python<'py>,
    position: PyRef<'_, Position>,
    commands: Option<&str>,
    track: Option<&str>,
) -> PyResult<Bound<'py, PyByteArray>> {
    bytes_of(py, &request(position.get(), commands, track)?.prompt())
}

/// An example from a seed: its tokens as bytes of uint16, and how many of them are input.
#[pyfunction]
pub(crate) fn example<'py>(
    py: Python<'py>,
    game: &str,
    seed: u64,
) -> PyResult<(Bound<'py, PyByteArray>, usize)> {
    let rules: Rules = game.parse().map_err(bad_input)?;
    let example = report::sample_example(rules, seed, &Variety::default()).map_err(bad_input)?;
    Ok((bytes_of(py, &example.tokens)?, example.input_len))
}

#[derive(Serialize)]
struct Parsed {
    game: String,
    commands: String,
    /// The position that the input gives.
    position: String,
    /// The move played in it, where state tracking is asked for.
    action: Option<String>,
    answer: Option<Meaning>,
    mistakes: Vec<String>,
}

/// What an answer says.
#[derive(Serialize)]
pub(crate) struct Meaning {
    tracked: Option<String>,
    outcome: Option<&'static str>,
    moves: Vec<(String, u8)>,
    best: Option<String>,
    next: Option<String>,
}

impl Meaning {
    pub(crate) fn new(rules: Rules, answer: &Answer) -> Self {
        let text = |mv: Move| mavis_lang::moves::move_text(rules, mv).unwrap_or("?").to_owned();
        let moves = match &answer.listing {
            Some(Listing::Moves(moves)) => {
                moves.iter().map(|&(mv, bucket)| (text(mv), bucket.number())).collect()
            }
            _ => Vec::new(),
        };
        Self {
            tracked: answer.tracked.as_ref().map(ToString::to_string),
            outcome: answer.outcome().map(|outcome| outcome.as_str()),
            moves,
            best: answer.best.map(text),
            next: answer.next.as_ref().map(ToString::to_string),
        }
    }
}

/// What a text of the language means, as JSON: a request, or a request with its answer.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse(text: &str) -> PyResult<String> {
    let tokens = mavis_lang::vocabulary().encode(text).map_err(bad_input)?;
    let (request, length) = parse_request(&tokens).map_err(bad_input)?;
    let rules = request.commands.rules;
    let (position, action) = match &request.start {
        Start::At(position) => (position, None),
        Start::After { previous, action } => (previous, Some(previous.move_text(*action))),
    };
    let mut parsed = Parsed {
        game: rules.to_string(),
        commands: commands_text(text).to_owned(),
        position: position.to_string(),
        action,
        answer: None,
        mistakes: Vec::new(),
    };
    if length < tokens.len() {
        let (request, answer) = parse_example(&tokens).map_err(bad_input)?;
        parsed.mistakes = check_answer(&request, &answer).mistakes.iter().map(ToString::to_string).collect();
        parsed.answer = Some(Meaning::new(rules, &answer));
    }
    serde_json::to_string(&parsed).map_err(bad_input)
}

/// The words of a header between its brackets.
fn commands_text(text: &str) -> &str {
    let header = text.split_once("</mav>").map_or("", |(header, _)| header);
    header.split_once('>').map_or("", |(_, commands)| commands).trim()
}

/// Judges a text of model answers, records separated by empty lines; the JSON of `mavis lang check`.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn check(py: Python<'_>, text: &str) -> PyResult<String> {
    let report = py.detach(|| report::check(text));
    serde_json::to_string(&CheckRecord::from(&report)).map_err(bad_input)
}
