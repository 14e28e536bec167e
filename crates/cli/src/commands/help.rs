//! `mavis help`: a command, or a kind of player.

use super::{answer, players::Players};
use crate::{arguments::Arguments, input::BadInput};
use clap::{Args, CommandFactory as _};

/// Explains a command, or a player (mavis help players NAME).
///
/// Example: mavis help league run
#[derive(Args)]
pub(crate) struct Help {
    /// The command's name, or players and the name of one
    topic: Vec<String>,
}

impl Help {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let topic: Vec<&str> = self.topic.iter().map(String::as_str).collect();
        if let ["players", rest @ ..] = topic.as_slice() {
            return Players::named(rest.first().copied()).run();
        }
        let mut command = Arguments::command();
        // Fills in what commands inherit, so that the help is the same as after --help.
        command.build();
        for name in topic {
            let known: Vec<String> =
                command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
            let Some(below) = command.find_subcommand(name) else {
                let known = known.join(" ");
                return Err(BadInput::new(format!("no help on '{name}' (known: {known})")).into());
            };
            command = below.clone();
        }
        answer(&command.render_long_help().to_string())
    }
}
