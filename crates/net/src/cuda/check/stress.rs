//! The load of a league of searches: decoders on threads of their own, passes of every size.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Comparison;
use crate::batch::{Batch, BatchToken};
use crate::config::TransformerConfig;
use crate::cpu::CpuDecoder;
use crate::cuda::bench::ids;
use crate::cuda::decoder::{CudaDecoder, CudaDecoderOptions};
use crate::decoder::{Decoder, Precision, Room, Want};
use crate::error::NetError;
use crate::layout::initial_parameters;

/// Most moves of a chess position.
const MOST_MOVES: usize = 218;

/// Most positions of a pass of a league.
const MOST_SEQUENCES: usize = 256;

/// Passes from one that is kept to the next.
const KEPT_EVERY: usize = 100;

/// Values have so many columns.
const COLUMNS: std::ops::Range<u32> = 64..128;

/// How far values may be from the CPU's; those of eight blocks are rounded more often than the ones [`Bounds`](super::Bounds) are for.
const TOLERANCE: f64 = 5e-2;

/// What [`stress`] runs.
#[derive(Clone, Copy, Debug)]
pub struct Stress {
    /// Decoders, each on a thread of its own.
    pub n_decoders: usize,
    /// Passes of each decoder.
    pub n_passes: usize,
    /// Seed of the passes; decoder `i` has the seed plus `i`.
    pub seed: u64,
    /// Room of the decoders and how they start passes.
    pub options: CudaDecoderOptions,
}

impl Default for Stress {
    fn default() -> Self {
        let options = CudaDecoderOptions { cache_tokens: 4096, ..CudaDecoderOptions::default() };
        Self { n_decoders: 2, n_passes: 3000, seed: 1, options }
    }
}

