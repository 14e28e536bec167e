//! `mavis eval calibration`: whether values are what they say.

use super::compared::{Compared, sample};
use crate::input::BadInput;
use crate::registry;
use clap::Args;
use mavis_game::Game as _;
use mavis_league::metrics::reliability;

/// Measures the reliability of a player's values: the mean annotated value of the moves that it values at 70 %, and so for each bin.
///
/// One move of each position counts, drawn by the seed among those the player values, so that samples are independent.
///
/// Example: mavis eval calibration --input valid.parquet --limit 2000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Calibration {
    #[command(flatten)]
    compared: Compared,
    /// Number of equal bins of the range 0 to 1
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    bins: u16,
}

impl Calibration {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let asked = &self.compared.asked;
        let (answers, _) = self.compared.ask(|record, analysis| {
            let sample = sample(record, analysis);
            let annotated = |mv| sample.annotated.iter().find(|(known, _)| *known == mv);
            let valued = sample.predicted.iter().filter_map(|(mv, value)| Some((*value, annotated(*mv)?.1)));
            Ok(pick(&valued.collect::<Vec<_>>(), asked.seed ^ record.position.key()))
        })?;
        let pairs = answers.flatten();
        if pairs.list.is_empty() {
            let player = &asked.player;
            return Err(BadInput::new(format!("{player} gives no values to moves")).into());
        }
        asked.show(&pairs, &reliability(&pairs.list, self.bins.into()))
    }
}

/// One of a list by a seed.
fn pick<T: Copy>(list: &[T], seed: u64) -> Option<T> {
    use rand::{Rng, SeedableRng};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    (!list.is_empty()).then(|| list[random.random_range(0..list.len())])
}
