//! KV caches against whole passes of the trainer.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use mavis_net::cpu::{CpuDecoder, CpuTrainer};
use mavis_net::{
    Batch, BatchToken, Decoder, NetError, NormKind, NormPlacement, OptimizerSettings, Precision, TrainState,
    Trainer, TransformerConfig, Variant, Want, Weights, initial_parameters,
};

fn config(qk_norm: bool) -> TransformerConfig {
    TransformerConfig {
        vocab: 72,
        d_model: 32,
        n_layers: 3,
        n_heads: 2,
        d_ff: 56,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm,
        tied: !qk_norm,
        init_seed: 3,
        variant: Default::default(),
    }
}

fn parameters(config: &TransformerConfig) -> Vec<f32> {
    initial_parameters(config).unwrap().iter().map(|x| if *x == 1.0 { 1.0 } else { x * 8.0 }).collect()
}

fn pair(qk_norm: bool) -> (CpuTrainer, CpuDecoder) {
    pair_of(config(qk_norm))
}

fn pair_of(config: TransformerConfig) -> (CpuTrainer, CpuDecoder) {
    let parameters = parameters(&config);
    let decoder = CpuDecoder::new(config.clone(), &parameters, Precision::Exact).unwrap();
    let state = TrainState::new(parameters);
    (CpuTrainer::new(config, OptimizerSettings::default(), state).unwrap(), decoder)
}

fn tokens(n: usize, seed: usize) -> Vec<u32> {
    (0..n).map(|i| ((i * i * 7 + i * 13 + seed * 29) % 72) as u32).collect()
}

fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() < 2e-5 * b.abs().max(1.0), "{i}: {a} {b}");
    }
}

#[test]
fn a_stateless_pass_equals_the_trainer() {
    for qk_norm in [false, true] {
        let (mut trainer, mut decoder) = pair(qk_norm);
        let mut batch = Batch::default();
        batch.push_causal(&tokens(150, 1));
        batch.begin();
        batch.push_prompted(&tokens(40, 2), 40);
        for branch in 0..20 {
            batch.push_branch(&tokens(3, branch), 40, 40, 0);
        }
        batch.push_causal(&tokens(1, 5));
        let rows: Vec<u32> = (0..batch.len() as u32).collect();
        let expected = trainer.logits(&batch, &rows, Weights::Live).unwrap();
        let got = decoder.logits(&batch, &Want::rows(rows.clone())).unwrap();
        assert_close(&got.values, &expected.values);
        let some = decoder.logits(&batch, &Want { rows, columns: Some(21..45), brief: None }).unwrap();
        assert_eq!(some.n_rows(), batch.len());
        assert_close(some.row(77), &expected.row(77)[21..45]);
    }
}

#[test]
fn an_encoder_without_kv_caches_equals_the_trainer() {
    for placement in [NormPlacement::Pre, NormPlacement::Post] {
        let variant = Variant {
            norm: NormKind::Layer,
            placement,
            learned_positions: Some(79),
            outputs: Some(128),
            ..Variant::default()
        };
        let (mut trainer, mut decoder) = pair_of(TransformerConfig { variant, ..config(true) });
        let mut batch = Batch::default();
        for seed in 0..5 {
            batch.push_prompted(&tokens(79, seed), 79);
        }
        let want = Want::last(&batch);
        let expected = trainer.logits(&batch, &want.rows, Weights::Live).unwrap();
        let got = decoder.logits(&batch, &want).unwrap();
        assert_eq!((got.n_rows(), got.n_columns), (5, 128));
        assert_close(&got.values, &expected.values);
    }
}

#[test]
fn places_are_added_in_passes_with_and_without_caches() {
    let variant = Variant { places: Some(9), ..Variant::default() };
    let (mut trainer, mut decoder) = pair_of(TransformerConfig { variant, ..config(true) });
    let (text, places) = (tokens(60, 4), tokens(60, 7).iter().map(|id| id % 9).collect::<Vec<_>>());
    let mut whole = Batch::default();
    whole.push_prompted(&text, 40);
    let plain = trainer.logits(&whole, &[59], Weights::Live).unwrap();
    whole.place_last(&places);
    let expected = trainer.logits(&whole, &[59], Weights::Live).unwrap();
    assert!(plain.values.iter().zip(&expected.values).any(|(a, b)| (a - b).abs() > 1e-2));
    assert_close(&decoder.logits(&whole, &Want::rows(vec![59])).unwrap().values, &expected.values);

    let cache = decoder.open().unwrap();
    let mut prompt = Batch::default();
    prompt.push_prompted(&text[..40], 40);
    prompt.place_last(&places[..40]);
    decoder.extend(&[cache], &prompt, &Want::last(&prompt)).unwrap();
    let mut rest = Batch::default();
    rest.push_run(text[40..].iter().copied(), 40, 0, 0);
    rest.place_last(&places[40..]);
    let got = decoder.extend(&[cache], &rest, &Want::last(&rest)).unwrap();
    assert_close(&got.values, &expected.values);

    whole.places[7] = 9;
    let error = decoder.logits(&whole, &Want::last(&whole)).unwrap_err();
    assert!(matches!(error, NetError::Place { token_idx: 7, place: 9, limit: 9 }), "{error}");
}

