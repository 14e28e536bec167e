//! `mavis solve`: exact scores of every move.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{answer, answer_json};
use crate::input::{BadInput, OrBadInput};
use clap::Args;
use indicatif::ProgressBar;
use mavis_bundled::wire::SolvedRecord;
use mavis_game::{Game, Position, Rules};
use mavis_oracle::{Oracle, connect4::Connect4Solver};
use std::time::Duration;

/// Solves a Connect Four position exactly.
///
/// MOVES are the columns played so far. A score counts the stones the winner has left when he wins: positive for the
/// side to move, zero for a draw.
///
/// Example: mavis solve --game connect4 4455
#[derive(Args)]
pub(crate) struct Solve {
    /// connect4
    #[arg(long, default_value = "connect4")]
    game: String,
    /// Columns 1 to 7, one digit per move; empty for the empty board
    #[arg(default_value = "")]
    moves: String,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Solve {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        if rules != Rules::Connect4 {
            return Err(BadInput::new(format!("no exact solver for {rules} (connect4 has one)")).into());
        }
        let mut position = Position::start(rules);
        for (idx, column) in self.moves.chars().enumerate() {
            position
                .play_text(&column.to_string())
                .map_err(|error| BadInput::new(format!("move {} of '{}': {error}", idx + 1, self.moves)))?;
        }
        if let (Some(outcome), Some(reason)) = (position.outcome(), position.end_reason()) {
            return Err(BadInput::new(format!("the game is over: {outcome} ({reason})")).into());
        }
        // Early positions take seconds. The spinner shows at a terminal only.
        let spinner = ProgressBar::new_spinner().with_message("solving");
        spinner.enable_steady_tick(Duration::from_millis(100));
        let ranking = Connect4Solver::default().evaluate(&position)?;
        spinner.finish_and_clear();
        let solved = SolvedRecord::new(&position, &ranking);
        if self.json {
            return answer_json(&solved);
        }
        let mut text = position.drawing();
        for row in &solved.moves {
            let end = match (row.score, row.plies) {
                (0, _) => "draw".to_owned(),
                (won, Some(plies)) if won > 0 => format!("wins in {plies} plies"),
                (_, Some(plies)) => format!("loses in {plies} plies"),
                _ => String::new(),
            };
            text.push_str(&format!("{}  {:>3}  {end}\n", row.r#move, row.score));
        }
        text.push_str(&format!("score {}\n", solved.score));
        answer(&text)
    }
}
