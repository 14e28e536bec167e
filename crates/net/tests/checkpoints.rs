//! Checkpoints: round trips, exact resuming, damaged and foreign files.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use std::collections::BTreeMap;
use std::fs;

use mavis_net::cpu::CpuTrainer;
use mavis_net::{
    Batch, Checkpoint, CheckpointError, LossRows, OptimizerSettings, SmallCheckpoint, StepSettings,
    TrainState, Trainer, TransformerConfig, Weights, initial_parameters, inspect, read_tensors,
};

fn config() -> TransformerConfig {
    TransformerConfig {
        vocab: 24,
        d_model: 16,
        n_layers: 2,
        n_heads: 2,
        d_ff: 24,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm: true,
        tied: false,
        init_seed: 7,
        variant: Default::default(),
    }
}

fn trainer(state: TrainState) -> CpuTrainer {
    CpuTrainer::new(config(), OptimizerSettings::default(), state).unwrap()
}

fn step(trainer: &mut CpuTrainer) -> f32 {
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    batch.push_causal(&[1, 2, 3, 4]);
    rows.push_hard(3, 1.0, 0, 5);
    trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 1e-2 }).unwrap().loss.loss
}

fn checkpoint(trainer: &mut CpuTrainer) -> Checkpoint<TransformerConfig> {
    Checkpoint {
        config: config(),
        vocabulary: "abc123".into(),
        state: trainer.state().unwrap(),
        opaque: vec![0, 255, 7],
        notes: BTreeMap::from([("preset".to_string(), "tiny".to_string())]),
    }
}

#[test]
fn a_run_resumes_exactly_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let mut unbroken = trainer(TrainState::new(initial_parameters(&config()).unwrap()));
    (0..3).for_each(|_| assert!(step(&mut unbroken) > 0.0));
    let saved = checkpoint(&mut unbroken);
    saved.save(&path).unwrap();
    let loaded = Checkpoint::<TransformerConfig>::load(&path, Some("abc123")).unwrap();
    assert_eq!(loaded, saved);
    let mut resumed = trainer(loaded.state);
    for _ in 0..3 {
        assert_eq!(step(&mut unbroken), step(&mut resumed));
    }
    let bytes = fs::read(&path).unwrap();
    saved.save(&path).unwrap();
    assert_eq!(bytes, fs::read(&path).unwrap(), "the same content gives the same bytes");
}

#[test]
fn small_checkpoints_hold_the_average_in_bf16() {
    let folder = tempfile::tempdir().unwrap();
    let (full_path, small_path) = (folder.path().join("full"), folder.path().join("small"));
    let mut trainer = trainer(TrainState::new(initial_parameters(&config()).unwrap()));
    (0..5).for_each(|_| assert!(step(&mut trainer) > 0.0));
    checkpoint(&mut trainer).save(&full_path).unwrap();
    let average = trainer.parameters(Weights::Average).unwrap();
    let from_full = SmallCheckpoint::<TransformerConfig>::load(&full_path, None).unwrap();
    assert_eq!(from_full.parameters, average);
    from_full.save(&small_path).unwrap();
    let small = SmallCheckpoint::<TransformerConfig>::load(&small_path, Some("abc123")).unwrap();
    assert_eq!((small.step, small.notes["preset"].as_str()), (5, "tiny"));
    for (small, exact) in small.parameters.iter().zip(&average) {
        assert!((small - exact).abs() <= exact.abs() / 256.0);
    }
    let info = inspect(&small_path).unwrap();
    assert_eq!((info.kind.as_str(), info.network.as_str(), info.step), ("small", "transformer", 5));
    assert_eq!(read_tensors(&small_path, trainer.layout()).unwrap(), small.parameters);
    let error = Checkpoint::<TransformerConfig>::load(&small_path, None).unwrap_err();
    assert!(matches!(error, CheckpointError::Kind { .. }), "{error}");
}

#[test]
fn every_truncation_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let mut trainer = trainer(TrainState::new(initial_parameters(&config()).unwrap()));
    checkpoint(&mut trainer).save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for len in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        fs::write(&path, &bytes[..len]).unwrap();
        let error = Checkpoint::<TransformerConfig>::load(&path, None).unwrap_err();
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{len} bytes: {error}");
    }
}

#[test]
fn foreign_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let load = |vocabulary| Checkpoint::<TransformerConfig>::load(&path, vocabulary).unwrap_err();
    assert!(matches!(load(None), CheckpointError::Io { action: "read", .. }));
    let empty = br#"{"__metadata__":{"format":"pt"}}"#;
    fs::write(&path, [&(empty.len() as u64).to_le_bytes()[..], empty].concat()).unwrap();
    assert!(matches!(load(None), CheckpointError::Foreign { key: "mavis.kind", .. }));
    let mut trainer = trainer(TrainState::new(initial_parameters(&config()).unwrap()));
    checkpoint(&mut trainer).save(&path).unwrap();
    let error = load(Some("other"));
    assert!(error.to_string().ends_with("belongs to vocabulary abc123, this program has other"), "{error}");
    let wider = TransformerConfig { vocab: 32, ..config() };
    let error = read_tensors(&path, &mavis_net::Layout::transformer(&wider).unwrap()).unwrap_err();
    assert!(matches!(error, CheckpointError::Tensor { .. }), "{error}");
}

/// A file may claim any shape: it is refused before memory is taken for it.
#[test]
fn shapes_that_a_file_only_claims_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.safetensors");
    let check = |claimed: TransformerConfig, expected: &str| {
        let config = serde_json::to_string(&claimed).unwrap();
        let metadata = serde_json::json!({ "__metadata__": {
            "mavis.kind": "small", "mavis.network": "transformer", "mavis.config": config,
            "mavis.vocabulary": "", "mavis.step": "1",
        }});
        let header = metadata.to_string();
        fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).unwrap();
        let error = SmallCheckpoint::<TransformerConfig>::load(&path, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(TransformerConfig { d_model: 1 << 61, ..config() }, "must be at most 1048576");
    check(TransformerConfig { d_ff: 1 << 40, ..config() }, "must be at most 1048576");
    check(
        TransformerConfig { n_layers: 1 << 40, ..config() },
        "n_layers = 1099511627776 must be from 1 to 4096",
    );
    // Within the bounds, but far more than any machine has.
    check(TransformerConfig { vocab: 1 << 20, d_model: 1 << 20, ..config() }, "is missing");
}

#[test]
fn a_state_that_does_not_fit_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let mut trainer = trainer(TrainState::new(initial_parameters(&config()).unwrap()));
    let mut bad = checkpoint(&mut trainer);
    bad.save(&path).unwrap();
    bad.state.average.pop();
    assert!(matches!(bad.save(&path), Err(CheckpointError::State(_))));
    Checkpoint::<TransformerConfig>::load(&path, None).unwrap();
    let nowhere = folder.path().join("no/such/folder/file");
    let error = checkpoint(&mut trainer).save(&nowhere).unwrap_err();
    assert!(matches!(error, CheckpointError::Io { action: "write", .. }), "{error}");
}
