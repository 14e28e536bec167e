//! Every player the binary knows.

use crate::human::Human;
use mavis_play::{Kind, Registry};

/// The registry with all kinds, the human included.
pub(crate) fn players() -> Registry {
    let mut registry = Registry::basic();
    registry.add(Kind {
        name: "human",
        help: "you, at the terminal",
        keys: Vec::new(),
        open: false,
        build: Box::new(|_, _| Ok(Box::new(Human))),
    });
    registry
}

/// The kinds of player as help text.
pub(crate) fn help() -> String {
    let mut text = "Players:\n".to_owned();
    for kind in players().kinds() {
        text.push_str(&format!("  {:<12} {}\n", kind.name, kind.help));
        for key in &kind.keys {
            text.push_str(&format!("    {:<14} {}\n", key.name, key.help));
        }
    }
    text
}
