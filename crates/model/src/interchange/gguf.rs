//! A GGUF file (version 3) for llama.cpp, in the architecture `llama`, or `qwen3` with a norm on queries and keys.
//!
//! The tokenizer goes out as kind `rwkv`: of those llama.cpp knows it is the one that takes the longest token at each place, as ours does.

use super::{CONTEXT, InterchangeError, Numbers, check_causal, file_error, tensor};
use crate::MavModel;
use mavis_lang::{
    vocab::{END, PAD, UNK},
    vocabulary,
};
use mavis_net::TensorSpec;
use mavis_stable::kill_safe::replace_file;
use std::{
    io::{self, Write},
    path::Path,
};

/// Data begins at multiples of this, and so does every tensor.
const ALIGNMENT: usize = 32;

/// Writes a GGUF file.
///
/// # Errors
/// When the model cannot be read by others, or the file cannot be written.
pub fn export_gguf(model: &MavModel, path: &Path, numbers: Numbers) -> Result<(), InterchangeError> {
    if numbers == Numbers::Bf16 {
        return Err(InterchangeError::Numbers { format: "GGUF", numbers });
    }
    let layout = check_causal(model)?;
    let tensors: Vec<Tensor<'_>> =
        layout.tensors().iter().map(|spec| Tensor::new(model, spec, numbers)).collect();
    let mut head = Vec::new();
    head.extend(b"GGUF");
    head.extend(3_u32.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    let entries = Entries::of(model, numbers);
    head.extend(entries.count.to_le_bytes());
    head.extend(&entries.bytes);
    let mut offset = 0_u64;
    for tensor in &tensors {
        tensor.write_info(offset, &mut head);
        offset += (tensor.n_bytes().next_multiple_of(ALIGNMENT)) as u64;
    }
    head.resize(head.len().next_multiple_of(ALIGNMENT), 0);
    replace_file(path, |writer| {
        writer.write_all(&head)?;
        tensors.iter().try_for_each(|tensor| tensor.write_data(writer))
    })
    .map_err(file_error(path))
}

/// A tensor on its way out.
struct Tensor<'a> {
    name: String,
    /// Innermost first.
    dimensions: Vec<usize>,
    values: &'a [f32],
    numbers: Numbers,
    /// Heads whose rows change places, in queries and keys of `llama`.
    interleaved_heads: Option<usize>,
}

impl<'a> Tensor<'a> {
    fn new(model: &'a MavModel, spec: &TensorSpec, numbers: Numbers) -> Self {
        let config = &model.config;
        let is_rotated = spec.name.ends_with("q_proj.weight") || spec.name.ends_with("k_proj.weight");
        Self {
            name: gguf_name(&spec.name),
            dimensions: spec.shape.iter().rev().copied().collect(),
            values: tensor(model, spec),
            numbers: if spec.shape.len() == 1 { Numbers::F32 } else { numbers },
            // In `llama` a pair of the rotation stands side by side, in `qwen3` half a head apart as here.
            interleaved_heads: (is_rotated && !config.qk_norm).then_some(config.n_heads),
        }
    }

    fn n_bytes(&self) -> usize {
        self.values.len() * self.numbers.n_bytes()
    }

    fn write_info(&self, offset: u64, out: &mut Vec<u8>) {
        push_string(&self.name, out);
        out.extend((self.dimensions.len() as u32).to_le_bytes());
        for &dimension in &self.dimensions {
            out.extend((dimension as u64).to_le_bytes());
        }
        out.extend(u32::from(self.numbers == Numbers::F16).to_le_bytes());
        out.extend(offset.to_le_bytes());
    }

    fn write_data(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut bytes = match self.interleaved_heads {
            Some(n_heads) => {
                let width = self.dimensions.first().copied().unwrap_or(1);
                self.numbers.encode(&interleaved(self.values, n_heads, width))
            }
            None => self.numbers.encode(self.values),
        };
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        writer.write_all(&bytes)
    }
}

/// Rows of each head reordered so that the two halves alternate.
fn interleaved(matrix: &[f32], n_heads: usize, width: usize) -> Vec<f32> {
    let head_dim = matrix.len() / width / n_heads;
    let mut out = Vec::with_capacity(matrix.len());
    for head in matrix.chunks_exact(head_dim * width) {
        let (upper, lower) = head.split_at(head_dim / 2 * width);
        for (one, other) in upper.chunks_exact(width).zip(lower.chunks_exact(width)) {
            out.extend_from_slice(one);
            out.extend_from_slice(other);
        }
    }
    out
}

