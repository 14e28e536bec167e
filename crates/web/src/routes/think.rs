//! A player's move, and what it thinks of the others.

use super::Body;
use crate::{
    ApiError, App,
    place::{line_text, move_text},
    thinking::{Question, work},
    wire::{AnalysisView, ChoiceView, Fault, LanguageText, MoveView, ThinkRequest},
};
use axum::{Json, extract::State, http::Extensions};
use mavis_game::{Game as _, Position};
use mavis_lang::{Answer, Commands, Listing, Request};
use mavis_play::{Analysis, Choice};
use mavis_value::Bucket;
use std::time::Instant;

/// A player's move.
#[utoipa::path(post, path = "/api/choose", request_body = ThinkRequest,
    responses((status = 200, body = ChoiceView), (status = 400, body = Fault), (status = 403, body = Fault),
        (status = 429, body = Fault), (status = 502, body = Fault), (status = 504, body = Fault)))]
pub(crate) async fn choose(
    State(app): State<App>,
    extensions: Extensions,
    Body(request): Body<ThinkRequest>,
) -> Result<Json<ChoiceView>, ApiError> {
    choice(&app, Question::read(&app, &request, &extensions)?).await.map(Json)
}

/// Has a player choose.
pub(crate) async fn choice(app: &App, question: Question) -> Result<ChoiceView, ApiError> {
    let choice = work(app, question, |player, question, cancel| {
        let began = Instant::now();
        let mut sink = |_: &mavis_play::Thought| {};
        let choice = player.choose(&mut question.turn(cancel, &mut sink));
        let choice = choice.map_err(|error| ApiError::Failed(format!("{}: {error}", player.name())))?;
        Ok(choice_view(&question.game.position, player.name(), &choice, began))
    });
    choice.await
}

/// Every move with its value.
#[utoipa::path(post, path = "/api/analyze", request_body = ThinkRequest,
    responses((status = 200, body = AnalysisView), (status = 400, body = Fault), (status = 403, body = Fault),
        (status = 429, body = Fault), (status = 502, body = Fault), (status = 504, body = Fault)))]
pub(crate) async fn analyze(
    State(app): State<App>,
    extensions: Extensions,
    Body(request): Body<ThinkRequest>,
) -> Result<Json<AnalysisView>, ApiError> {
    analysis(&app, Question::read(&app, &request, &extensions)?).await.map(Json)
}

/// Has a player analyze.
pub(crate) async fn analysis(app: &App, question: Question) -> Result<AnalysisView, ApiError> {
    let analysis = work(app, question, |player, question, cancel| {
        let began = Instant::now();
        let mut sink = |_: &mavis_play::Thought| {};
        let analysis = player.analyze(&mut question.turn(cancel, &mut sink));
        let analysis = analysis.map_err(|error| ApiError::Failed(format!("{}: {error}", player.name())))?;
        Ok(analysis_view(&question.game.position, player.name(), &analysis, began))
    });
    analysis.await
}

fn choice_view(position: &Position, player: String, choice: &Choice, began: Instant) -> ChoiceView {
    let thought = &choice.thought;
    ChoiceView {
        player,
        best: move_text(position, choice.mv),
        value: thought.value.filter(|value| value.is_finite()),
        nodes: thought.nodes,
        line: line_text(position, &thought.line),
        note: thought.note.clone(),
        milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn analysis_view(position: &Position, player: String, analysis: &Analysis, began: Instant) -> AnalysisView {
    let finite = |value: Option<f32>| value.filter(|value| value.is_finite());
    AnalysisView {
        choice: choice_view(position, player, &analysis.choice, began),
        moves: analysis
            .moves
            .iter()
            .map(|entry| MoveView {
                text: move_text(position, entry.mv),
                value: finite(entry.value),
                model_value: finite(entry.model_value),
                visits: entry.visits,
                prior: finite(entry.prior),
                centipawns: entry.centipawns,
                mate: entry.mate,
                line: line_text(position, &entry.line),
                distribution: entry.distribution.as_ref().map(|weights| weights.0.to_vec()),
            })
            .collect(),
        text: language(position, analysis),
    }
}

/// The analysis as a model would write it: the request, and the moves with their value tokens.
fn language(position: &Position, analysis: &Analysis) -> LanguageText {
    let commands = Commands::top_all_best(position.rules());
    let valued = analysis.moves.iter().filter_map(|entry| {
        let value = entry.model_value.or(entry.value).filter(|value| value.is_finite())?;
        Some((entry.mv, Bucket::from_win_probability(value)))
    });
    let answer = Answer {
        listing: Some(Listing::Moves(valued.collect())),
        best: Some(analysis.choice.mv),
        ..Answer::default()
    };
    LanguageText {
        prompt: Request::at(position.clone(), commands).prompt_text(),
        answer: answer.text(&commands),
    }
}
