//! Small nets as a whole: gradients, learning, sharing, resuming.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use mavis_net::cpu::CpuConvNet;
use mavis_net::{
    Checkpoint, ConvLayer, ConvLoss, ConvNetConfig, ConvTargets, NetError, OptimizerSettings, StepSettings,
    TrainState, Weights,
};

fn config() -> ConvNetConfig {
    ConvNetConfig {
        input: [4, 5, 2],
        layers: vec![
            ConvLayer::Conv3x3 { channels: 6 },
            ConvLayer::LeakyRelu { slope: 0.1 },
            ConvLayer::Conv3x3 { channels: 4 },
            ConvLayer::Tanh,
            ConvLayer::Dense { outputs: 5 },
            ConvLayer::Sigmoid,
            ConvLayer::Dense { outputs: 3 },
        ],
        init_seed: 3,
    }
}

fn net() -> CpuConvNet {
    let state = TrainState::new(config().initial_parameters().unwrap());
    let optimizer = OptimizerSettings { weight_decay: 0.0, ..OptimizerSettings::default() };
    CpuConvNet::new(config(), optimizer, state).unwrap()
}

/// Boards of 0 and 1, and targets that depend on them; one output of each board is left out.
fn data(n: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let mut state = 88_172_645_463_325_252u64;
    let mut bit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33 & 1) as f32
    };
    let boards: Vec<f32> = (0..n * 40).map(|_| bit()).collect();
    let (mut targets, mut weights) = (Vec::new(), Vec::new());
    for (i, board) in boards.chunks_exact(40).enumerate() {
        // Which half has more stones, one cell, and nothing.
        let half: f32 = board[..20].iter().sum::<f32>() - board[20..].iter().sum::<f32>();
        targets.extend([half / 10.0, board[7], f32::NAN]);
        weights.extend([1.0, 0.5 + (i % 2) as f32, 0.0]);
    }
    (boards, targets, weights)
}

#[test]
fn gradients_of_every_tensor_agree_with_finite_differences() {
    let (boards, _, _) = data(70);
    let values: Vec<f32> =
        (0..70).flat_map(|i| if i % 2 == 0 { [0.5, 0.5, 0.0] } else { [0.0, 0.2, 0.8] }).collect();
    let weights: Vec<f32> =
        (0..70).flat_map(|i| if i % 2 == 0 { [1.0, 1.0, 0.0] } else { [1.0; 3] }).collect();
    for loss in [ConvLoss::MeanSquared, ConvLoss::CrossEntropy] {
        let targets = ConvTargets { values: &values, weights: &weights, loss };
        let mut net = net();
        net.forward_backward(&boards, targets).unwrap();
        let gradient = net.gradient_mut().to_vec();
        let base = net.state().parameters.clone();
        for tensor in net.layout().clone().tensors() {
            for (i, element) in tensor.range().step_by(tensor.len().div_ceil(7)).enumerate() {
                let mut at = |step: f32| {
                    let mut moved = base.clone();
                    moved[element] += step;
                    net.set_state(TrainState::new(moved)).unwrap();
                    f64::from(net.evaluate(&boards, targets, Weights::Live).unwrap())
                };
                let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
                let expected = f64::from(gradient[element]);
                assert!((slope - expected).abs() < 1e-3, "{loss:?} {} {i}: {slope} {expected}", tensor.name);
            }
        }
    }
}

