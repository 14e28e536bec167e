//! Batches to check with.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::batch::{Batch, BatchToken, LossRows};
use crate::config::TransformerConfig;
use crate::cuda::bench::ids;

/// Places of the batches here: rows of the learned table of a shape that is checked with one.
pub const N_PLACES: usize = 72;

/// Inputs like those of the predictors: sequences of the shape's learned context, seen in full, each with one right answer after its last
/// token. Where the head has 8 outputs, as those of predictors of one number, every other answer is a number. Sequences are added while they fit into `n_tokens`.
pub fn predictor_batch(config: &TransformerConfig, n_tokens: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    let len = config.variant.learned_positions.unwrap_or(79);
    while batch.len() + len <= n_tokens {
        batch.push_prompted(&ids(&mut random, len, config.vocab), len);
        let row = batch.len() as u32 - 1;
        if config.n_outputs() == 8 && rows.len().is_multiple_of(2) {
            rows.push_number(row, 1.0, 1, random.random_range(0.0..1.0));
        } else {
            rows.push_hard(row, 1.0, 0, random.random_range(0..config.n_outputs() as u32));
        }
    }
    (batch, rows)
}

/// Sequences like those of tracked stars: an input of about 90 tokens seen in full, a chain of about 80 that follows it, and about
/// 30 branches of one token off the end of the chain; loss on the chain, on its last token and on every branch. Each third
/// input is causal, as in a model that can be exported. Sequences are added while they fit into `n_tokens`.
pub fn tracked_batch(n_tokens: usize, vocab: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    for number in 0.. {
        let (input, chain) = (random.random_range(70..=110usize), random.random_range(40..=120usize));
        let (trunk, branches) = (input + chain, random.random_range(1..=45usize));
        if batch.len() + trunk + branches > n_tokens {
            break;
        }
        let start = batch.len();
        let tokens = ids(&mut random, trunk, vocab);
        batch.push_prompted(&tokens, if number % 3 == 2 { 0 } else { input });
        for i in input - 1..trunk - 1 {
            rows.push_hard((start + i) as u32, 1.0 / chain as f32, 2, tokens[i + 1]);
        }
        let moves = ids(&mut random, branches, vocab);
        let share = 1.0 / branches as f32;
        let targets: Vec<_> = moves.iter().map(|id| (*id, share)).collect();
        rows.push_soft((start + trunk) as u32 - 1, 1.0, 0, &targets);
        for id in moves {
            batch.push_branch(&[id], trunk, trunk, 0);
            let bucket = random.random_range(0..60) + vocab as u32 - 64;
            rows.push_soft(batch.len() as u32 - 1, share, 1, &[(bucket, 0.4), (bucket + 1, 0.6)]);
        }
    }
    give_places(&mut batch, &mut random);
    (batch, rows)
}

/// Causal sequences of `len` tokens, as many as fit into `n_tokens`, with loss on every token: what long texts cost.
pub fn long_chains(n_tokens: usize, len: usize, vocab: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    for _ in 0..n_tokens / len.max(1) {
        let start = batch.len();
        let tokens = ids(&mut random, len, vocab);
        batch.push_causal(&tokens);
        for i in 0..len - 1 {
            rows.push_hard((start + i) as u32, 1.0, 0, tokens[i + 1]);
        }
    }
    (batch, rows)
}

/// Sequences of 1 to `longest` tokens with masks of every kind, plain noise among them, and soft targets on about half the tokens.
pub fn random_batch(n_tokens: usize, longest: usize, vocab: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    let mut kind = 0;
    loop {
        let len = if kind == 0 { longest } else { random.random_range(1..=longest) };
        if batch.len() + len > n_tokens {
            break;
        }
        let prompt = random.random_range(0..=len);
        match kind % 4 {
            0 => batch.push_causal(&ids(&mut random, len, vocab)),
            1 => batch.push_prompted(&ids(&mut random, len, vocab), prompt),
            2 => {
                batch.push_prompted(&ids(&mut random, prompt.max(1), vocab), prompt.max(1));
                for _ in prompt.max(1)..len {
                    let id = ids(&mut random, 1, vocab);
                    batch.push_branch(&id, prompt.max(1), prompt.max(1), 0);
                }
            }
            _ => {
                batch.begin();
                for i in 0..len {
                    let prefix_end =
                        if random.random_bool(0.5) { 0 } else { random.random_range(0..=len as u32) };
                    let branch_start = random.random_range(0..=i as u32);
                    let id = random.random_range(0..vocab as u32);
                    batch.push(BatchToken { id, position: i as u32, prefix_end, branch_start });
                }
            }
        }
        kind += 1;
    }
    for token in 0..batch.len() as u32 {
        if random.random_bool(0.5) {
            let n = random.random_range(1..=40usize);
            let share = 1.0 / n as f32;
            let targets: Vec<_> = ids(&mut random, n, vocab).into_iter().map(|id| (id, share)).collect();
            rows.push_soft(token, random.random_range(0.1..2.0), (token % 3) as u8, &targets);
        }
    }
    give_places(&mut batch, &mut random);
    (batch, rows)
}

/// Half of the tokens get a place of [`N_PLACES`], in no order; networks without places do not look at them.
fn give_places(batch: &mut Batch, random: &mut Xoshiro256PlusPlus) {
    for place in &mut batch.places {
        *place = if random.random_bool(0.5) { 0 } else { random.random_range(0..N_PLACES as u32) };
    }
}
