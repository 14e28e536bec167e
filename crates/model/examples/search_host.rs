//! What a search costs beside its network: searches over the embedded evaluator with networks that compute nothing.
//!
//! A pass takes the given microseconds of waiting and answers with values that depend on the position alone. With 0 the time per
//! evaluation is that of selection, legal moves, tokens, reading and backing up; with some hundred it shows how well the search
//! keeps a GPU busy.
//!
//!     cargo run --release -p mavis-model --example search_host -- chess 0 2 sims=400,batch=16
#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use mavis_eval::{Cache, Evaluator};
use mavis_game::{Game, Position, Rules};
use mavis_lang::vocabulary;
use mavis_model::{
    InputAttention, Preset,
    decode::MavDecoder,
    evaluator::{Embedded, EmbeddedSettings, PassCounter},
};
use mavis_net::{Batch, Decoder, KvCacheId, Logits, NetError, TransformerConfig, Want};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Searches in one run.
const SEARCHES: usize = 40;
/// Logits to choose rows from.
const TABLE: usize = 1 << 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [game, micros, n_decoders, spec] = &arguments[..] else {
        return Err("expected GAME MICROSECONDS DECODERS SETTINGS".into());
    };
    let (rules, settings): (Rules, MctsSettings) = (game.parse()?, spec.parse()?);
    let pass = Duration::from_micros(micros.parse()?);
    let counter = PassCounter::default();
    let decoders =
        (0..n_decoders.parse()?).map(|_| MavDecoder::new(Box::new(Nothing::new(pass)), InputAttention::Full));
    let embedded = Embedded::start(
        decoders,
        EmbeddedSettings { counter: counter.clone(), batch: 256, ..EmbeddedSettings::default() },
    )?;
    let evaluator: Arc<dyn Evaluator> = Arc::new(Cache::new(embedded, 20_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (began, mut simulations) = (Instant::now(), 0);
    for at in 0..SEARCHES {
        let mut search = Search::new(position(rules, at), evaluator.clone(), settings.clone());
        simulations += runtime.block_on(search.run(&Stop::default())).counts.simulations;
    }
    let (seconds, passes) = (began.elapsed().as_secs_f64(), counter.passes());
    let [requests, n] = [passes.requests, passes.passes].map(|count| count as f64);
    println!(
        "{simulations} simulations, {requests} evaluations in passes of {:.1}: {:.0} per second, {:.1} us each; {:.0} us per pass",
        requests / n,
        requests / seconds,
        1e6 * seconds / requests,
        1e6 * seconds / n
    );
    Ok(())
}

/// A position some moves into a game.
fn position(rules: Rules, at: usize) -> Position {
    let mut position = Position::start(rules);
    for ply in 0..at % 24 {
        let before = position.clone();
        if let Some(mv) = position.random_move((at * 31 + ply * 7) as u32) {
            position.play_unchecked(mv);
        }
        if position.outcome().is_some() {
            return before;
        }
    }
    position
}

/// A network that computes nothing.
struct Nothing {
    config: TransformerConfig,
    pass: Duration,
    table: Vec<f32>,
}

impl Nothing {
    fn new(pass: Duration) -> Self {
        let mut state = 1_u64;
        let table = (0..TABLE).map(|_| {
            state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            (state >> 40) as f32 / 2_f32.powi(22)
        });
        Self { config: Preset::Small.shape(vocabulary().len(), 1), pass, table: table.collect() }
    }

    /// A row of logits by the tokens that a row sees.
    fn row(&self, hash: u64, n_columns: usize) -> &[f32] {
        let at = (hash >> 40) as usize % (TABLE - n_columns);
        &self.table[at..at + n_columns]
    }
}

impl Decoder for Nothing {
    fn config(&self) -> &TransformerConfig {
        &self.config
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        Ok(KvCacheId(0))
    }

    fn fork(&mut self, cache: KvCacheId, _: usize) -> Result<KvCacheId, NetError> {
        Ok(cache)
    }

    fn close(&mut self, _: KvCacheId) {}

    fn cache_len(&self, _: KvCacheId) -> Result<usize, NetError> {
        Ok(0)
    }

    fn truncate(&mut self, _: KvCacheId, _: usize) -> Result<(), NetError> {
        Ok(())
    }

    fn extend(&mut self, _: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.logits(batch, want)
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        let began = Instant::now();
        batch.validate_for(&self.config, |_| 0)?;
        let n_columns = want.validate(batch.len(), self.config.vocab)?.len();
        let mut values = Vec::with_capacity(want.rows.len() * n_columns);
        let mut rows = want.rows.iter().peekable();
        for sequence in 0..batch.n_sequences() {
            let mut hash = 0_u64;
            for token in batch.sequence(sequence) {
                let id = u64::from(batch.tokens[token]) + 1;
                let own = (hash ^ id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                if batch.prefix_end[token] == 0 || batch.branch_start[token] == 0 {
                    hash = own;
                }
                if rows.next_if(|row| **row as usize == token).is_some() {
                    values.extend_from_slice(self.row(own, n_columns));
                }
            }
        }
        // Others may have the processor, as with a GPU.
        while began.elapsed() < self.pass {
            std::thread::sleep(self.pass.saturating_sub(began.elapsed()));
        }
        Ok(Logits::whole(values, n_columns))
    }
}