#[test]
fn tokens_one_by_one_equal_one_pass() {
    for qk_norm in [false, true] {
        let (mut trainer, mut decoder) = pair(qk_norm);
        let text = tokens(70, 4);
        let mut whole = Batch::default();
        whole.push_causal(&text);
        let rows: Vec<u32> = (0..70).collect();
        let expected = trainer.logits(&whole, &rows, Weights::Live).unwrap();
        let cache = decoder.open().unwrap();
        for (i, &id) in text.iter().enumerate() {
            let mut batch = Batch::default();
            batch.push(BatchToken { id, position: i as u32, prefix_end: 0, branch_start: 0 });
            let logits = decoder.extend(&[cache], &batch, &Want::last(&batch)).unwrap();
            assert_close(logits.row(0), expected.row(i));
        }
        assert_eq!(decoder.cache_len(cache).unwrap(), 70);
    }
}

#[test]
fn unequal_kv_caches_extend_together_fork_and_truncate() {
    let (mut trainer, mut decoder) = pair(true);
    let (first, second) = (tokens(50, 1), tokens(23, 2));
    let caches = [decoder.open().unwrap(), decoder.open().unwrap()];
    let part = |parts: [(&[u32], usize); 2]| {
        let mut batch = Batch::default();
        for (ids, from) in parts {
            batch.begin();
            for (i, &id) in ids.iter().enumerate() {
                batch.push(BatchToken { id, position: (from + i) as u32, prefix_end: 0, branch_start: 0 });
            }
        }
        batch
    };
    let start = part([(&first[..30], 0), (&second[..1], 0)]);
    decoder.extend(&caches, &start, &Want::default()).unwrap();
    // A detour that is undone, and a fork that keeps it.
    let detour = part([(&tokens(5, 9), 30), (&[], 1)]);
    decoder.extend(&caches, &detour, &Want::default()).unwrap();
    let fork = decoder.fork(caches[0], 35).unwrap();
    decoder.truncate(caches[0], 30).unwrap();
    let rest = part([(&first[30..], 30), (&second[1..], 1)]);
    let got = decoder.extend(&caches, &rest, &Want::last(&rest)).unwrap();
    for (i, text) in [&first, &second].into_iter().enumerate() {
        let mut whole = Batch::default();
        whole.push_causal(text);
        let expected = trainer.logits(&whole, &[text.len() as u32 - 1], Weights::Live).unwrap();
        assert_close(got.row(i), expected.row(0));
    }
    assert_eq!(decoder.cache_len(fork).unwrap(), 35);
    decoder.close(fork);
    assert!(matches!(decoder.cache_len(fork), Err(NetError::KvCache(_))));
    assert!(matches!(decoder.truncate(caches[1], 99), Err(NetError::KvCacheUse { .. })));
}

#[test]
fn branches_over_a_cached_prompt_equal_the_star() {
    let (mut trainer, mut decoder) = pair(true);
    let prompt = tokens(33, 6);
    let branches: Vec<Vec<u32>> = (0..12).map(|i| tokens(1 + i % 3, i)).collect();
    let mut star = Batch::default();
    star.push_prompted(&prompt, 33);
    branches.iter().for_each(|branch| star.push_branch(branch, 33, 33, 0));
    let rows: Vec<u32> = (33..star.len() as u32).collect();
    let expected = trainer.logits(&star, &rows, Weights::Live).unwrap();

    let cache = decoder.open().unwrap();
    let mut first = Batch::default();
    first.push_prompted(&prompt, 33);
    decoder.extend(&[cache], &first, &Want::default()).unwrap();
    let mut second = Batch::default();
    second.begin();
    branches.iter().for_each(|branch| second.push_branch(branch, 33, 33, 33));
    let rows: Vec<u32> = (0..second.len() as u32).collect();
    let got = decoder.extend(&[cache], &second, &Want::rows(rows)).unwrap();
    assert_close(&got.values, &expected.values);
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let (_, mut decoder) = pair(true);
    let cache = decoder.open().unwrap();
    let mut batch = Batch::default();
    batch.push_causal(&[1, 2, 3]);
    decoder.extend(&[cache], &batch, &Want::default()).unwrap();
    let mut twice = batch.clone();
    twice.push_causal(&[4]);
    assert!(matches!(
        decoder.extend(&[cache, cache], &twice, &Want::default()),
        Err(NetError::KvCacheUse { .. })
    ));
    let beyond = Want::rows([3]);
    assert!(matches!(decoder.extend(&[cache], &batch, &beyond), Err(NetError::Row { row: 3, .. })));
    let columns = Want { rows: vec![0], columns: Some(60..80), brief: None };
    assert!(matches!(decoder.extend(&[cache], &batch, &columns), Err(NetError::Target { id: 80, .. })));
    batch.prefix_end[0] = 7;
    assert!(matches!(decoder.extend(&[cache], &batch, &Want::default()), Err(NetError::Mask { .. })));
    assert_eq!(decoder.cache_len(cache).unwrap(), 3);
}