#[test]
fn a_net_learns_and_resumes_exactly() {
    let (boards, values, weights) = data(200);
    let targets = ConvTargets { values: &values, weights: &weights, loss: ConvLoss::MeanSquared };
    let settings = StepSettings { learning_rate: 1e-2 };
    let mut net = net();
    let first = net.train_step(&boards, targets, &settings).unwrap();
    (0..200).for_each(|_| assert!(net.train_step(&boards, targets, &settings).unwrap().is_finite()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.safetensors");
    let checkpoint = Checkpoint {
        config: config(),
        vocabulary: String::new(),
        state: net.state().clone(),
        opaque: Vec::new(),
        notes: Default::default(),
    };
    checkpoint.save(&path).unwrap();
    let loaded = Checkpoint::<ConvNetConfig>::load(&path, None).unwrap();
    assert_eq!(loaded, checkpoint);
    let optimizer = OptimizerSettings { weight_decay: 0.0, ..OptimizerSettings::default() };
    let mut resumed = CpuConvNet::new(loaded.config, optimizer, loaded.state).unwrap();
    for _ in 0..3 {
        let losses = [&mut net, &mut resumed].map(|net| net.train_step(&boards, targets, &settings).unwrap());
        assert_eq!(losses[0], losses[1]);
        assert!(losses[0] < first / 10.0, "{first} to {}", losses[0]);
    }
}

#[test]
fn predictions_do_not_depend_on_the_batch() {
    let (boards, _, _) = data(100);
    let net = net();
    let all = net.predict(&boards, Weights::Live).unwrap();
    for i in [0, 31, 32, 99] {
        let one = net.predict(&boards[i * 40..(i + 1) * 40], Weights::Average).unwrap();
        one.iter().zip(&all[i * 3..]).for_each(|(a, b)| assert!((a - b).abs() < 1e-6));
    }
    assert!(net.predict(&[], Weights::Live).unwrap().is_empty());
    assert!(matches!(
        net.predict(&boards[..41], Weights::Live),
        Err(NetError::Length { what: "inputs", .. })
    ));
}

/// One board alone goes another way through a net than many, and so do both after an update.
#[test]
fn wide_nets_predict_the_same_for_any_number_of_boards() {
    let relu = ConvLayer::LeakyRelu { slope: 0.01 };
    let wide = |last: &[ConvLayer]| ConvNetConfig {
        input: [7, 8, 3],
        layers: [
            &[ConvLayer::Conv3x3 { channels: 32 }, relu, ConvLayer::Conv3x3 { channels: 40 }, relu],
            last,
        ]
        .concat(),
        init_seed: 4,
    };
    let policy = wide(&[ConvLayer::Conv3x3 { channels: 1 }]);
    let value =
        wide(&[ConvLayer::Conv3x3 { channels: 2 }, relu, ConvLayer::Dense { outputs: 33 }, ConvLayer::Tanh]);
    for config in [policy, value] {
        let state = TrainState::new(config.initial_parameters().unwrap());
        let mut net = CpuConvNet::new(config.clone(), OptimizerSettings::default(), state).unwrap();
        let (size, n_outputs) = (config.n_inputs(), net.n_outputs());
        let boards: Vec<f32> = (0..33 * size).map(|i| ((i * i + 3 * i) % 7) as f32 / 7.0).collect();
        for _ in 0..2 {
            for weights in [Weights::Live, Weights::Average] {
                let all = net.predict(&boards, weights).unwrap();
                for n in [1, 2, 6, 8, 9, 13, 15] {
                    let some = net.predict(&boards[..n * size], weights).unwrap();
                    assert_eq!(some, all[..n * n_outputs], "{n} boards");
                }
            }
            let targets = vec![0.5; 33 * n_outputs];
            let targets = ConvTargets { values: &targets, weights: &targets, loss: ConvLoss::MeanSquared };
            net.train_step(&boards, targets, &StepSettings { learning_rate: 0.1 }).unwrap();
        }
    }
}

#[test]
fn what_is_not_a_number_is_an_error_and_changes_nothing() {
    let (mut boards, _, _) = data(40);
    let (values, weights) = ([0.2, 0.3, 0.5].repeat(40), [1.0; 120]);
    let settings = StepSettings { learning_rate: 1e-2 };
    for loss in [ConvLoss::MeanSquared, ConvLoss::CrossEntropy] {
        let targets = ConvTargets { values: &values, weights: &weights, loss };
        let mut net = net();
        let before = net.state().clone();
        boards[33] = f32::NAN;
        let error = net.train_step(&boards, targets, &settings).unwrap_err();
        assert!(matches!(error, NetError::NotFinite { step: 0, what: "the loss" }), "{loss:?}: {error}");
        boards[33] = 1.0;
        let error =
            net.train_step(&boards, targets, &StepSettings { learning_rate: f32::INFINITY }).unwrap_err();
        assert!(matches!(error, NetError::NotFinite { step: 0, .. }), "{error}");
        assert_eq!(net.state(), &before);
        assert!(net.gradient_mut().iter().all(|g| *g == 0.0));
        assert!(net.train_step(&boards, targets, &settings).unwrap().is_finite());
    }
}