/// Runs passes over chess-like stars on several decoders at once. One pass in a hundred is kept: it runs again after the next ones and at the end, which
/// has to give the same bits, and some of its sequences are compared with the CPU.
///
/// # Errors
/// When a device fails: the error names the pass.
pub fn stress(config: &TransformerConfig, stress: &Stress) -> Result<Vec<Comparison>, NetError> {
    let parameters: Vec<f32> =
        initial_parameters(config)?.iter().map(|x| half::bf16::from_f32(*x).to_f32()).collect();
    let decoders = (0..stress.n_decoders)
        .map(|_| CudaDecoder::new(config, &parameters, &stress.options))
        .collect::<Result<Vec<_>, _>>()?;
    let outcomes: Vec<Result<Vec<Kept>, NetError>> = std::thread::scope(|scope| {
        let run = |(index, decoder)| {
            let random = Xoshiro256PlusPlus::seed_from_u64(stress.seed + index as u64);
            scope.spawn(move || passes(decoder, random, stress.n_passes))
        };
        let threads: Vec<_> = decoders.into_iter().enumerate().map(run).collect();
        let panicked = |_| Err(NetError::Device("a thread of the stress check panicked".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut cpu = CpuDecoder::new(config.clone(), &parameters, Precision::Exact)?;
    let mut comparisons = Vec::new();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        for kept in outcome? {
            comparisons.extend(kept.compare(&mut cpu, index)?);
        }
    }
    Ok(comparisons)
}

/// A pass that is compared.
struct Kept {
    batch: Batch,
    want: Want,
    first: Vec<f32>,
    /// The last values that differ from the first in any bit, or the first.
    again: Vec<f32>,
}

/// Runs random passes; returns those that were kept.
fn passes(
    mut decoder: CudaDecoder,
    mut random: Xoshiro256PlusPlus,
    n_passes: usize,
) -> Result<Vec<Kept>, NetError> {
    let (room, vocab) = (decoder.room(), decoder.config().vocab);
    let mut all: Vec<Kept> = Vec::new();
    for index in 0..n_passes {
        let (batch, want) = stars(&mut random, room, vocab);
        let values = decoder.logits(&batch, &want)?.values;
        if index % KEPT_EVERY == 0 {
            all.push(Kept { batch, want, again: values.clone(), first: values });
        } else if index % KEPT_EVERY == KEPT_EVERY - 1
            && let Some(kept) = all.last_mut()
        {
            kept.repeat(&mut decoder)?;
        }
    }
    all.iter_mut().try_for_each(|kept| kept.repeat(&mut decoder))?;
    Ok(all)
}

impl Kept {
    fn repeat(&mut self, decoder: &mut CudaDecoder) -> Result<(), NetError> {
        let values = decoder.logits(&self.batch, &self.want)?.values;
        let is_same = values.iter().zip(&self.first).all(|(now, then)| now.to_bits() == then.to_bits());
        if !is_same || values.len() != self.first.len() {
            self.again = values;
        }
        Ok(())
    }

    /// The first and the last sequence beside the CPU, and all of them beside themselves.
    fn compare(&self, cpu: &mut CpuDecoder, decoder: usize) -> Result<[Comparison; 2], NetError> {
        let n = self.batch.n_sequences();
        let (mut batch, mut want, mut got) = (
            Batch::default(),
            Want { rows: Vec::new(), columns: self.want.columns.clone(), brief: None },
            Vec::new(),
        );
        for sequence in if n == 1 { vec![0] } else { vec![0, n - 1] } {
            let range = self.batch.sequence(sequence);
            let offset = batch.len();
            batch.begin();
            for token in range.clone() {
                batch.push(BatchToken {
                    id: self.batch.tokens[token],
                    position: self.batch.positions[token],
                    prefix_end: self.batch.prefix_end[token],
                    branch_start: self.batch.branch_start[token],
                });
            }
            for (index, row) in self.want.rows.iter().enumerate() {
                if range.contains(&(*row as usize)) {
                    want.rows.push((*row as usize - range.start + offset) as u32);
                    got.extend(&self.first[index * COLUMNS.len()..][..COLUMNS.len()]);
                }
            }
        }
        let wide = |values: &[f32]| values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let expected = wide(&cpu.logits(&batch, &want)?.values);
        let name = format!("decoder {decoder}, {} tokens", self.batch.len());
        Ok([
            Comparison::new(format!("{name}, CPU"), &got, &expected, TOLERANCE),
            Comparison::new(format!("{name}, again"), &self.again, &wide(&self.first), 0.0),
        ])
    }
}

/// Positions with their moves as branches, and the rows of all moves: one to as many as fit, or exactly as many tokens as fit.
fn stars(random: &mut Xoshiro256PlusPlus, room: Room, vocab: usize) -> (Batch, Want) {
    // As many small passes as large ones: a search sends a few positions at a time, a league hundreds.
    let n_sequences = (1usize << random.random_range(0..=8u32)).min(MOST_SEQUENCES);
    let n_sequences = random.random_range(n_sequences / 2 + 1..=n_sequences);
    let (is_wide, is_full) = (random.random_range(0..8) == 0, random.random_range(0..16) == 0);
    let n_sequences = if is_full { usize::MAX } else { n_sequences };
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while batch.n_sequences() < n_sequences {
        let n_moves = match random.random_range(0..16) {
            _ if is_wide => random.random_range(100..=MOST_MOVES),
            0 => random.random_range(1..=MOST_MOVES),
            1 => random.random_range(1..=8),
            _ => random.random_range(20..=45),
        };
        let prompt = random.random_range(75..=95usize);
        let left = room.tokens - batch.len();
        if prompt + n_moves > left || rows.len() + n_moves > room.rows {
            // The last sequence of a full pass takes what is left.
            if is_full && left > 0 && rows.len() < room.rows {
                let n_moves = (left - 1).min(room.rows - rows.len()).min(n_moves);
                star(random, (left - n_moves).min(prompt), n_moves, vocab, (&mut batch, &mut rows));
            }
            break;
        }
        star(random, prompt, n_moves, vocab, (&mut batch, &mut rows));
    }
    (batch, Want { rows, columns: Some(COLUMNS), brief: None })
}

fn star(
    random: &mut Xoshiro256PlusPlus,
    prompt: usize,
    n_moves: usize,
    vocab: usize,
    (batch, rows): (&mut Batch, &mut Vec<u32>),
) {
    batch.push_prompted(&ids(random, prompt, vocab), prompt.saturating_sub(4));
    for id in ids(random, n_moves, vocab) {
        rows.push(batch.len() as u32);
        batch.push_branch(&[id], prompt, prompt, 0);
    }
}

/// Passes of this check, for tests of how they are packed.
#[cfg(test)]
pub(in crate::cuda) fn random_stars(n: usize, room: Room, vocab: usize) -> Vec<(Batch, Want)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    (0..n).map(|_| stars(&mut random, room, vocab)).collect()
}
