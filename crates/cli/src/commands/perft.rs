//! `mavis perft`: the number of move sequences of a length.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{answer, answer_json};
use crate::input::Place;
use clap::Args;
use mavis_game::{Game, divide, for_game, perft};
use serde::Serialize;

/// Counts the move sequences of a given length.
///
/// Example: mavis perft --game chess --depth 5
#[derive(Args)]
pub(crate) struct Perft {
    #[command(flatten)]
    place: Place,
    /// Plies
    #[arg(long)]
    depth: u32,
    /// The count below each first move
    #[arg(long)]
    divide: bool,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Counted {
    game: String,
    position: String,
    depth: u32,
    nodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    divide: Option<Vec<Below>>,
}

#[derive(Serialize)]
struct Below {
    r#move: String,
    nodes: u64,
}

impl Perft {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let position = self.place.position()?;
        let divide = (self.divide && self.depth > 0).then(|| {
            for_game!(&position, game => divide(game, self.depth))
                .into_iter()
                .map(|(mv, nodes)| Below { r#move: position.move_text(mv), nodes })
                .collect::<Vec<_>>()
        });
        let nodes = match &divide {
            Some(rows) => rows.iter().map(|row| row.nodes).sum(),
            None => for_game!(&position, game => perft(game, self.depth)),
        };
        let counted = Counted {
            game: position.rules().to_string(),
            position: position.to_string(),
            depth: self.depth,
            nodes,
            divide,
        };
        if self.json {
            return answer_json(&counted);
        }
        let rows = counted.divide.iter().flatten().map(|row| format!("{}: {}\n", row.r#move, row.nodes));
        answer(&format!("{}{}\n", rows.collect::<String>(), counted.nodes))
    }
}
