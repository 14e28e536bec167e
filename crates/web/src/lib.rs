//! The page and the HTTP interface: play all six games, and see what a player thinks.
//!
//! The server keeps no game. A request carries the whole [`wire::Place`] (game, start, moves), so the page can be
//! reloaded, linked and left, and any client can ask about any position. [`app`] is the router without a socket, for
//! tests; [`serve`] runs it on a listener that the caller opened, and [`run`] brings a runtime of its own.
//!
//! - `routes/position.rs`: rules (legal moves, import, export); `routes/think.rs`: a move or an analysis by a player;
//!   `routes/search.rs`: a tree while it grows, as server-sent events; `routes/completions.rs`: the embedded model in
//!   OpenAI's form; `routes/studies.rs`: leagues and training runs on disk; `openapi.rs` describes them all.
//! - `guard.rs`: Host, Origin and token; `limits.rs`: bodies, time and searches; `policy.rs`: the players a client may name.
//! - `mcp.rs`: the same thoughts as tools of the Model Context Protocol, over standard input and output.
//! - `page/`: the page itself, plain ES modules, embedded in the binary.
//!
//! Players run on threads of their own; a request that is dropped cancels its search.

#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable
)]

mod assets;
mod connections;
mod error;
mod guard;
mod limits;
mod mcp;
mod openapi;
mod place;
mod policy;
mod pool;
mod presets;
mod routes;
mod studies;
mod thinking;
pub mod wire;
mod writer;

pub use connections::{run, serve};
pub use error::ApiError;
pub use limits::Limits;
pub use mcp::run_tools;
pub use openapi::document as openapi_document;
pub use policy::Policy;
pub use presets::{LEVELS, Level, names};

use axum::{
    Router, middleware,
    routing::{get, post},
};
use mavis_play::{DefaultModel, Registry};
use std::{path::PathBuf, sync::Arc};

/// Reads where a queue of jobs on many machines stands, as `mavis queue status --json` prints it.
pub type QueueSource = Arc<dyn Fn() -> Result<serde_json::Value, String> + Send + Sync>;

/// What a server offers and to whom.
pub struct WebSettings {
    /// The players it knows.
    pub registry: Registry,
    /// The model behind `/v1/completions`.
    pub model: DefaultModel,
    /// Which players a client may name.
    pub policy: Policy,
    /// Limits on what one client may use.
    pub limits: Limits,
    /// Names under which the server may be addressed (the Host header without its port).
    pub hosts: Vec<String>,
    /// Folders below which leagues and training runs are shown.
    pub folders: Vec<PathBuf>,
    /// The queue whose jobs and workers are shown; `None` shows none.
    pub queue: Option<QueueSource>,
    /// A secret that every request must carry; `None` on loopback.
    pub token: Option<String>,
}

/// What all handlers share.
pub(crate) struct Shared {
    pub(crate) policy: Policy,
    pub(crate) limits: limits::Counter,
    pub(crate) hosts: Vec<String>,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) queue: Option<QueueSource>,
    pub(crate) token: Option<String>,
    pub(crate) pool: pool::Pool,
    pub(crate) writer: writer::Writer,
}

/// The shared state as handlers take it.
pub(crate) type App = Arc<Shared>;

/// The router, without a socket.
pub fn app(settings: WebSettings) -> Router {
    router(share(settings))
}

pub(crate) fn share(settings: WebSettings) -> App {
    Arc::new(Shared {
        pool: pool::Pool::new(settings.registry),
        writer: writer::Writer::new(settings.model),
        policy: settings.policy,
        limits: limits::Counter::new(settings.limits),
        hosts: settings.hosts,
        folders: settings.folders,
        queue: settings.queue,
        token: settings.token,
    })
}

pub(crate) fn router(shared: App) -> Router {
    Router::new()
        .route("/api/info", get(routes::info::info))
        .route("/api/position", post(routes::position::position))
        .route("/api/import", post(routes::position::import))
        .route("/api/export", post(routes::position::export))
        .route("/api/choose", post(routes::think::choose))
        .route("/api/analyze", post(routes::think::analyze))
        .route("/api/search", post(routes::search::search))
        .route("/api/studies", get(routes::studies::studies))
        .route("/api/league", get(routes::studies::league))
        .route("/api/league/game", get(routes::studies::game))
        .route("/api/run", get(routes::studies::run))
        .route("/api/queue", get(routes::studies::queue))
        .route("/api/openapi.json", get(openapi::json))
        .route("/v1/models", get(routes::completions::models))
        .route("/v1/completions", post(routes::completions::completions))
        .fallback(assets::asset)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(middleware::from_fn_with_state(shared.clone(), limits::bound_body))
        .layer(middleware::from_fn_with_state(shared.clone(), guard::check))
        .with_state(shared)
}
