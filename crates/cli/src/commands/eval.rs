//! `mavis eval`: single answers of a player against known ones.

mod actions;
mod agreement;
mod asked;
mod calibration;
mod compared;
mod internal;
mod legality;
mod puzzles;
mod scoring;
mod seen;
mod solver;
mod world;

use clap::Subcommand;

/// Measures a player on positions with known answers; every number comes with its 95 % interval.
#[derive(Subcommand)]
pub(crate) enum Eval {
    Puzzles(puzzles::Puzzles),
    Actions(actions::Actions),
    Legality(legality::Legality),
    Calibration(calibration::Calibration),
    Solver(solver::Solver),
    Seen(seen::Seen),
    Scoring(scoring::Scoring),
    Agreement(agreement::Agreement),
    World(world::World),
    Internal(internal::Internal),
}

impl Eval {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Puzzles(command) => command.run(),
            Self::Actions(command) => command.run(),
            Self::Legality(command) => command.run(),
            Self::Calibration(command) => command.run(),
            Self::Solver(command) => command.run(),
            Self::Seen(command) => command.run(),
            Self::Scoring(command) => command.run(),
            Self::Agreement(command) => command.run(),
            Self::World(command) => command.run(),
            Self::Internal(command) => command.run(),
        }
    }
}
