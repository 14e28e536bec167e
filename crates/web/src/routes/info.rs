//! What the server offers.

use crate::{
    App, presets,
    wire::{InfoView, KindInfo, OptionInfo},
};
use axum::{Json, extract::State};
use mavis_game::Rules;

/// Games, opponents and kinds of player.
#[utoipa::path(get, path = "/api/info", responses((status = 200, body = InfoView)))]
pub(crate) async fn info(State(app): State<App>) -> Json<InfoView> {
    let kinds = app.pool.kinds().iter().filter(|kind| app.policy.offers(kind.name));
    Json(InfoView {
        version: env!("CARGO_PKG_VERSION"),
        games: Rules::ALL.into_iter().map(|rules| presets::game(rules, &app.policy)).collect(),
        kinds: kinds
            .map(|kind| KindInfo {
                name: kind.name,
                help: kind.help,
                options: kind
                    .keys
                    .iter()
                    .map(|key| OptionInfo { name: key.name.clone(), help: key.help.clone() })
                    .collect(),
            })
            .collect(),
        max_seconds: app.limits.limits.thinking.as_secs_f64(),
    })
}
