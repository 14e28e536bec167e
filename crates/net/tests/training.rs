//! The trainer as a whole: gradients of the full model, learning, ranks, resuming.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use mavis_net::cpu::CpuTrainer;
use mavis_net::{
    Algorithm, Batch, Layout, LossRows, NetError, NormKind, NormPlacement, OptimizerSettings, RankedTrainer,
    StepReport, StepSettings, TensorRole, ThreadRank, TrainState, Trainer, TransformerConfig, Variant,
    Weights, initial_parameters,
};
use std::sync::Arc;

fn config(qk_norm: bool, tied: bool) -> TransformerConfig {
    TransformerConfig {
        vocab: 40,
        d_model: 32,
        n_layers: 2,
        n_heads: 2,
        d_ff: 48,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm,
        tied,
        init_seed: 7,
        variant: Default::default(),
    }
}

/// The encoder of paper 002: a LayerNorm after each half-block, learned positions, a head of its own.
fn encoder() -> TransformerConfig {
    let variant = Variant {
        norm: NormKind::Layer,
        placement: NormPlacement::Post,
        learned_positions: Some(9),
        places: None,
        outputs: Some(48),
    };
    TransformerConfig { variant, ..config(false, false) }
}

/// Every departure from Llama's layout alone, then all of them.
fn variants() -> Vec<TransformerConfig> {
    let all = encoder().variant;
    let alone = [
        Variant { norm: all.norm, ..Variant::default() },
        Variant { placement: all.placement, ..Variant::default() },
        Variant { learned_positions: all.learned_positions, ..Variant::default() },
        Variant { places: Some(5), ..Variant::default() },
        all,
    ];
    alone.map(|variant| TransformerConfig { variant, ..config(false, false) }).to_vec()
}

/// Larger than at the start of training, so that gradients are far from rounding.
fn parameters(config: &TransformerConfig) -> Vec<f32> {
    let mut parameters = initial_parameters(config).unwrap();
    for tensor in Layout::transformer(config).unwrap().tensors() {
        // The matrices of a post-norm network are large from the start.
        let large = config.variant.placement == NormPlacement::Post && tensor.role == TensorRole::Matrix;
        if !large {
            parameters[tensor.range()].iter_mut().filter(|x| **x != 1.0).for_each(|x| *x *= 10.0);
        }
    }
    parameters
}

fn trainer(config: &TransformerConfig, optimizer: OptimizerSettings) -> CpuTrainer {
    CpuTrainer::new(config.clone(), optimizer, TrainState::new(parameters(config))).unwrap()
}

/// A causal sequence, a prompt seen in full with a causal tail, and a star.
fn batch() -> (Batch, LossRows) {
    let mut batch = Batch::default();
    let mut rows = LossRows::default();
    batch.push_causal(&[1, 5, 9, 2, 5, 7, 30]);
    rows.push_hard(2, 1.0, 0, 4);
    rows.push_hard(6, 0.5, 0, 11);
    batch.place_last(&[1, 2, 3, 2]);
    batch.push_prompted(&[3, 3, 8, 12, 13, 39], 4);
    rows.push_soft(10, 1.0, 1, &[(12, 0.5), (13, 0.25), (20, 0.25)]);
    rows.push_hard(12, 2.0, 2, 0);
    batch.place_last(&[4, 3, 2, 1, 1, 0]);
    batch.push_prompted(&[17, 18, 19], 3);
    for (i, id) in [21, 22, 23].into_iter().enumerate() {
        batch.push_branch(&[id, id + 10], 3, 3, 0);
        rows.push_hard(16 + 2 * i as u32, 1.0, 3, id + 10);
    }
    rows.push_soft(15, 1.5, 1, &[(21, 0.4), (22, 0.3), (23, 0.3)]);
    (batch, rows)
}

