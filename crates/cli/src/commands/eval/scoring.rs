//! `mavis eval scoring`: mean against max scoring.

use super::compared::{Compared, sample};
use crate::input::BadInput;
use crate::registry;
use clap::Args;
use mavis_data::AnnotatedPosition;
use mavis_game::Move;
use mavis_league::metrics::{ActionSample, ScoringSample, scoring};
use mavis_play::Analysis;
use mavis_value::Scoring as Way;

/// Compares mean scoring and max scoring: the mean and the mode of each move's value distribution.
///
/// Both use the same answers, so the difference has a narrow interval. The player must report distributions, as the model without
/// search does.
///
/// Example: mavis eval scoring --input valid.parquet --limit 2000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Scoring {
    #[command(flatten)]
    compared: Compared,
}

impl Scoring {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let player = &self.compared.asked.player;
        let (samples, plies) = self.compared.ask(|record, analysis| {
            let by = |way| scored(record, analysis, way);
            by(Way::Mean).zip(by(Way::Max)).ok_or_else(|| {
                BadInput::new(format!("{player} gives no distributions of values; mav does")).into()
            })
        })?;
        let pairs: Vec<ScoringSample> = samples
            .list
            .iter()
            .map(|(mean, max)| ScoringSample { mean: mean.clone(), max: max.clone() })
            .collect();
        self.compared.asked.show(&samples, &scoring(&pairs, &plies))
    }
}

/// The sample under one way of scoring; `None` if a move has no distribution.
fn scored(record: &AnnotatedPosition, analysis: &Analysis, way: Way) -> Option<ActionSample> {
    let predicted: Option<Vec<(Move, f64)>> = analysis
        .moves
        .iter()
        .map(|entry| Some((entry.mv, f64::from(entry.distribution.as_ref()?.win_probability(way)))))
        .collect();
    let predicted = predicted?;
    // The first of equals, in an order that neither way made.
    let best = record
        .moves
        .iter()
        .filter_map(|(mv, _)| predicted.iter().find(|(known, _)| known == mv))
        .copied()
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    let chosen = best.map(|(mv, _)| mv);
    Some(ActionSample { chosen, predicted, ranking: Vec::new(), ..sample(record, analysis) })
}