/// The name llama.cpp gives a tensor.
fn gguf_name(name: &str) -> String {
    const PARTS: [(&str, &str); 11] = [
        ("input_layernorm", "attn_norm"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.q_norm", "attn_q_norm"),
        ("self_attn.k_norm", "attn_k_norm"),
        ("self_attn.o_proj", "attn_output"),
        ("post_attention_layernorm", "ffn_norm"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
    ];
    let bare = name.strip_suffix(".weight").unwrap_or(name);
    let in_layer = bare.strip_prefix("model.layers.").and_then(|rest| rest.split_once('.'));
    let ours = match (bare, in_layer) {
        ("model.embed_tokens", _) => "token_embd".to_owned(),
        ("model.norm", _) => "output_norm".to_owned(),
        ("lm_head", _) => "output".to_owned(),
        (_, Some((layer, part))) => {
            let part = PARTS.iter().find(|(own, _)| *own == part).map_or(part, |(_, theirs)| theirs);
            format!("blk.{layer}.{part}")
        }
        (other, None) => other.to_owned(),
    };
    format!("{ours}.weight")
}

/// Keys and values of the file.
#[derive(Default)]
struct Entries {
    count: u64,
    bytes: Vec<u8>,
}

impl Entries {
    fn of(model: &MavModel, numbers: Numbers) -> Self {
        let config = &model.config;
        let arch = if config.qk_norm { "qwen3" } else { "llama" };
        let mut entries = Self::default();
        entries.text("general.architecture", arch);
        entries.text("general.name", "Mavis MAV");
        entries.number("general.file_type", u32::from(numbers == Numbers::F16));
        entries.number("general.alignment", ALIGNMENT as u32);
        for (key, value) in [
            ("block_count", config.n_layers),
            ("context_length", CONTEXT),
            ("embedding_length", config.d_model),
            ("feed_forward_length", config.d_ff),
            ("attention.head_count", config.n_heads),
            ("attention.head_count_kv", config.n_heads),
            ("attention.key_length", config.head_dim()),
            ("attention.value_length", config.head_dim()),
            ("rope.dimension_count", config.head_dim()),
            ("vocab_size", config.vocab),
        ] {
            entries.number(&format!("{arch}.{key}"), value as u32);
        }
        entries.real(&format!("{arch}.attention.layer_norm_rms_epsilon"), config.norm_eps);
        entries.real(&format!("{arch}.rope.freq_base"), config.rope_theta);
        entries.tokenizer(config.vocab);
        entries
    }

    fn tokenizer(&mut self, n_rows: usize) {
        const NORMAL: i32 = 1;
        const UNKNOWN: i32 = 2;
        const CONTROL: i32 = 3;
        const UNUSED: i32 = 5;
        let vocabulary = vocabulary();
        self.text("tokenizer.ggml.model", "rwkv");
        self.key("tokenizer.ggml.tokens", 9);
        self.bytes.extend(8_u32.to_le_bytes());
        self.bytes.extend((n_rows as u64).to_le_bytes());
        for string in vocabulary.strings() {
            // In this kind of vocabulary strings are escaped.
            push_string(&string.replace('\\', "\\\\").replace('\n', "\\n"), &mut self.bytes);
        }
        for id in vocabulary.len()..n_rows {
            push_string(&format!("<unused {id}>"), &mut self.bytes);
        }
        self.key("tokenizer.ggml.token_type", 9);
        self.bytes.extend(5_u32.to_le_bytes());
        self.bytes.extend((n_rows as u64).to_le_bytes());
        for id in 0..n_rows {
            let kind = match u16::try_from(id) {
                Ok(PAD | END) => CONTROL,
                Ok(UNK) => UNKNOWN,
                _ if id < vocabulary.len() => NORMAL,
                _ => UNUSED,
            };
            self.bytes.extend(kind.to_le_bytes());
        }
        self.number("tokenizer.ggml.eos_token_id", u32::from(END));
        self.number("tokenizer.ggml.unknown_token_id", u32::from(UNK));
        self.number("tokenizer.ggml.padding_token_id", u32::from(PAD));
        for key in ["add_bos_token", "add_eos_token", "add_space_prefix"] {
            self.key(&format!("tokenizer.ggml.{key}"), 7);
            self.bytes.push(0);
        }
    }

    fn key(&mut self, key: &str, kind: u32) {
        self.count += 1;
        push_string(key, &mut self.bytes);
        self.bytes.extend(kind.to_le_bytes());
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key, 8);
        push_string(text, &mut self.bytes);
    }

    fn number(&mut self, key: &str, number: u32) {
        self.key(key, 4);
        self.bytes.extend(number.to_le_bytes());
    }

    fn real(&mut self, key: &str, real: f32) {
        self.key(key, 6);
        self.bytes.extend(real.to_le_bytes());
    }
}

fn push_string(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_llama_cpp() {
        for (own, theirs) in [
            ("model.embed_tokens.weight", "token_embd.weight"),
            ("model.layers.11.self_attn.o_proj.weight", "blk.11.attn_output.weight"),
            ("model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight"),
            ("model.norm.weight", "output_norm.weight"),
            ("lm_head.weight", "output.weight"),
        ] {
            assert_eq!(gguf_name(own), theirs);
        }
    }

    #[test]
    fn halves_of_a_head_alternate() {
        // Two heads of four rows, one column.
        let rows = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0];
        assert_eq!(interleaved(&rows, 2, 1), [0.0, 2.0, 1.0, 3.0, 10.0, 12.0, 11.0, 13.0]);
    }
}