#[test]
fn fewer_bits_are_near() {
    let config = config(true);
    let parameters = parameters(&config);
    let mut exact = CpuDecoder::new(config.clone(), &parameters, Precision::Exact).unwrap();
    let mut batch = Batch::default();
    batch.push_causal(&tokens(30, 1));
    let want = Want::rows((0..30).collect::<Vec<_>>());
    let expected = exact.logits(&batch, &want).unwrap();
    let norm = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>().sqrt();
    let distance = |a: &[f32], b: &[f32]| {
        norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>()) / norm(&expected.values)
    };
    for (precision, most, bytes) in [(Precision::Bf16, 0.01, 0.51), (Precision::Int8, 0.04, 0.33)] {
        let mut rounded = CpuDecoder::new(config.clone(), &parameters, precision).unwrap();
        assert!(rounded.n_weight_bytes() as f64 <= bytes * exact.n_weight_bytes() as f64);
        let together = rounded.logits(&batch, &want).unwrap();
        let off = distance(&together.values, &expected.values);
        assert!(off > 1e-5 && off < most, "{precision}: {off}");
    }
}

/// A text of 90 tokens in which line `LINE` is read a second time with full attention, as states are, and moves are tried as branches.
mod same_bits {
    use super::*;
    use std::ops::Range;

    const LEN: usize = 90;
    /// An odd start, and no multiple of any tile.
    const LINE: Range<usize> = 41..64;
    const PROMPT: usize = 19;

    fn config() -> TransformerConfig {
        // Heads of 24 are no whole vectors, and 72 outputs no whole panels.
        TransformerConfig { d_model: 48, d_ff: 72, ..super::config(true) }
    }

    fn token(text: &[u32], at: usize) -> BatchToken {
        let prefix_end = match at {
            _ if at < PROMPT => PROMPT,
            _ if LINE.contains(&at) => LINE.end,
            _ => 0,
        };
        BatchToken { id: text[at], position: at as u32, prefix_end: prefix_end as u32, branch_start: 0 }
    }

    /// Logits after each token in its first reading, and after three branches from there: token by token.
    fn one_by_one(decoder: &mut CpuDecoder, text: &[u32]) -> Vec<Vec<f32>> {
        let cache = decoder.open().unwrap();
        let mut all = Vec::new();
        let mut batch = Batch::default();
        (0..PROMPT).for_each(|at| batch.push(token(text, at)));
        all.push(decoder.extend(&[cache], &batch, &Want::last(&batch)).unwrap().values);
        for at in PROMPT..LEN {
            if at == LINE.end {
                decoder.truncate(cache, LINE.start).unwrap();
                let mut again = Batch::default();
                LINE.for_each(|at| again.push(token(text, at)));
                all.push(decoder.extend(&[cache], &again, &Want::last(&again)).unwrap().values);
            }
            let mut one = Batch::default();
            one.push(BatchToken { prefix_end: 0, ..token(text, at) });
            all.push(decoder.extend(&[cache], &one, &Want::last(&one)).unwrap().values);
        }
        for branch in 0..3 {
            let mut one = Batch::default();
            one.begin();
            one.push_branch(&tokens(1, branch), LEN, LEN, LEN);
            all.push(decoder.extend(&[cache], &one, &Want::last(&one)).unwrap().values);
            decoder.truncate(cache, LEN).unwrap();
        }
        decoder.close(cache);
        all
    }

