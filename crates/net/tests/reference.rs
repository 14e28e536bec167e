//! The CPU implementation against what PyTorch computes; `reference/make_reference.py` made the files.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use std::path::Path;

use mavis_net::cpu::CpuTrainer;
use mavis_net::{
    Algorithm, Batch, Layout, LossRows, OptimizerSettings, StepSettings, TrainState, Trainer,
    TransformerConfig, Weights,
};
use safetensors::{Dtype, SafeTensors};

/// One file.
struct Reference {
    bytes: Vec<u8>,
    config: TransformerConfig,
}

impl Reference {
    fn open(name: &str, qk_norm: bool, tied: bool) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
        let config = TransformerConfig {
            vocab: 40,
            d_model: 16,
            n_layers: 2,
            n_heads: 2,
            d_ff: 24,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm,
            tied,
            init_seed: 0,
            variant: Default::default(),
        };
        Self { bytes: std::fs::read(path).unwrap(), config }
    }

    fn words(&self, name: &str, dtype: Dtype) -> Vec<[u8; 4]> {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let view = file.tensor(name).unwrap();
        assert_eq!(view.dtype(), dtype, "{name}");
        view.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap()).collect()
    }

    fn f32(&self, name: &str) -> Vec<f32> {
        self.words(name, Dtype::F32).into_iter().map(f32::from_le_bytes).collect()
    }

    fn u32(&self, name: &str) -> Vec<u32> {
        self.words(name, Dtype::U32).into_iter().map(u32::from_le_bytes).collect()
    }

    fn flat(&self, prefix: &str) -> Vec<f32> {
        let layout = Layout::transformer(&self.config).unwrap();
        let mut buffer = vec![0.0; layout.len()];
        for tensor in layout.tensors() {
            buffer[tensor.range()].copy_from_slice(&self.f32(&format!("{prefix}.{}", tensor.name)));
        }
        buffer
    }

    fn batch(&self) -> (Batch, LossRows) {
        let positions = self.u32("batch.positions");
        let batch = Batch {
            tokens: self.u32("batch.tokens"),
            places: vec![0; positions.len()],
            positions,
            prefix_end: self.u32("batch.prefix_end"),
            branch_start: self.u32("batch.branch_start"),
            starts: self.u32("batch.starts"),
        };
        let rows = self.u32("rows.rows");
        let rows = LossRows {
            tags: vec![0; rows.len()],
            rows,
            weights: self.f32("rows.weights"),
            target_starts: self.u32("rows.target_starts"),
            target_ids: self.u32("rows.target_ids"),
            target_probs: self.f32("rows.target_probs"),
            normalizer: None,
        };
        (batch, rows)
    }

    fn trainer(&self, algorithm: Algorithm) -> CpuTrainer {
        let optimizer = OptimizerSettings { algorithm, average_decay: 0.9, ..OptimizerSettings::default() };
        let state = TrainState::new(self.flat("parameters"));
        CpuTrainer::new(self.config.clone(), optimizer, state).unwrap()
    }
}

fn both() -> [Reference; 2] {
    [
        Reference::open("tiny_qk_norm.safetensors", true, false),
        Reference::open("tiny_tied.safetensors", false, true),
    ]
}

#[track_caller]
fn assert_close(what: &str, got: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let allowed = tolerance * expected.abs().max(1.0);
        assert!((got - expected).abs() <= allowed, "{what}, element {i}: {got}, PyTorch {expected}");
    }
}

#[test]
fn logits_loss_and_all_gradients() {
    for reference in both() {
        let (batch, rows) = reference.batch();
        let mut trainer = reference.trainer(Algorithm::AdamW);
        let all: Vec<u32> = (0..batch.len() as u32).collect();
        let logits = trainer.logits(&batch, &all, Weights::Live).unwrap();
        assert_close("logits", &logits.values, &reference.f32("logits"), 1e-5);
        let report = trainer.forward_backward(&batch, &rows).unwrap();
        assert_close("loss", &[report.loss], &reference.f32("loss"), 1e-5);
        assert_close("gradient", &trainer.gradient().unwrap(), &reference.flat("gradient"), 1e-5);
    }
}

#[test]
fn ten_steps_of_both_optimizers() {
    for reference in both() {
        for (algorithm, name) in [(Algorithm::AdamW, "adamw"), (Algorithm::Muon, "muon")] {
            let (batch, rows) = reference.batch();
            let mut trainer = reference.trainer(algorithm);
            let settings = StepSettings { learning_rate: 1e-2 };
            let step = |_| trainer.train_step(&batch, &rows, &settings).unwrap().loss.loss;
            let losses: Vec<f32> = (0..10).map(step).collect();
            assert_close(name, &losses, &reference.f32(&format!("{name}.losses")), 1e-4);
            let parameters = trainer.parameters(Weights::Live).unwrap();
            assert_close(name, &parameters, &reference.flat(&format!("{name}.parameters")), 1e-4);
            if algorithm == Algorithm::AdamW && reference.config.qk_norm {
                let average = trainer.parameters(Weights::Average).unwrap();
                assert_close("average", &average, &reference.flat("adamw.average"), 1e-4);
            }
        }
    }
}