/// Numbers in (-1, 1).
fn direction(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

#[test]
fn gradients_of_every_tensor_agree_with_finite_differences() {
    for config in [config(true, false), config(false, true)].into_iter().chain(variants()) {
        let (batch, rows) = batch();
        let mut trainer = trainer(&config, OptimizerSettings::default());
        let base = trainer.parameters(Weights::Live).unwrap();
        trainer.forward_backward(&batch, &rows).unwrap();
        let gradient = trainer.gradient().unwrap();
        for (i, tensor) in trainer.layout().clone().tensors().iter().enumerate() {
            let mut along = direction(tensor.len(), i as u64 + 1);
            let norm = along.iter().map(|x| x * x).sum::<f32>().sqrt();
            along.iter_mut().for_each(|x| *x /= norm);
            let mut loss_at = |step: f32| {
                let mut moved = base.clone();
                moved[tensor.range()].iter_mut().zip(&along).for_each(|(p, d)| *p += step * d);
                trainer.set_state(TrainState::new(moved)).unwrap();
                f64::from(trainer.evaluate(&batch, &rows, Weights::Live).unwrap().loss)
            };
            let step = 1e-2;
            let slope = (loss_at(step) - loss_at(-step)) / (2.0 * f64::from(step));
            let expected: f64 =
                gradient[tensor.range()].iter().zip(&along).map(|(g, d)| f64::from(g * d)).sum();
            assert!(
                (slope - expected).abs() < 1e-3 * slope.abs().max(0.3),
                "{}: {slope} {expected}",
                tensor.name
            );
        }
    }
}

#[test]
fn padding_gets_no_gradient_and_never_moves() {
    let config = config(true, false);
    let (batch, rows) = batch();
    let mut trainer = trainer(&config, OptimizerSettings::default());
    trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 0.1 }).unwrap();
    let parameters = trainer.parameters(Weights::Live).unwrap();
    let layout = trainer.layout();
    let mut covered = vec![false; layout.len()];
    layout.tensors().iter().for_each(|tensor| covered[tensor.range()].fill(true));
    assert!(covered.iter().zip(&parameters).all(|(covered, p)| *covered || *p == 0.0));
}

#[test]
fn both_optimizers_learn_the_batch() {
    for algorithm in [Algorithm::AdamW, Algorithm::Muon] {
        let (batch, rows) = batch();
        let optimizer = OptimizerSettings { algorithm, weight_decay: 0.01, ..OptimizerSettings::default() };
        let mut trainer = trainer(&config(true, false), optimizer);
        let losses: Vec<f32> = (0..60)
            .map(|_| {
                trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 3e-3 }).unwrap().loss.loss
            })
            .collect();
        // The soft targets have an entropy of their own, 0.36 nats of this loss.
        assert!(losses[59] < 0.6 && losses[0] > 2.5, "{algorithm:?}: {} to {}", losses[0], losses[59]);
        let average = trainer.evaluate(&batch, &rows, Weights::Average).unwrap().loss;
        assert!(average < losses[0] && average > losses[59], "{average}");
    }
}

#[test]
fn the_encoder_learns_and_knows_its_bounds() {
    let mut batch = Batch::default();
    let mut rows = LossRows::default();
    for (i, tokens) in
        [[1, 5, 9, 2, 5, 7, 30], [1, 5, 9, 2, 5, 30, 7], [8, 5, 9, 2, 5, 7, 30]].iter().enumerate()
    {
        batch.push_prompted(tokens, tokens.len());
        rows.push_hard(i as u32 * 7 + 6, 1.0, 0, 41 + i as u32);
    }
    let mut trainer = trainer(&encoder(), OptimizerSettings::default());
    let first = trainer.evaluate(&batch, &rows, Weights::Live).unwrap().loss;
    for _ in 0..60 {
        trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 3e-3 }).unwrap();
    }
    let last = trainer.evaluate(&batch, &rows, Weights::Live).unwrap().loss;
    assert!(first > 2.0 && last < 0.2, "{first} to {last}");
    assert_eq!(trainer.logits(&batch, &[6], Weights::Live).unwrap().n_columns, 48);
    batch.positions[3] = 9;
    let refused = trainer.evaluate(&batch, &rows, Weights::Live);
    assert!(
        matches!(refused, Err(NetError::Position { token_idx: 3, position: 9, limit: 9 })),
        "{refused:?}"
    );
    batch.positions[3] = 3;
    rows.target_ids[0] = 48;
    assert!(matches!(
        trainer.evaluate(&batch, &rows, Weights::Live),
        Err(NetError::Target { id: 48, vocab: 48 })
    ));
    let tied = TransformerConfig { tied: true, ..encoder() };
    assert!(tied.validate().unwrap_err().to_string().contains("outputs of its own"));
}

