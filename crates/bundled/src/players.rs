//! Every player that needs no terminal.

use mavis_play::{
    Registry, add_engines, add_models, add_mpc, add_oracles, add_predictors, add_scripted, add_servers,
};
use mavis_probs::add_bundled_probs;
use std::ffi::OsString;

/// What players may use of the program's environment.
#[derive(Clone, Default, Debug)]
pub struct Surroundings {
    /// Where engines are looked up, in the form of the variable `PATH`; `None` means engines are named by path.
    pub search_path: Option<OsString>,
    /// Sent to model servers as a bearer token; `None` means no token.
    pub server_key: Option<String>,
}

impl Surroundings {
    /// From the variables `PATH` and `OPENAI_API_KEY` as the caller read them.
    #[must_use]
    pub fn new(search_path: Option<OsString>, server_key: Option<String>) -> Self {
        Self { search_path, server_key: server_key.filter(|key| !key.is_empty()) }
    }
}

/// The registry with all kinds of player; the bundled model is used where no other is named.
#[must_use]
pub fn players(surroundings: &Surroundings) -> Registry {
    let Surroundings { search_path, server_key } = surroundings;
    let mut registry = Registry::basic();
    add_oracles(&mut registry, search_path.clone());
    add_engines(&mut registry, search_path.clone());
    add_models(&mut registry, crate::model);
    add_servers(&mut registry, server_key.clone());
    add_predictors(&mut registry, search_path.clone());
    add_bundled_probs(&mut registry, crate::NETS);
    add_scripted(&mut registry);
    // Made of the players above, so it comes after them.
    add_mpc(&mut registry);
    registry
}
