//! From a folder in the form of Hugging Face.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::{InterchangeError, file_error};
use crate::{InputAttention, MavModel};
use mavis_lang::vocabulary;
use mavis_net::{Layout, TransformerConfig, read_tensors};
use serde_json::Value;
use std::{fs, path::Path};

/// Reads `config.json`, `model.safetensors` and `tokenizer.json`. The shape must be one of ours, and the tokens too.
///
/// # Errors
/// When a file is missing, or says something that our networks cannot be.
pub fn import_hf(folder: &Path) -> Result<MavModel, InterchangeError> {
    let path = folder.join("config.json");
    let config = shape(&Fields { path: &path, json: read_json(&path)? })?;
    let layout = Layout::transformer(&config)?;
    check_tokens(&folder.join("tokenizer.json"))?;
    let parameters = read_tensors(&folder.join("model.safetensors"), &layout)?;
    Ok(MavModel { config, input: InputAttention::Causal, step: 0, parameters })
}

fn shape(fields: &Fields<'_>) -> Result<TransformerConfig, InterchangeError> {
    let architecture = fields.at("/architectures/0").as_str().unwrap_or("none");
    let qk_norm = match architecture {
        "LlamaForCausalLM" => false,
        "Qwen3ForCausalLM" => true,
        other => return Err(fields.refuse(format!("the architecture is {other}, not Llama's or Qwen3's"))),
    };
    let (n_heads, d_model) = (fields.count("num_attention_heads")?, fields.count("hidden_size")?);
    let head_dim = d_model.checked_div(n_heads).unwrap_or(0);
    fields.must_be("hidden_act", "silu")?;
    for (field, found, expected) in [
        ("num_key_value_heads", fields.count_or("num_key_value_heads", n_heads), n_heads),
        ("head_dim", fields.count_or("head_dim", head_dim), head_dim),
    ] {
        if found != expected {
            return Err(fields.refuse(format!("{field} is {found}, our networks have {expected}")));
        }
    }
    for field in ["attention_bias", "mlp_bias", "use_sliding_window"] {
        if fields.at(&format!("/{field}")).as_bool() == Some(true) {
            return Err(fields.refuse(format!("{field} is set, our networks have none")));
        }
    }
    let kinds = ["/rope_parameters/rope_type", "/rope_scaling/rope_type"].map(|path| fields.at(path));
    if let Some(kind) = kinds.into_iter().filter_map(Value::as_str).find(|kind| *kind != "default") {
        return Err(fields.refuse(format!("rotary scaling '{kind}', our networks have none")));
    }
    let thetas = ["/rope_parameters/rope_theta", "/rope_theta"].map(|path| fields.at(path).as_f64());
    let vocab = fields.count("vocab_size")?;
    if vocab < vocabulary().len() {
        let n_tokens = vocabulary().len();
        return Err(fields.refuse(format!("vocab_size is {vocab}, the language has {n_tokens} tokens")));
    }
    Ok(TransformerConfig {
        vocab,
        d_model,
        n_layers: fields.count("num_hidden_layers")?,
        n_heads,
        d_ff: fields.count("intermediate_size")?,
        rope_theta: thetas.into_iter().flatten().next().unwrap_or(10_000.0) as f32,
        norm_eps: fields.at("/rms_norm_eps").as_f64().unwrap_or(1e-6) as f32,
        qk_norm,
        tied: fields.at("/tie_word_embeddings").as_bool().unwrap_or(false),
        init_seed: 0,
        variant: Default::default(),
    })
}

/// Every token of the language must have our id there.
fn check_tokens(path: &Path) -> Result<(), InterchangeError> {
    let fields = Fields { path, json: read_json(path)? };
    let words = fields.at("/model/vocab");
    for (string, id) in vocabulary().strings().zip(0_u64..) {
        let found = words.get(string).and_then(Value::as_u64);
        if found != Some(id) {
            let found = found.map_or_else(|| "missing".to_owned(), |found| format!("number {found}"));
            return Err(fields.refuse(format!("token {string:?} is {found}, ours is number {id}")));
        }
    }
    Ok(())
}

struct Fields<'a> {
    path: &'a Path,
    json: Value,
}

impl Fields<'_> {
    /// What stands at a JSON pointer; null where nothing does.
    fn at(&self, path: &str) -> &Value {
        self.json.pointer(path).unwrap_or(&Value::Null)
    }

    fn count(&self, field: &str) -> Result<usize, InterchangeError> {
        let count = self.at(&format!("/{field}")).as_u64().and_then(|count| usize::try_from(count).ok());
        count.filter(|count| *count > 0).ok_or_else(|| self.refuse(format!("no {field}")))
    }

    fn count_or(&self, field: &str, otherwise: usize) -> usize {
        let count = self.at(&format!("/{field}")).as_u64();
        count.and_then(|count| usize::try_from(count).ok()).unwrap_or(otherwise)
    }

    fn must_be(&self, field: &str, expected: &str) -> Result<(), InterchangeError> {
        match self.at(&format!("/{field}")).as_str() {
            Some(found) if found == expected => Ok(()),
            found => Err(self.refuse(format!("{field} is {}, not {expected}", found.unwrap_or("missing")))),
        }
    }

    fn refuse(&self, reason: String) -> InterchangeError {
        InterchangeError::Foreign { path: self.path.display().to_string(), reason }
    }
}

fn read_json(path: &Path) -> Result<Value, InterchangeError> {
    let text = fs::read_to_string(path).map_err(file_error(path))?;
    serde_json::from_str(&text).map_err(|error| InterchangeError::Foreign {
        path: path.display().to_string(),
        reason: error.to_string(),
    })
}
