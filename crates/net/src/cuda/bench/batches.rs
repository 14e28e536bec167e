//! Made-up batches to time with.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::batch::{Batch, LossRows};

/// Sequences like those of `star` examples: a prompt of about 90 tokens seen in full, about 30 branches of one token; loss on the last prompt token
/// (any branch may follow) and on every branch (a small distribution over 64 ids). Sequences are added while they fit into `n_tokens`.
pub fn star_batch(n_tokens: usize, vocab: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    loop {
        let (prompt, branches) = (random.random_range(70..=110usize), random.random_range(15..=45usize));
        if batch.len() + prompt + branches > n_tokens {
            return (batch, rows);
        }
        let start = batch.len() as u32;
        batch.push_prompted(&ids(&mut random, prompt, vocab), prompt);
        let moves = ids(&mut random, branches, vocab);
        let share = 1.0 / branches as f32;
        let targets: Vec<_> = moves.iter().map(|id| (*id, share)).collect();
        rows.push_soft(start + prompt as u32 - 1, 1.0, 0, &targets);
        for id in moves {
            batch.push_branch(&[id], prompt, prompt, 0);
            let bucket = random.random_range(0..60) + vocab as u32 - 64;
            let targets = [(bucket, 0.1), (bucket + 1, 0.2), (bucket + 2, 0.4), (bucket + 3, 0.3)];
            rows.push_soft(batch.len() as u32 - 1, share, 1, &targets);
        }
    }
}

/// Causal sequences like those of `chain` examples: a prompt of about 90 tokens, then about 90 with loss.
pub fn chain_batch(n_tokens: usize, vocab: usize, seed: u64) -> (Batch, LossRows) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    loop {
        let (prompt, answer) = (random.random_range(70..=110usize), random.random_range(40..=140usize));
        if batch.len() + prompt + answer > n_tokens {
            return (batch, rows);
        }
        let start = batch.len();
        let tokens = ids(&mut random, prompt + answer, vocab);
        batch.push_causal(&tokens);
        for i in prompt - 1..prompt + answer - 1 {
            rows.push_hard((start + i) as u32, 1.0, 0, tokens[i + 1]);
        }
    }
}

/// Random token ids.
pub(crate) fn ids(random: &mut Xoshiro256PlusPlus, n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|_| random.random_range(0..vocab as u32)).collect()
}
