//! Networks on one flat parameter buffer: the numeric core of Mavis.
//!
//! All parameters of a network lie in one `Vec<f32>`, all gradients in another of the same [`Layout`]; so do moments and the running
//! average. An optimizer, an all-reduce or a checkpoint is then a loop over one buffer, and a new network is a list of tensors
//! and a pass over them. There is no graph and no automatic differentiation: each kernel has a forward and a backward, written by hand
//! and checked against finite differences.
//!
//! The transformer is one shape, [`TransformerConfig`] (Llama's), behind two traits: [`Trainer`] (losses, gradients, updates) and [`Decoder`] (logits, caches
//! with a KV cache). Both take a [`Batch`]: sequences of unequal length, end to end, with a mask of two integers a token that covers
//! causal attention, full attention over a prompt, and star branches. [`LossRows`] says which rows are trained and on which distributions.
//!
//! Small nets of convolutions and dense layers over boards, [`ConvNetConfig`] behind the trait [`ConvNet`], use the same buffers and optimizers.
//!
//! [`Device`] says where to compute, and opens networks there.
//!
//! [`Checkpoint`] continues with a run exactly where it stopped; [`SmallCheckpoint`] is what ships.
//!
//! What the tokens mean is not known here; crate `model` builds batches and reads logits.
//!
//! ```
//! use mavis_net::cpu::CpuTrainer;
//! use mavis_net::{Batch, LossRows, StepSettings, TrainState, Trainer, TransformerConfig, initial_parameters};
//!
//! let config = TransformerConfig {
//!     vocab: 64, d_model: 32, n_layers: 2, n_heads: 2, d_ff: 64, rope_theta: 10_000.0, norm_eps: 1e-5,
//!     qk_norm: true, tied: false, init_seed: 1, variant: Default::default(),
//! };
//! let state = TrainState::new(initial_parameters(&config)?);
//! let mut trainer = CpuTrainer::new(config, Default::default(), state)?;
//! let up = trainer.layout().tensor("model.layers.1.mlp.up_proj.weight").unwrap();
//! assert_eq!(up.shape, [64, 32]);
//!
//! // A prompt of three tokens seen in full, and two branches that see it but not each other.
//! let mut batch = Batch::default();
//! batch.push_prompted(&[5, 6, 7], 3);
//! batch.push_branch(&[8, 9], 3, 3, 0);
//! batch.push_branch(&[10, 11], 3, 3, 0);
//! // After the prompt either branch may come; then each has one right answer.
//! let mut rows = LossRows::default();
//! rows.push_soft(2, 1.0, 0, &[(8, 0.5), (10, 0.5)]);
//! rows.push_hard(3, 1.0, 1, 9);
//! rows.push_hard(5, 1.0, 1, 11);
//! let report = trainer.train_step(&batch, &rows, &StepSettings { learning_rate: 1e-3 })?;
//! // An untrained network is about as good as guessing among the 64 tokens.
//! assert!((report.loss.loss - 64f32.ln()).abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod all_reduce;
mod batch;
#[cfg(test)]
mod check;
mod checkpoint;
mod config;
mod conv_net;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod decoder;
mod device;
mod error;
mod layout;
mod optimizer;
mod ranked;
mod trainer;
mod wire;

pub use all_reduce::{AllReduce, AllReduceError, DeviceBuffer, Hello, SocketRank, ThreadRank};
pub use batch::{Batch, BatchToken, LossRows, MAX_POSITIONS};
pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointInfo, NetworkConfig, SmallCheckpoint, inspect, read_tensors,
};
pub use config::{ConfigError, NormKind, NormPlacement, TransformerConfig, Variant};
pub use conv_net::{ConvLayer, ConvLoss, ConvNet, ConvNetConfig, ConvTargets};
pub use decoder::{
    Brief, BriefLogits, Decoder, KvCacheId, Logits, PassParts, Precision, Room, UnknownPrecision, Want,
    greatest, likeliest,
};
pub use device::{Device, UnknownDevice, exit_after_cuda};
pub use error::NetError;
pub use layout::{
    ALIGN, LayerOffsets, Layout, TensorRole, TensorSpec, TransformerOffsets, initial_parameters,
};
pub use optimizer::{Algorithm, NEWTON_SCHULZ, NEWTON_SCHULZ_ROUNDS, OptimizerSettings, muon_factor};
pub use ranked::RankedTrainer;
pub use trainer::{
    LossReport, StepReport, StepSettings, TagLoss, TrainState, Trainer, UpdateReport, Weights,
};
pub use wire::TensorError;
