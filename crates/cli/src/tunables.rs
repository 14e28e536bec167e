//! The search's tunables as flags, from the one table of settings.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::input::{BadInput, OrBadInput};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use mavis_play::PlayerSpec;
use mavis_search::{mcts::MctsSettings, tunable::Tunable};

/// The player behind a protocol.
#[derive(Args)]
pub(crate) struct PlayerFlags {
    /// The player line. Options of a search are also flags, such as --sims (mavis help players mav-mcts lists them)
    #[arg(long, default_value = "mav-mcts")]
    player: String,
    /// Makes the player's moves repeat exactly, where its limits do not depend on time
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    tunables: TunableFlags,
}

impl PlayerFlags {
    /// The player's line with the flags written into it.
    pub(crate) fn spec(&self) -> Result<PlayerSpec, BadInput> {
        let mut spec: PlayerSpec = self.player.parse().or_bad_input()?;
        self.tunables.apply(&mut spec);
        Ok(spec)
    }
}

/// Options of the player that were given as flags: `--c-puct 1.5` for `c_puct=1.5` in its line.
#[derive(Default)]
pub(crate) struct TunableFlags(Vec<(&'static str, String)>);

impl TunableFlags {
    /// Writes them into a player; whether it knows them is seen when it is built.
    pub(crate) fn apply(&self, spec: &mut PlayerSpec) {
        for (name, value) in &self.0 {
            spec.options.insert((*name).to_owned(), value.clone());
        }
    }
}

/// Every tunable but the seed, which has a flag of its own where it means something.
fn tunables() -> impl Iterator<Item = Tunable> {
    MctsSettings::tunables().into_iter().filter(|tunable| tunable.name != "seed")
}

impl FromArgMatches for TunableFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = |tunable: Tunable| Some((tunable.name, matches.get_one::<String>(tunable.name)?.clone()));
        self.0 = tunables().filter_map(given).collect();
        Ok(())
    }
}

impl Args for TunableFlags {
    fn augment_args(command: Command) -> Command {
        let flag = |tunable: Tunable| {
            let help = format!(
                "{} ({}; default {})",
                tunable.help.trim_end_matches('.'),
                tunable.range,
                tunable.default
            );
            let long = tunable.name.replace('_', "-");
            // One of them shows the way; `mavis help players` has the whole list.
            Arg::new(tunable.name).long(long).value_name("VALUE").help(help).hide(tunable.name != "sims")
        };
        command.args(tunables().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
