//! Leagues and training runs on disk, also while they run, and jobs on other machines.

use crate::{
    ApiError, App,
    studies::{self, Kind},
    wire::{Fault, LeagueGame, LeagueView, Place, QueueView, RunView, StudiesView, StudyInfo},
};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use mavis_game::{Game as _, Position};
use mavis_league::{Intervals, report, standings, wire::LeagueStore};
use serde::Deserialize;
use utoipa::IntoParams;

/// Games of a league that are listed, the latest first.
const MOST_GAMES: usize = 500;

/// Which study.
#[derive(Debug, Deserialize, IntoParams)]
pub(crate) struct StudyQuery {
    /// The id that `/api/studies` lists.
    id: String,
}

/// Which game of a league.
#[derive(Debug, Deserialize, IntoParams)]
pub(crate) struct GameQuery {
    /// The league's id.
    id: String,
    /// The game's number.
    game: u64,
}

/// Leagues and training runs below the server's folders.
#[utoipa::path(get, path = "/api/studies", responses((status = 200, body = StudiesView)))]
pub(crate) async fn studies(State(app): State<App>) -> Result<Json<StudiesView>, ApiError> {
    blocking(move || {
        let of = |kind: Kind| {
            let found = studies::find(&app.folders).into_iter().filter(move |study| study.kind == kind);
            found.map(|study| StudyInfo { id: study.id }).collect()
        };
        Ok(StudiesView { leagues: of(Kind::League), runs: of(Kind::Run), queue: app.queue.is_some() })
    })
    .await
}

/// Standings, cross table, strength over time and games of a league.
#[utoipa::path(get, path = "/api/league", params(StudyQuery),
    responses((status = 200, body = LeagueView), (status = 400, body = Fault), (status = 404, body = Fault),
        (status = 502, body = Fault)))]
pub(crate) async fn league(
    State(app): State<App>,
    query: Result<Query<StudyQuery>, QueryRejection>,
) -> Result<Json<LeagueView>, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::Bad(error.body_text()))?;
    blocking(move || {
        let study = studies::named(&app.folders, Kind::League, &query.id)?;
        let failed = |error: &dyn std::fmt::Display| ApiError::Failed(format!("{}: {error}", study.id));
        let (config, mut games) = LeagueStore::read(&study.path).map_err(|error| failed(&error))?;
        let found = standings(&config, &games, Intervals::Sandwich).map_err(|error| failed(&error))?;
        games.sort_by_key(|game| std::cmp::Reverse(game.finished));
        let table = report::json(&found);
        let ranked = |elo: &[f64]| found.order.iter().map(|&player| elo.get(player).copied()).collect();
        Ok(LeagueView {
            history: found.history.iter().map(|(n_games, elo)| (*n_games, ranked(elo))).collect(),
            names: table.players.iter().map(|player| player.name.clone()).collect(),
            standings: serde_json::to_value(table).map_err(|error| failed(&error))?,
            games: games
                .iter()
                .take(MOST_GAMES)
                .map(|game| LeagueGame {
                    game: game.game,
                    first: game.first.clone(),
                    second: game.second.clone(),
                    result: serde_json::to_value(game.result).unwrap_or_default(),
                    reason: game.end.reason.clone(),
                    plies: game.opening.len() + game.moves.len(),
                })
                .collect(),
        })
    })
    .await
}

/// A game of a league, to be replayed.
#[utoipa::path(get, path = "/api/league/game", params(GameQuery),
    responses((status = 200, body = Place), (status = 400, body = Fault), (status = 404, body = Fault),
        (status = 502, body = Fault)))]
pub(crate) async fn game(
    State(app): State<App>,
    query: Result<Query<GameQuery>, QueryRejection>,
) -> Result<Json<Place>, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::Bad(error.body_text()))?;
    blocking(move || {
        let study = studies::named(&app.folders, Kind::League, &query.id)?;
        let failed = |error: &dyn std::fmt::Display| ApiError::Failed(format!("{}: {error}", study.id));
        let (config, games) = LeagueStore::read(&study.path).map_err(|error| failed(&error))?;
        let game = games.into_iter().find(|game| game.game == query.game);
        let game = game.ok_or_else(|| ApiError::NotFound(format!("game {} of {}", query.game, study.id)))?;
        let rules = config.rules().map_err(|error| failed(&error))?;
        let replay = game.positions::<Position>(rules).map_err(|error| failed(&error))?;
        let start = replay.first().map(|(position, _)| position.to_string());
        let usual = Position::start(rules).to_string();
        Ok(Place {
            game: rules.to_string(),
            start: start.filter(|start| *start != usual),
            moves: replay.iter().map(|(position, mv)| position.move_text(*mv)).collect(),
        })
    })
    .await
}

/// Losses and metrics of a training run over its steps.
#[utoipa::path(get, path = "/api/run", params(StudyQuery),
    responses((status = 200, body = RunView), (status = 400, body = Fault), (status = 404, body = Fault),
        (status = 502, body = Fault)))]
pub(crate) async fn run(
    State(app): State<App>,
    query: Result<Query<StudyQuery>, QueryRejection>,
) -> Result<Json<RunView>, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::Bad(error.body_text()))?;
    blocking(move || {
        let study = studies::named(&app.folders, Kind::Run, &query.id)?;
        Ok(RunView { curves: studies::curves(&study.path)? })
    })
    .await
}

/// Jobs and workers of the queue that the server was started with.
#[utoipa::path(get, path = "/api/queue",
    responses((status = 200, body = QueueView), (status = 404, body = Fault), (status = 502, body = Fault)))]
pub(crate) async fn queue(State(app): State<App>) -> Result<Json<QueueView>, ApiError> {
    let queue = app.queue.clone();
    let queue = queue.ok_or_else(|| {
        ApiError::NotFound("/api/queue: the server was started without --cluster ADDRESS".to_owned())
    })?;
    blocking(move || Ok(QueueView { status: queue().map_err(ApiError::Failed)? })).await
}

/// Reads files or waits for servers on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ApiError::Failed("reading stopped".to_owned()))).map(Json)
}
