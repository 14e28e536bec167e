//! `mavis show`: a position for people or machines.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{answer, answer_json};
use crate::input::{OrBadInput, Place};
use clap::Args;
use mavis_game::{Game, Side};
use serde::Serialize;

/// Draws a position, with its legal moves and the state of the game.
///
/// Example: mavis show --game chess --moves e4 e5 Nf3
#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    place: Place,
    /// Moves to play first, in order
    #[arg(long, num_args = 1..)]
    moves: Vec<String>,
    /// Prints one JSON object instead of a drawing
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown {
    game: String,
    position: String,
    side_to_move: &'static str,
    ply: u32,
    key: String,
    legal_moves: Vec<String>,
    outcome: Option<&'static str>,
    end_reason: Option<String>,
    claimable_draw: bool,
}

impl Show {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut position = self.place.position()?;
        for text in &self.moves {
            position.play_text(text).or_bad_input()?;
        }
        let legal_moves: Vec<String> =
            position.legal_moves().into_iter().map(|mv| position.move_text(mv)).collect();
        let shown = Shown {
            game: position.rules().to_string(),
            position: position.to_string(),
            side_to_move: if position.side_to_move() == Side::First { "first" } else { "second" },
            ply: position.ply(),
            key: format!("{:016x}", position.key()),
            legal_moves,
            outcome: position.outcome().map(|outcome| outcome.as_str()),
            end_reason: position.end_reason().map(|reason| reason.to_string()),
            claimable_draw: position.claimable_draw(),
        };
        if self.json {
            return answer_json(&shown);
        }
        let mut text = format!("{}\n{}\n", position.drawing(), shown.position);
        match (shown.outcome, &shown.end_reason) {
            (Some(outcome), Some(reason)) => text.push_str(&format!("{outcome} ({reason})\n")),
            _ => {
                text.push_str(&format!(
                    "{} to move, {} legal: {}\n",
                    shown.side_to_move,
                    shown.legal_moves.len(),
                    shown.legal_moves.join(" ")
                ));
                if shown.claimable_draw {
                    text.push_str("a draw may be claimed\n");
                }
            }
        }
        answer(&text)
    }
}
