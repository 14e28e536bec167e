//! `mavis eval calibration`: whether values are what they say.

use super::actions::AnnotatedInput;
use super::asked::{Answers, Asked, analyze};
use crate::input::BadInput;
use crate::registry;
use anyhow::Context;
use clap::Args;
use mavis_game::Game as _;
use mavis_league::metrics::reliability;

/// Measures the reliability of a player's values: what moves it gives 70 % are worth by the annotations, for each tenth.
///
/// One move of each position counts, drawn by the seed among those the player values, so that samples do not hang together.
///
/// Example: mavis eval calibration --input valid.parquet --limit 2000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Calibration {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    input: AnnotatedInput,
    /// Bins of values
    #[arg(long, default_value_t = 10)]
    bins: usize,
}

impl Calibration {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let records = self.input.read(self.asked.seed)?;
        let seed = self.asked.seed;
        let Answers { list, n_asked } = self.asked.ask_all(
            &records,
            || (),
            |player, (), record, limit| {
                let analysis = analyze(player, &record.position, limit)
                    .with_context(|| format!("position {}", record.position))?;
                let valued: Vec<(f64, f64)> = analysis
                    .moves
                    .iter()
                    .filter_map(|entry| {
                        let (_, annotated) = record.moves.iter().find(|(mv, _)| *mv == entry.mv)?;
                        Some((f64::from(entry.value?), f64::from(*annotated)))
                    })
                    .collect();
                Ok(pick(&valued, seed ^ record.position.key()))
            },
        )?;
        let pairs = Answers { list: list.into_iter().flatten().collect(), n_asked };
        if pairs.list.is_empty() {
            let player = &self.asked.player;
            return Err(BadInput::new(format!("{player} gives no values to moves")).into());
        }
        self.asked.show(&pairs, &reliability(&pairs.list, self.bins))
    }
}

/// One of a list by a seed.
fn pick<T: Copy>(list: &[T], seed: u64) -> Option<T> {
    use rand::{Rng, SeedableRng};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    (!list.is_empty()).then(|| list[random.random_range(0..list.len())])
}
