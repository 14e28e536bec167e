//! Models for other programs, and back.
//!
//! The layout is Llama's, with a norm on queries and keys Qwen3's, so a folder in the form of Hugging Face opens in `transformers` and vLLM, and a GGUF file
//! in llama.cpp. Neither knows full attention over a prompt, so a model that was trained with it stays here.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod gguf;
mod hf;
mod import;

pub use gguf::export_gguf;
pub use hf::export_hf;
pub use import::import_hf;

use crate::{InputAttention, MavModel};
use half::{bf16, f16};
use mavis_net::{CheckpointError, ConfigError, Layout, TensorSpec};
use std::{fmt, path::Path, str::FromStr};

/// Tokens that other programs make room for; answers of the widest games fit several times.
const CONTEXT: usize = 4_096;

/// Why a model cannot go out or come in.
#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    /// Other programs cannot read the input as the model does.
    #[error(
        "the model reads its input with full attention, which no other program does: export a causal model, such as models/mavis-9m-causal.safetensors"
    )]
    FullInput,
    /// Other programs have no table of places.
    #[error(
        "the model has a learned table of places, which no other program reads: export a model without one, such as models/mavis-9m-causal.safetensors"
    )]
    Places,
    /// A shape that is refused.
    #[error(transparent)]
    Shape(#[from] ConfigError),
    /// Tensors that are not there, or not as the configuration says.
    #[error(transparent)]
    Tensors(#[from] CheckpointError),
    /// A file that cannot be written or read.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A folder of another kind of model.
    #[error("{path}: {reason}")]
    Foreign {
        /// The file that says so.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A kind of number that the format does not have.
    #[error("{format} files hold no {numbers}")]
    Numbers {
        /// The format.
        format: &'static str,
        /// What was asked for.
        numbers: Numbers,
    },
}

/// How matrices are written; vectors are always f32 in GGUF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Numbers {
    /// 32 bits.
    #[default]
    F32,
    /// 16 bits with more mantissa.
    F16,
    /// 16 bits with more exponent; what a shipped model holds anyway.
    Bf16,
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::F32, Self::F16, Self::Bf16]
            .into_iter()
            .find(|numbers| numbers.to_string() == text)
            .ok_or_else(|| format!("unknown numbers '{text}' (known: f32 f16 bf16)"))
    }
}

impl Numbers {
    fn n_bytes(self) -> usize {
        if self == Self::F32 { 4 } else { 2 }
    }

    fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::F32 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::F16 => values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            Self::Bf16 => values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        }
    }
}

fn check_causal(model: &MavModel) -> Result<Layout, InterchangeError> {
    if model.input != InputAttention::Causal {
        return Err(InterchangeError::FullInput);
    }
    if model.config.variant.places.is_some() {
        return Err(InterchangeError::Places);
    }
    Ok(Layout::transformer(&model.config)?)
}

fn tensor<'a>(model: &'a MavModel, spec: &TensorSpec) -> &'a [f32] {
    model.parameters.get(spec.range()).unwrap_or_default()
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> InterchangeError {
    let path = path.display().to_string();
    move |source| InterchangeError::File { path, source }
}
