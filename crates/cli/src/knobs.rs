//! The search's knobs as flags, from the one table of settings.

use crate::input::{BadInput, OrBadInput};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use mavis_play::PlayerSpec;
use mavis_search::{knob::Knob, mcts::Settings};

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
    knobs: KnobFlags,
}

impl PlayerFlags {
    /// The player's line with the flags written into it.
    pub(crate) fn spec(&self) -> Result<PlayerSpec, BadInput> {
        let mut spec: PlayerSpec = self.player.parse().or_bad_input()?;
        self.knobs.apply(&mut spec);
        Ok(spec)
    }
}

/// Options of the player that were given as flags: `--c-puct 1.5` for `c_puct=1.5` in its line.
#[derive(Default)]
pub(crate) struct KnobFlags(Vec<(&'static str, String)>);

impl KnobFlags {
    /// Writes them into a player; whether it knows them is seen when it is built.
    pub(crate) fn apply(&self, spec: &mut PlayerSpec) {
        for (name, value) in &self.0 {
            spec.options.insert((*name).to_owned(), value.clone());
        }
    }
}

/// Every knob but the seed, which has a flag of its own where it means something.
fn knobs() -> impl Iterator<Item = Knob> {
    Settings::knobs().into_iter().filter(|knob| knob.name != "seed")
}

impl FromArgMatches for KnobFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = |knob: Knob| Some((knob.name, matches.get_one::<String>(knob.name)?.clone()));
        self.0 = knobs().filter_map(given).collect();
        Ok(())
    }
}

impl Args for KnobFlags {
    fn augment_args(command: Command) -> Command {
        let flag = |knob: Knob| {
            let help =
                format!("{} ({}; default {})", knob.help.trim_end_matches('.'), knob.range, knob.default);
            let long = knob.name.replace('_', "-");
            // One of them shows the way; `mavis help players` has the whole list.
            Arg::new(knob.name).long(long).value_name("VALUE").help(help).hide(knob.name != "sims")
        };
        command.args(knobs().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
