//! A folder in the form of Hugging Face.

use super::{CONTEXT, InterchangeError, Numbers, check_causal, file_error, tensor};
use crate::MavModel;
use mavis_lang::{
    export::{tokenizer_config_json, tokenizer_json},
    vocab::{END, PAD},
};
use mavis_net::TransformerConfig;
use mavis_stable::kill_safe::replace_file;
use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path};

/// Writes `config.json`, `generation_config.json`, `model.safetensors`, `tokenizer.json` and `tokenizer_config.json`.
///
/// # Errors
/// When the model cannot be read by others, or a file cannot be written.
pub fn export_hf(model: &MavModel, folder: &Path, numbers: Numbers) -> Result<(), InterchangeError> {
    let layout = check_causal(model)?;
    fs::create_dir_all(folder).map_err(file_error(folder))?;
    let dtype = match numbers {
        Numbers::F32 => Dtype::F32,
        Numbers::F16 => Dtype::F16,
        Numbers::Bf16 => Dtype::BF16,
    };
    let data: Vec<Vec<u8>> =
        layout.tensors().iter().map(|spec| numbers.encode(tensor(model, spec))).collect();
    let views = layout.tensors().iter().zip(&data).map(|(spec, bytes)| {
        TensorView::new(dtype, spec.shape.clone(), bytes).map(|view| (spec.name.clone(), view))
    });
    let path = folder.join("model.safetensors");
    let foreign = |error: safetensors::SafeTensorError| InterchangeError::Foreign {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    let views = views.collect::<Result<Vec<_>, _>>().map_err(foreign)?;
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(foreign)?;
    write(&path, &bytes)?;
    write(&folder.join("config.json"), &pretty(&config_json(&model.config, numbers)))?;
    let generation = json!({
        "eos_token_id": END, "pad_token_id": PAD, "do_sample": false, "max_length": CONTEXT,
    });
    write(&folder.join("generation_config.json"), &pretty(&generation))?;
    write(&folder.join("tokenizer.json"), tokenizer_json().as_bytes())?;
    write(&folder.join("tokenizer_config.json"), tokenizer_config_json().as_bytes())
}

/// The shape in the words of `transformers`.
fn config_json(config: &TransformerConfig, numbers: Numbers) -> Value {
    let dtype = match numbers {
        Numbers::F32 => "float32",
        Numbers::F16 => "float16",
        Numbers::Bf16 => "bfloat16",
    };
    let (architecture, model_type) =
        if config.qk_norm { ("Qwen3ForCausalLM", "qwen3") } else { ("LlamaForCausalLM", "llama") };
    // Numbers go out as they print, so that 1e-5 does not become 9.99999974e-6.
    let exact = |x: f32| x.to_string().parse::<f64>().unwrap_or(f64::from(x));
    let mut value = json!({
        "architectures": [architecture],
        "model_type": model_type,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_heads,
        "head_dim": config.head_dim(),
        "vocab_size": config.vocab,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": exact(config.norm_eps),
        "rope_theta": exact(config.rope_theta),
        // Since version 5 the base of the rotation stands here.
        "rope_parameters": { "rope_type": "default", "rope_theta": exact(config.rope_theta) },
        "tie_word_embeddings": config.tied,
        "hidden_act": "silu",
        "attention_bias": false,
        "attention_dropout": 0.0,
        "torch_dtype": dtype,
        "use_cache": true,
        "bos_token_id": null,
        "eos_token_id": END,
        "pad_token_id": PAD,
    });
    if let (false, Some(fields)) = (config.qk_norm, value.as_object_mut()) {
        fields.insert("mlp_bias".to_owned(), json!(false));
    }
    value
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), InterchangeError> {
    replace_file(path, |writer| writer.write_all(bytes)).map_err(file_error(path))
}
