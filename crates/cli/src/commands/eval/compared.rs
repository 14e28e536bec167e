//! A player's answers beside annotations.

use super::asked::{Answers, Asked, analyze};
use crate::annotated;
use crate::commands::note;
use crate::input::{BadInput, OrBadInput};
use anyhow::Context;
use clap::Args;
use mavis_data::AnnotatedPosition;
use mavis_game::{Game as _, Move, Rules};
use mavis_league::metrics::{ActionSample, Bands};
use mavis_play::Analysis;
use std::path::PathBuf;

/// Who is compared with which annotations.
#[derive(Args)]
pub(super) struct Compared {
    #[command(flatten)]
    pub(super) asked: Asked,
    /// A table of annotations (Parquet file or folder), or a pair of files NAME.fen.zst and NAME.val.zst
    #[arg(long)]
    input: PathBuf,
    /// Only positions of this game. Default: all; for a pair of files, the game in its name
    #[arg(long)]
    game: Option<String>,
    /// Number of positions, drawn by the seed. Default: all
    #[arg(long, value_parser = crate::input::limit)]
    limit: Option<usize>,
}

impl Compared {
    /// What `take` makes of every annotation and the player's analysis of its position; and bands of the plies.
    pub(super) fn ask<R: Send>(
        &self,
        take: impl Fn(&AnnotatedPosition, &Analysis) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<(Answers<R>, Bands)> {
        let records = self.read()?;
        let answers = self.asked.ask_all(
            &records,
            || (),
            |player, (), record, limit| {
                let analysis = analyze(player, &record.position, limit)
                    .with_context(|| format!("position {}", record.position))?;
                take(record, &analysis)
            },
        )?;
        let plies = records.iter().map(|record| f64::from(record.position.ply()));
        Ok((answers, Bands::about(8, plies)))
    }

    /// The positions that are asked about.
    fn read(&self) -> anyhow::Result<Vec<AnnotatedPosition>> {
        let game: Option<Rules> = self.game.as_deref().map(str::parse).transpose().or_bad_input()?;
        let rules = game.unwrap_or_else(|| annotated::rules_of_pair(&self.input));
        let set = annotated::open(&self.input, rules, |_| true, &note)?;
        let records = annotated::draw(&*set, game, self.limit, self.asked.seed)?;
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
        best: record.best,
        chosen: Some(analysis.choice.mv),
        predicted: analysis.moves.iter().filter_map(|entry| values(entry.mv, entry.value)).collect(),
        ranking: analysis.moves.iter().filter_map(|entry| values(entry.mv, entry.prior)).collect(),
    }
}