#[test]
fn branches_do_not_see_each_other() {
    let mut trainer = trainer(&config(true, false), OptimizerSettings::default());
    let star = |second: [u32; 2]| {
        let mut batch = Batch::default();
        batch.push_prompted(&[1, 2, 3, 4], 4);
        batch.push_branch(&[5, 6], 4, 4, 0);
        batch.push_branch(&second, 4, 4, 0);
        batch
    };
    let first = trainer.logits(&star([7, 8]), &[4, 5, 7], Weights::Live).unwrap();
    let other = trainer.logits(&star([9, 10]), &[4, 5, 7], Weights::Live).unwrap();
    assert_eq!(first.row(0), other.row(0));
    assert_eq!(first.row(1), other.row(1));
    assert_ne!(first.row(2), other.row(2));
    // A branch is what a plain continuation of the prompt would be.
    let mut alone = Batch::default();
    alone.push_prompted(&[1, 2, 3, 4, 7, 8], 4);
    let alone = trainer.logits(&alone, &[5], Weights::Live).unwrap();
    alone.row(0).iter().zip(first.row(2)).for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
}

/// What a run of some steps leaves: its reports and parameters.
fn run(mut trainer: Box<dyn Trainer>, (batch, rows): &(Batch, LossRows)) -> (Vec<StepReport>, Vec<f32>) {
    let settings = StepSettings { learning_rate: 1e-3 };
    let reports = (0..5).map(|_| trainer.train_step(batch, rows, &settings).unwrap()).collect();
    (reports, trainer.parameters(Weights::Live).unwrap())
}

