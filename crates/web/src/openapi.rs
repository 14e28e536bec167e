//! The OpenAPI description of the interface.

use crate::routes;
use axum::Json;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mavis",
        description = "Play six board games, and see what a player thinks. Loopback only unless the server was told otherwise."
    ),
    paths(
        routes::info::info,
        routes::position::position,
        routes::position::import,
        routes::position::export,
        routes::think::choose,
        routes::think::analyze,
        routes::search::search,
        routes::studies::studies,
        routes::studies::league,
        routes::studies::game,
        routes::studies::run,
        routes::studies::queue,
        routes::completions::models,
        routes::completions::completions,
    )
)]
struct Document;

/// The description as a document.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Serves the description.
pub(crate) async fn json() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}
