//! `mavis eval solver`: Connect Four moves against perfect play.

use super::asked::Asked;
use crate::input::BadInput;
use crate::registry;
use anyhow::Context;
use clap::Args;
use mavis_game::{Game as _, Position, Rules};
use mavis_league::metrics::{Bands, solver, solver_sample};
use mavis_league::{BookError, Openings};
use mavis_oracle::connect4::Connect4Solver;

/// Compares a player's moves in Connect Four with the exact solver, by ply.
///
/// Positions come from unfinished random games, evenly over the plies.
///
/// Example: mavis eval solver --player mcts:sims=1000 --positions 300
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Solver {
    #[command(flatten)]
    asked: Asked,
    /// Number of positions
    #[arg(long, default_value_t = 200)]
    positions: u64,
    /// Minimum number of stones on the board; below 10 the solver is slow
    #[arg(long, default_value_t = 12)]
    from_ply: u32,
    /// Maximum number of stones on the board
    #[arg(long, default_value_t = 32)]
    to_ply: u32,
}

impl Solver {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.from_ply > self.to_ply || self.to_ply > 41 {
            let (from, to) = (self.from_ply, self.to_ply);
            return Err(BadInput::new(format!("no plies from {from} to {to} (at most 41)")).into());
        }
        let positions = self.draw()?;
        let answers =
            self.asked.ask_all(&positions, Connect4Solver::default, |player, exact, position, limit| {
                solver_sample(player, exact, position, limit).with_context(|| format!("position {position}"))
            })?;
        let samples = answers.flatten();
        self.asked.show(&samples, &solver(&samples.list, &Bands::every(6.0, 0.0, 42.0)))
    }

    fn draw(&self) -> Result<Vec<Position>, BookError> {
        let n_plies = u64::from(self.to_ply - self.from_ply) + 1;
        let mut positions = Vec::new();
        for number in 0..self.positions {
            let ply = self.from_ply + (number % n_plies) as u32;
            let opening = Openings::<Position>::new(Rules::Connect4, self.asked.seed, None, true, ply)
                .opening(number)?;
            let position: Position = opening.position(Rules::Connect4)?;
            // Where random play always ends before that ply, the opening is the empty board.
            if position.ply() == ply {
                positions.push(position);
            }
        }
        Ok(positions)
    }
}
