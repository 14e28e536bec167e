//! Rules: legal moves, reading and writing games.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::Body;
use crate::{
    ApiError,
    place::{self, Game, MOST_MOVES},
    wire::{ExportRequest, ExportView, Fault, ImportRequest, Place, PositionView},
};
use axum::Json;
use mavis_data::pgn::{PgnGame, PgnReader};
use mavis_game::{Game as _, Position, Rules};

/// A position and its legal moves.
#[utoipa::path(post, path = "/api/position", request_body = Place,
    responses((status = 200, body = PositionView), (status = 400, body = Fault)))]
pub(crate) async fn position(Body(place): Body<Place>) -> Result<Json<PositionView>, ApiError> {
    Ok(Json(Game::read(&place)?.view()))
}

/// Reads PGN, position text or moves.
#[utoipa::path(post, path = "/api/import", request_body = ImportRequest,
    responses((status = 200, body = Place), (status = 400, body = Fault)))]
pub(crate) async fn import(Body(request): Body<ImportRequest>) -> Result<Json<Place>, ApiError> {
    let rules = place::rules(&request.game)?;
    let text = request.text.trim();
    if text.is_empty() {
        return Err(ApiError::bad("nothing to read: paste PGN, a position or moves"));
    }
    if text.starts_with('[') {
        return from_pgn(text).map(Json);
    }
    if let Ok(position) = Position::parse(rules, text) {
        let start = Some(position.to_string());
        return Ok(Json(Place { game: rules.to_string(), start, moves: Vec::new() }));
    }
    from_moves(rules, text).map(Json)
}

fn from_pgn(text: &str) -> Result<Place, ApiError> {
    let game = PgnReader::new(text).next().ok_or_else(|| ApiError::bad("no game in the PGN"))?;
    let game = game.map_err(ApiError::bad)?;
    let rules = game.start.rules();
    let is_usual = game.start == Position::start(rules);
    let mut position = game.start.clone();
    let mut moves = Vec::new();
    for made in game.moves.iter().take(MOST_MOVES) {
        moves.push(position.move_text(made.mv));
        position.play_unchecked(made.mv);
    }
    let start = (!is_usual).then(|| game.start.to_string());
    Ok(Place { game: rules.to_string(), start, moves })
}

/// Moves one after another, with or without numbers, results and comments; `4435` is four columns.
fn from_moves(rules: Rules, text: &str) -> Result<Place, ApiError> {
    let digits = matches!(rules, Rules::Connect4 | Rules::Togyz);
    let joined = digits && !text.contains([' ', ',']) && text.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<String> =
        if joined { text.chars().map(String::from).collect() } else { words(text, digits) };
    let mut position = Position::start(rules);
    let mut moves = Vec::new();
    for (word, number) in words.iter().take(MOST_MOVES + 1).zip(1..) {
        let mv = position.parse_move(word).map_err(|error| {
            let what = if number == 1 { "neither a position nor PGN nor moves: " } else { "" };
            ApiError::bad(format!("{what}move {number}: {error}"))
        })?;
        moves.push(position.move_text(mv));
        position.play_unchecked(mv);
    }
    let place = Place { game: rules.to_string(), start: None, moves };
    Game::read(&place)?;
    Ok(place)
}

/// Words that are moves: no numbers (`1.`, `1...`), results or comments in braces.
fn words(text: &str, digits: bool) -> Vec<String> {
    let mut depth = 0_usize;
    let outside: String = text
        .chars()
        .filter(|&character| {
            match character {
                '{' | '(' => depth = depth.saturating_add(1),
                '}' | ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    outside
        .split([' ', ',', ';', '\n', '\t', '\r'])
        .map(|word| match word.rsplit_once('.') {
            Some((number, mv)) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => mv,
            _ => word,
        })
        .filter(|word| !word.is_empty() && !["1-0", "0-1", "1/2-1/2", "*"].contains(word))
        .filter(|word| digits || !word.bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Writes a game as PGN.
#[utoipa::path(post, path = "/api/export", request_body = ExportRequest,
    responses((status = 200, body = ExportView), (status = 400, body = Fault)))]
pub(crate) async fn export(Body(request): Body<ExportRequest>) -> Result<Json<ExportView>, ApiError> {
    let game = Game::read(&request.place)?;
    let result = match (game.position.outcome(), request.result.as_deref()) {
        (Some(outcome), _) => outcome.as_str(),
        (None, Some(given)) => ["1-0", "0-1", "1/2-1/2", "*"]
            .into_iter()
            .find(|known| *known == given)
            .ok_or_else(|| ApiError::bad(format!("result '{given}' is not 1-0, 0-1, 1/2-1/2 or *")))?,
        (None, None) => "*",
    };
    let [first, second] =
        request.players.unwrap_or_else(|| ["?".to_owned(), "?".to_owned()]).map(|name| one_line(&name));
    let pgn = PgnGame::played(&game.start, &game.moves, [&first, &second], result);
    Ok(Json(ExportView { pgn: pgn.to_string() }))
}

fn one_line(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(100).collect()
}