#[test]
fn ranks_on_their_shares_equal_one_on_the_whole() {
    let config = config(true, false);
    let mut material = (Batch::default(), LossRows::default());
    for (at, len) in [5_u32, 3, 7, 5, 2].into_iter().enumerate() {
        let (first, tokens) = (material.0.len() as u32, (0..len).map(|t| 1 + 7 * at as u32 + t));
        let tokens: Vec<u32> = tokens.collect();
        material.0.push_causal(&tokens);
        for t in 0..len - 1 {
            material.1.push_hard(first + t, 1.0 + at as f32, (t % 3) as u8, tokens[t as usize + 1]);
        }
    }
    let own = || -> Box<dyn Trainer> { Box::new(trainer(&config, OptimizerSettings::default())) };
    let (whole, alone) = run(own(), &material);
    for n_ranks in [2, 3, 8] {
        let parts: Vec<_> = std::thread::scope(|scope| {
            let start = |rank: ThreadRank| {
                let (material, inner) = (&material, own());
                scope.spawn(move || run(Box::new(RankedTrainer::new(inner, Arc::new(rank))), material))
            };
            let threads: Vec<_> = ThreadRank::group(n_ranks).into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(parts.iter().all(|part| *part == parts[0]), "ranks stay bit for bit the same");
        let difference = alone.iter().zip(&parts[0].1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 2e-5, "{n_ranks} ranks: {difference}");
        for (one, many) in whole.iter().zip(&parts[0].0) {
            assert_eq!(one.step, many.step);
            assert!((one.loss.loss - many.loss.loss).abs() < 1e-4, "{one:?} {many:?}");
            assert_eq!(one.loss.tags.len(), many.loss.tags.len());
            for (one, many) in one.loss.tags.iter().zip(&many.loss.tags) {
                assert_eq!((one.tag, one.n_rows, one.weight), (many.tag, many.n_rows, many.weight));
                assert!((one.loss - many.loss).abs() < 1e-4, "{one:?} {many:?}");
            }
        }
    }
}

/// A loss that overflows on one rank ends the step on all of them, for that reason.
#[test]
fn what_is_not_finite_on_one_rank_is_so_on_all() {
    let config = config(false, false);
    let mut bad = parameters(&config);
    // The embedding of token 5, which only the second sequence has.
    bad[5 * 32] = f32::NAN;
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    batch.push_causal(&[1, 2, 3]);
    batch.push_causal(&[4, 5, 6]);
    rows.push_hard(0, 1.0, 0, 2);
    rows.push_hard(4, 1.0, 0, 6);
    std::thread::scope(|scope| {
        for rank in ThreadRank::group(2) {
            let state = TrainState::new(bad.clone());
            let inner = CpuTrainer::new(config.clone(), OptimizerSettings::default(), state).unwrap();
            let mut trainer = RankedTrainer::new(Box::new(inner), Arc::new(rank));
            let (batch, rows) = (&batch, &rows);
            scope.spawn(move || {
                let settings = StepSettings { learning_rate: 1e-3 };
                let error = trainer.train_step(batch, rows, &settings).unwrap_err();
                assert!(matches!(error, NetError::NotFinite { step: 0, what: "the loss" }), "{error}");
            });
        }
    });
}

#[test]
fn a_resumed_run_gives_the_same_losses() {
    let (batch, rows) = batch();
    let settings = StepSettings { learning_rate: 3e-3 };
    for algorithm in [Algorithm::AdamW, Algorithm::Muon] {
        let optimizer = OptimizerSettings { algorithm, ..OptimizerSettings::default() };
        let mut unbroken = trainer(&config(true, false), optimizer.clone());
        let step = |trainer: &mut CpuTrainer| trainer.train_step(&batch, &rows, &settings).unwrap();
        (0..3).for_each(|_| drop(step(&mut unbroken)));
        let state = unbroken.state().unwrap();
        let mut resumed = CpuTrainer::new(config(true, false), optimizer, state).unwrap();
        for _ in 0..3 {
            assert_eq!(step(&mut unbroken), step(&mut resumed));
        }
        assert_eq!(unbroken.state().unwrap(), resumed.state().unwrap());
    }
}

#[test]
fn overflow_is_an_error_and_changes_nothing() {
    let config = config(false, false);
    let (batch, rows) = batch();
    let mut bad = parameters(&config);
    bad[5 * 32] = f32::NAN;
    let mut trainer =
        CpuTrainer::new(config, OptimizerSettings::default(), TrainState::new(bad.clone())).unwrap();
    let error = trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 1e-3 }).unwrap_err();
    assert!(matches!(error, NetError::NotFinite { step: 0, .. }), "{error}");
    let after = trainer.parameters(Weights::Live).unwrap();
    assert!(bad.iter().zip(&after).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(trainer.gradient().unwrap().iter().all(|g| *g == 0.0));
}

#[test]
fn bad_input_is_refused() {
    let mut trainer = trainer(&config(true, false), OptimizerSettings::default());
    let (mut batch, rows) = batch();
    batch.tokens[3] = 40;
    let settings = StepSettings { learning_rate: 1e-3 };
    assert!(matches!(trainer.submit(&batch, &rows, &settings), Err(NetError::Token { token_idx: 3, .. })));
    assert!(trainer.collect().unwrap().is_none());
    let mut state = trainer.state().unwrap();
    state.average.pop();
    assert!(matches!(trainer.set_state(state), Err(NetError::Length { what: "average", .. })));
}