    /// The same in few passes that end at `cuts`, beside `companion` tokens of another text.
    fn in_passes(decoder: &mut CpuDecoder, text: &[u32], cuts: &[usize], companion: usize) -> Vec<Vec<f32>> {
        let caches = [decoder.open().unwrap(), decoder.open().unwrap()];
        let (mut all, mut line) = (Vec::new(), Vec::new());
        let mut from = 0;
        for &to in cuts {
            let mut batch = Batch::default();
            batch.push_causal(&tokens(companion, to));
            batch.begin();
            let mut rows: Vec<(usize, u32)> = Vec::new();
            for at in from..to {
                let in_line = LINE.contains(&at);
                if (at + 1 >= PROMPT && !in_line) || at + 1 == LINE.end {
                    rows.push((at, batch.len() as u32));
                }
                batch.push(token(text, at));
            }
            if (from..to).contains(&LINE.start) {
                line.extend(batch.len() as u32..(batch.len() + LINE.len()) as u32);
                batch.push_branch(&text[LINE], LINE.start, LINE.start, from);
            }
            if to == LEN {
                for branch in 0..3 {
                    rows.push((LEN + branch, batch.len() as u32));
                    batch.push_branch(&tokens(1, branch), LEN, LEN, from);
                }
            }
            let mut want: Vec<u32> = rows.iter().map(|(_, row)| *row).collect();
            let n_rows = want.len();
            want.append(&mut line);
            let logits = decoder.extend(&caches, &batch, &Want::rows(want.clone())).unwrap();
            for (place, (at, _)) in rows.iter().enumerate() {
                if at + 1 == LINE.end {
                    // The first reading comes first, then what its second one says.
                    all.extend((n_rows..want.len()).map(|place| logits.row(place).to_vec()));
                }
                all.push(logits.row(place).to_vec());
            }
            decoder.truncate(caches[1], to).unwrap();
            from = to;
        }
        caches.into_iter().for_each(|cache| decoder.close(cache));
        all
    }

    #[test]
    fn a_row_is_the_same_whatever_shares_the_pass() {
        let (config, text) = (config(), tokens(LEN, 3));
        let parameters = parameters(&config);
        for precision in Precision::ALL {
            let mut decoder = CpuDecoder::new(config.clone(), &parameters, precision).unwrap();
            let expected = one_by_one(&mut decoder, &text);
            for n_threads in [1, 2, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                for (cuts, companion) in
                    [(&[LEN][..], 0), (&[LEN], 131), (&[20, LEN], 1), (&[37, 70, 71, 77, LEN], 17)]
                {
                    let got = pool.install(|| in_passes(&mut decoder, &text, cuts, companion));
                    assert_eq!(got.len(), expected.len());
                    for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
                        let same = got.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
                        assert!(same, "{precision}, {n_threads} threads, cuts {cuts:?}: row {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_empty_batch_has_no_logits() {
    let (_, mut decoder) = pair(true);
    let logits = decoder.logits(&Batch::default(), &Want::default()).unwrap();
    assert_eq!(logits.n_rows(), 0);
    assert_eq!(decoder.extend(&[], &Batch::default(), &Want::default()).unwrap().n_rows(), 0);
}

/// The longest context of internal search: what drafts and branches leave behind must not matter however long a cache is.
#[test]
fn a_kv_cache_of_8192_tokens_equals_one_pass_over_them() {
    const LEN: usize = 8_192;
    let config = TransformerConfig { n_layers: 2, d_model: 16, n_heads: 1, d_ff: 24, ..config(true) };
    let parameters = parameters(&config);
    let mut decoder = CpuDecoder::new(config, &parameters, Precision::Exact).unwrap();
    let text = tokens(LEN, 6);
    let mut whole = Batch::default();
    whole.push_causal(&text);
    let rows: Vec<u32> = [0, 31, 4_095, 4_096, 8_000, 8_190, 8_191].to_vec();
    let expected = decoder.logits(&whole, &Want::rows(rows.clone())).unwrap();
    let cache = decoder.open().unwrap();
    let mut len = 0;
    // Pieces of all sizes, as prompts, drafts and single tokens come; wrong drafts and branches are taken back.
    for size in [1, 31, 700, 4_096, 1].into_iter().chain(std::iter::repeat(37)) {
        let size = size.min(LEN - len);
        if size == 0 {
            break;
        }
        let mut batch = Batch::default();
        batch.begin();
        for (i, &id) in text[len..len + size].iter().enumerate() {
            batch.push(BatchToken { id, position: (len + i) as u32, prefix_end: 0, branch_start: 0 });
        }
        for branch in 0..3 {
            batch.push_branch(&tokens(1, branch), len + size, len + size, len);
        }
        let wanted: Vec<u32> =
            rows.iter().copied().filter(|row| (len..len + size).contains(&(*row as usize))).collect();
        let places: Vec<u32> = wanted.iter().map(|row| row - len as u32).collect();
        let logits = decoder.extend(&[cache], &batch, &Want::rows(places)).unwrap();
        for (place, row) in wanted.iter().enumerate() {
            let at = rows.iter().position(|other| other == row).unwrap();
            assert_close(logits.row(place), expected.row(at));
        }
        len += size;
        decoder.truncate(cache, len).unwrap();
    }
    assert_eq!(decoder.cache_len(cache).unwrap(), LEN);
}
