//! `mavis bench loader`: what the examples of a training run cost to build, and how long they are.

use crate::commands::{answer, answer_json, train};
use crate::input::OrBadInput;
use clap::Args;
use mavis_model::{
    loader::Batches,
    mixture::{ExampleSettings, Mixture},
    pack::PackedBatch,
};
use serde::Serialize;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// Measures the examples of a training run: how fast one thread builds them, and how many tokens each kind has.
///
/// Example: mavis bench loader --config recipes/fourth/2.toml
#[derive(Args)]
pub(super) struct BenchLoader {
    /// Settings of the run as TOML
    #[arg(long)]
    config: PathBuf,
    /// Overrides a setting, e.g. --set examples.plain=0.5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Seconds for each kind of example
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Measured {
    kinds: Vec<Cost>,
    /// Examples that did not fit into a batch of the whole mixture, as a share.
    left_out: f64,
}

#[derive(Serialize)]
struct Cost {
    kind: &'static str,
    share: f32,
    examples_per_second: f64,
    tokens_per_example: f64,
    loss_rows_per_example: f64,
}

impl BenchLoader {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let time = Duration::try_from_secs_f64(self.seconds).or_bad_input()?;
        let settings = train::read_settings(&self.config, &self.overrides)?;
        settings.network().or_bad_input()?;
        let mixture = train::material(&settings)?.mixture;
        let ExampleSettings { plain, tracked, random_play, .. } = settings.examples;
        let shares = [plain, tracked, random_play, settings.examples.text().max(0.0)];
        let mut kinds = Vec::new();
        for ((kind, alone), share) in settings.examples.kinds().into_iter().zip(shares) {
            kinds.push(measure(kind, share, &mixture.with_examples(alone), time)?);
        }
        kinds.push(measure("mixture", 1.0, &mixture, time)?);
        let measured = Measured { kinds, left_out: mixture.left_out()? };
        if self.json { answer_json(&measured) } else { answer(&measured.text()) }
    }
}

/// Builds batches on this thread for a while.
fn measure(kind: &'static str, share: f32, mixture: &Mixture, time: Duration) -> anyhow::Result<Cost> {
    let mut packed = PackedBatch::default();
    let (mut n_batches, mut n_examples, mut n_tokens, mut n_rows) = (0, 0, 0, 0);
    let begin = Instant::now();
    while n_batches == 0 || begin.elapsed() < time {
        mixture.fill(n_batches, &mut packed)?;
        n_batches += 1;
        n_examples += packed.n_examples;
        n_tokens += packed.batch.len();
        n_rows += packed.rows.len();
    }
    let n = n_examples.max(1) as f64;
    Ok(Cost {
        kind,
        share,
        examples_per_second: n / begin.elapsed().as_secs_f64(),
        tokens_per_example: n_tokens as f64 / n,
        loss_rows_per_example: n_rows as f64 / n,
    })
}

impl Measured {
    fn text(&self) -> String {
        let mut text = format!(
            "{:<12} {:>6} {:>12} {:>15} {:>16}\n",
            "kind", "share", "examples/s", "tokens/example", "rows/example"
        );
        for cost in &self.kinds {
            text.push_str(&format!(
                "{:<12} {:>6.2} {:>12.0} {:>15.1} {:>16.1}\n",
                cost.kind,
                cost.share,
                cost.examples_per_second,
                cost.tokens_per_example,
                cost.loss_rows_per_example
            ));
        }
        text.push_str(&format!(
            "{:.2} % of the mixture did not fit into its batches\n",
            100.0 * self.left_out
        ));
        text
    }
}
