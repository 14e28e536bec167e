//! `mavis players`: what can be named as a player.

use super::answer;
use crate::{input::BadInput, registry};
use clap::Args;

/// Lists the players, or the options of one.
///
/// Example: mavis players mav-mcts
#[derive(Args)]
pub(crate) struct Players {
    /// A kind of player, such as mav-mcts
    name: Option<String>,
}

impl Players {
    /// The list, or one of them.
    pub(super) fn named(name: Option<&str>) -> Self {
        Self { name: name.map(str::to_owned) }
    }

    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Some(name) = self.name else { return answer(&registry::help()) };
        let registry = registry::players();
        let Some(kind) = registry.kinds().iter().find(|kind| kind.name == name) else {
            let known: Vec<&str> = registry.kinds().iter().map(|kind| kind.name).collect();
            return Err(BadInput::new(format!("unknown player '{name}' (known: {})", known.join(" "))).into());
        };
        let mut text = format!("{}: {}\n", kind.name, kind.help);
        for key in &kind.keys {
            text.push_str(&format!("  {:<16} {}\n", key.name, key.help));
        }
        if kind.keys.is_empty() {
            text.push_str("  it takes no options\n");
        }
        if kind.open {
            text.push_str("  any other option is passed on\n");
        }
        answer(&text)
    }
}
