//! Every player the binary knows.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::input::BadInput;
use mavis_bundled::Surroundings;
use mavis_game::Rules;
use mavis_play::{BuildError, Kind, Player, PlayerError, Registry};

/// The registry with all kinds, the human by name: only `mavis play` has a seat for a person. Engines are found on the user's `PATH`.
pub(crate) fn players() -> Registry {
    let key = std::env::var("OPENAI_API_KEY").ok();
    let mut registry = mavis_bundled::players(&Surroundings::new(std::env::var_os("PATH"), key));
    registry.add(Kind {
        name: "human",
        help: "you, at the terminal (mavis play)",
        keys: Vec::new(),
        open: false,
        build: Box::new(|options, _| {
            let reason = "a person plays in mavis play only".to_owned();
            Err(BuildError::Unavailable { player: options.kind().to_owned(), reason })
        }),
    });
    registry
}

/// Refuses a player that can play none of these games. One whose network fails still moves as an engine, so it may.
pub(crate) fn check_plays(player: &mut dyn Player, games: &[Rules]) -> Result<(), BadInput> {
    let mut refusal = None;
    for &rules in games {
        match player.ready_for(rules) {
            Ok(()) | Err(PlayerError::Broken(_)) => return Ok(()),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    refusal.map_or(Ok(()), |error| Err(BadInput::new(error)))
}

/// The kinds of player as help text, one line each.
pub(crate) fn help() -> String {
    let mut text = "Players (mavis players NAME lists the options of one):\n".to_owned();
    for kind in players().kinds() {
        text.push_str(&format!("  {:<14} {}\n", kind.name, kind.help));
    }
    text
}
