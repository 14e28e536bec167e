//! `mavis model`: look at a model, ask it, and take it to other programs and back.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod ask;

use super::{answer, answer_json, wrote};
use crate::bundled;
use crate::input::{BadInput, OrBadInput, one_line};
use clap::{Args, Subcommand};
use mavis_model::{
    InputAttention, MavModel,
    interchange::{Numbers, export_gguf, export_hf, import_hf},
    predictor::{PredictorLoss, PredictorModel, Target},
};
use mavis_net::{Layout, NormKind, NormPlacement, TransformerConfig};
use serde::Serialize;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Describes a model, asks it, exports it to other programs and imports it from them.
#[derive(Args)]
pub(crate) struct Model {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Info(Info),
    Ask(ask::Ask),
    Export(Export),
    Import(Import),
}

impl Model {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Info(command) => command.run(),
            What::Ask(command) => command.run(),
            What::Export(command) => command.run(),
            What::Import(command) => command.run(),
        }
    }
}

/// Reads a model; a file that is none is the user's mistake.
pub(crate) fn read_model(path: &Path) -> Result<MavModel, BadInput> {
    MavModel::load(path).map_err(|error| BadInput::new(one_line(&error.into())))
}

/// A model's file, or the bundled model where none is named.
fn read_or_bundled(path: Option<&Path>) -> anyhow::Result<MavModel> {
    match path {
        Some(path) => Ok(read_model(path)?),
        None => bundled::model().map_err(anyhow::Error::msg),
    }
}

/// Describes a model.
///
/// Example: mavis model info runs/first/model.safetensors
#[derive(Args)]
struct Info {
    /// The model's file. Default: the bundled model
    model: Option<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What every network has.
#[derive(Serialize)]
struct Size {
    parameters: usize,
    layers: usize,
    width: usize,
    heads: usize,
    feed_forward: usize,
    steps: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Facts {
    #[serde(flatten)]
    size: Size,
    vocabulary: usize,
    qk_norm: bool,
    tied: bool,
    full_input: InputAttention,
    architecture: &'static str,
}

#[derive(Serialize)]
struct PredictorFacts {
    target: Target,
    loss: PredictorLoss,
    bins: Option<usize>,
    #[serde(flatten)]
    size: Size,
    norm: NormKind,
    placement: NormPlacement,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parameters, layers, width, heads, feed_forward, steps, bytes } = self;
        writeln!(f, "{parameters} parameters after {steps} steps, {bytes} bytes")?;
        write!(f, "{layers} layers of width {width}, {heads} heads, feed-forward {feed_forward}")
    }
}

impl Info {
    fn run(self) -> anyhow::Result<()> {
        if let Some(path) = &self.model
            && let Ok(predictor) = PredictorModel::load(path)
        {
            return self.predictor(&predictor);
        }
        let model = read_or_bundled(self.model.as_deref())?;
        let config = &model.config;
        let facts = Facts {
            size: self.size(config, model.step)?,
            vocabulary: config.vocab,
            qk_norm: config.qk_norm,
            tied: config.tied,
            full_input: model.input,
            architecture: if config.qk_norm { "qwen3" } else { "llama" },
        };
        if self.json {
            return answer_json(&facts);
        }
        let input = match facts.full_input {
            InputAttention::Causal => "causal attention",
            InputAttention::Full => "full attention (no export)",
            InputAttention::Reread => "full attention, as are states in an answer (no export)",
        };
        let head = if facts.tied { "tied to the embedding" } else { "of its own" };
        let Facts { size, vocabulary, architecture, .. } = facts;
        answer(&format!(
            "{size}\n{vocabulary} tokens, head {head}, layout of {architecture}\ninput read with {input}\n"
        ))
    }

    fn predictor(&self, model: &PredictorModel) -> anyhow::Result<()> {
        let (config, spec) = (&model.config, model.spec);
        let is_binned = spec.target.has_values() && spec.loss == PredictorLoss::Log;
        let facts = PredictorFacts {
            target: spec.target,
            loss: spec.loss,
            bins: is_binned.then(|| spec.bins.count()),
            size: self.size(config, model.step)?,
            norm: config.variant.norm,
            placement: config.variant.placement,
        };
        if self.json {
            return answer_json(&facts);
        }
        let outputs = match facts.bins {
            Some(bins) => format!("{bins} bins"),
            None if spec.target.has_values() => "one number".to_owned(),
            None => "1968 actions".to_owned(),
        };
        let norm = match facts.norm {
            NormKind::Layer => "LayerNorm",
            NormKind::Rms => "RMSNorm",
        };
        let place = match facts.placement {
            NormPlacement::Pre => "before",
            NormPlacement::Post => "after",
        };
        let PredictorFacts { target, size, .. } = facts;
        answer(&format!("predictor {target} into {outputs}\n{size}\n{norm} {place} each half-block\n"))
    }

    fn size(&self, config: &TransformerConfig, steps: u64) -> anyhow::Result<Size> {
        Ok(Size {
            parameters: Layout::transformer(config)?.n_parameters(),
            layers: config.n_layers,
            width: config.d_model,
            heads: config.n_heads,
            feed_forward: config.d_ff,
            steps,
            bytes: match &self.model {
                Some(path) => std::fs::metadata(path)?.len(),
                None => bundled::model_bytes(),
            },
        })
    }
}

/// Writes a model for other programs: a folder for transformers and vLLM, or a file for llama.cpp.
///
/// Other programs read the input with causal attention, so a model must do so too; the bundled one does not.
/// Example: mavis model export models/mavis-9m-causal.safetensors --to gguf --out model.gguf
#[derive(Args)]
struct Export {
    /// The model's file
    model: PathBuf,
    /// hf or gguf
    #[arg(long)]
    to: String,
    /// Folder (hf) or file (gguf)
    #[arg(long)]
    out: PathBuf,
    /// f32, f16 or bf16 (not in GGUF)
    #[arg(long, default_value = "f32")]
    numbers: String,
}

impl Export {
    fn run(self) -> anyhow::Result<()> {
        let numbers: Numbers = self.numbers.parse().or_bad_input()?;
        if !["hf", "gguf"].contains(&self.to.as_str()) {
            return Err(BadInput::new(format!("unknown format '{}' (known: hf gguf)", self.to)).into());
        }
        let model = read_model(&self.model)?;
        let done = match self.to.as_str() {
            "hf" => export_hf(&model, &self.out, numbers),
            _ => export_gguf(&model, &self.out, numbers),
        };
        use mavis_model::interchange::InterchangeError as Error;
        match done {
            Err(error @ (Error::FullInput | Error::Places | Error::Numbers { .. })) => {
                Err(BadInput::new(error).into())
            }
            other => {
                other?;
                wrote(&self.out);
                Ok(())
            }
        }
    }
}

/// Reads a model of another program.
///
/// Example: mavis model import folder --from hf --out model.safetensors
#[derive(Args)]
struct Import {
    /// Folder with config.json, model.safetensors and tokenizer.json
    folder: PathBuf,
    /// hf
    #[arg(long)]
    from: String,
    /// The model's file; weights are kept in bf16
    #[arg(long)]
    out: PathBuf,
}

impl Import {
    fn run(self) -> anyhow::Result<()> {
        if self.from != "hf" {
            return Err(BadInput::new(format!("unknown format '{}' (known: hf)", self.from)).into());
        }
        let model = import_hf(&self.folder).or_bad_input()?;
        model.save(&self.out)?;
        wrote(&self.out);
        Ok(())
    }
}
