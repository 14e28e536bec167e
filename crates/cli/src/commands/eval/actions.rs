//! `mavis eval actions`: chosen moves and values of moves against annotations.

use super::asked::{Asked, analyze, note};
use crate::input::{BadInput, OrBadInput};
use crate::{annotated, registry};
use anyhow::Context;
use clap::Args;
use mavis_data::AnnotatedPosition;
use mavis_game::{Game as _, Move, Rules};
use mavis_league::metrics::{ActionSample, Bands, actions};
use mavis_play::Analysis;
use std::path::PathBuf;

/// Compares a player's moves and values with annotations: accuracy, regret, value error, Kendall's tau-b, by ply.
///
/// Accuracy counts a move as right if no move has a higher annotated value; regret is the win probability given away; value
/// error and tau compare what the player thinks of every move, where it says so.
///
/// Example: mavis eval actions --input valid.parquet --limit 2000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Actions {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    input: AnnotatedInput,
}

/// Annotated positions to measure on.
#[derive(Args)]
pub(super) struct AnnotatedInput {
    /// A table of annotations (Parquet file or folder), or a pair of files NAME.fen.zst and NAME.val.zst
    #[arg(long)]
    input: PathBuf,
    /// Only positions of this game; for a pair of files what its name says if absent
    #[arg(long)]
    game: Option<String>,
    /// So many positions, drawn by the seed
    #[arg(long)]
    limit: Option<usize>,
}

impl Actions {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let records = self.input.read(self.asked.seed)?;
        let samples = self.asked.ask_all(
            &records,
            || (),
            |player, (), record, limit| {
                let analysis = analyze(player, &record.position, limit)
                    .with_context(|| format!("position {}", record.position))?;
                Ok(sample(record, &analysis))
            },
        )?;
        self.asked.show(&samples, &actions(&samples.list, &plies(&records)))
    }
}

impl AnnotatedInput {
    /// The positions that are asked about.
    pub(super) fn read(&self, seed: u64) -> anyhow::Result<Vec<AnnotatedPosition>> {
        let game: Option<Rules> = self.game.as_deref().map(str::parse).transpose().or_bad_input()?;
        let rules = game.unwrap_or_else(|| annotated::rules_of_pair(&self.input));
        let set = annotated::open(&self.input, rules, |_| true, &note)?;
        let records = annotated::draw(&*set, game, self.limit, seed)?;
        if records.is_empty() {
            return Err(BadInput::new(format!("{} holds no such position", self.input.display())).into());
        }
        Ok(records)
    }
}

/// What the annotation says beside what was answered.
pub(super) fn sample(record: &AnnotatedPosition, analysis: &Analysis) -> ActionSample {
    let values = |mv: Move, value: Option<f32>| value.map(|value| (mv, f64::from(value)));
    ActionSample {
        at: f64::from(record.position.ply()),
        annotated: record.moves.iter().map(|(mv, value)| (*mv, f64::from(*value))).collect(),
        chosen: Some(analysis.choice.mv),
        predicted: analysis.moves.iter().filter_map(|entry| values(entry.mv, entry.value)).collect(),
        ranking: analysis.moves.iter().filter_map(|entry| values(entry.mv, entry.prior)).collect(),
    }
}

/// Bands of plies, about eight.
pub(super) fn plies(records: &[AnnotatedPosition]) -> Bands {
    Bands::about(8, records.iter().map(|record| f64::from(record.position.ply())))
}
