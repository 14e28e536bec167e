//! Every player the binary knows.

use crate::{bundled, human::Human};
use mavis_play::{
    Kind, Registry, add_engines, add_models, add_mpc, add_oracles, add_predictors, add_scripted, add_servers,
};
use mavis_probs::add_probs;

/// The registry with all kinds, the human included. Engines are found on the user's `PATH`.
pub(crate) fn players() -> Registry {
    let mut registry = Registry::basic();
    let search_path = std::env::var_os("PATH");
    add_oracles(&mut registry, search_path.clone());
    add_engines(&mut registry, search_path.clone());
    add_models(&mut registry, bundled::model);
    add_servers(&mut registry, std::env::var("OPENAI_API_KEY").ok().filter(|key| !key.is_empty()));
    add_predictors(&mut registry, search_path);
    add_probs(&mut registry);
    add_scripted(&mut registry);
    // Made of the players above, so it comes after them.
    add_mpc(&mut registry);
    registry.add(Kind {
        name: "human",
        help: "you, at the terminal",
        keys: Vec::new(),
        open: false,
        build: Box::new(|_, _| Ok(Box::new(Human))),
    });
    registry
}

/// The kinds of player as help text, one line each.
pub(crate) fn help() -> String {
    let mut text = "Players (mavis players NAME lists the options of one):\n".to_owned();
    for kind in players().kinds() {
        text.push_str(&format!("  {:<14} {}\n", kind.name, kind.help));
    }
    text
}
