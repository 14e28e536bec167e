//! Where each tensor lies in the flat buffer.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::{ConfigError, NormKind, NormPlacement, PickedBy, TransformerConfig};

/// Groups of tensors start at multiples of this many elements: 256 bytes in bf16, 512 in f32, which is what the
/// matrix libraries assume of a pointer for their fastest kernels.
pub const ALIGN: usize = 128;

/// What a tensor is to the optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorRole {
    /// A weight matrix of a hidden layer: decays, and Muon applies.
    Matrix,
    /// The token embedding (also the head when tied): no decay, AdamW.
    Embedding,
    /// The output head: decays, AdamW.
    Head,
    /// A gain of a norm, or a bias: no decay, AdamW.
    Vector,
}

impl TensorRole {
    /// Whether decoupled weight decay applies.
    pub fn decays(self) -> bool {
        matches!(self, Self::Matrix | Self::Head)
    }
}

/// One tensor of the flat buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// Name in the style of Hugging Face, `model.layers.0.self_attn.q_proj.weight`.
    pub name: String,
    /// Row-major; matrices are `[out, in]`.
    pub shape: Vec<usize>,
    /// First element in the flat buffer.
    pub offset: usize,
    /// How the optimizer treats it.
    pub role: TensorRole,
}

impl TensorSpec {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in the flat buffer.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len()
    }

    /// Rows and columns as the optimizer sees them: everything after the first axis is columns.
    pub fn rows_and_columns(&self) -> (usize, usize) {
        let rows = self.shape.first().copied().unwrap_or(1);
        (rows, self.len() / rows.max(1))
    }
}

/// The flat parameter buffer: a list of tensors with offsets. Gradients, moments and averages use the same layout.
/// Gaps between groups are padding and hold zero in every buffer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    tensors: Vec<TensorSpec>,
    len: usize,
}

impl Layout {
    /// Layout of a transformer. Query, key and value matrices of a layer lie back to back as one `[3 d, d]` matrix, gate
    /// and up as one `[2 ff, d]`; see [`TransformerOffsets`].
    ///
    /// # Errors
    /// When the shape is refused by [`TransformerConfig::validate`].
    pub fn transformer(config: &TransformerConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let (d, ff, vocab) = (config.d_model, config.d_ff, config.vocab);
        let mut layout = Self::default();
        layout.group([("model.embed_tokens.weight".into(), vec![vocab, d], TensorRole::Embedding)]);
        if let Some((by, rows)) = config.variant.learned_table() {
            layout.group([(table_name(by).into(), vec![rows, d], TensorRole::Embedding)]);
        }
        // A LayerNorm's biases follow its gains, so that both are one run of parameters.
        let norm = |name: String| {
            let bias = (config.variant.norm == NormKind::Layer).then(|| format!("{name}.bias"));
            let names = [format!("{name}.weight")].into_iter().chain(bias);
            names.map(|name| (name, vec![d], TensorRole::Vector)).collect::<Vec<_>>()
        };
        for layer in 0..config.n_layers {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            let matrix = |part: &str, rows, columns| (name(part), vec![rows, columns], TensorRole::Matrix);
            let vector = |part: &str, len| (name(part), vec![len], TensorRole::Vector);
            layout.group(norm(format!("model.layers.{layer}.input_layernorm")));
            layout.group([
                matrix("self_attn.q_proj", d, d),
                matrix("self_attn.k_proj", d, d),
                matrix("self_attn.v_proj", d, d),
            ]);
            if config.qk_norm {
                layout.group([vector("self_attn.q_norm", config.head_dim())]);
                layout.group([vector("self_attn.k_norm", config.head_dim())]);
            }
            layout.group([matrix("self_attn.o_proj", d, d)]);
            layout.group(norm(format!("model.layers.{layer}.post_attention_layernorm")));
            layout.group([matrix("mlp.gate_proj", ff, d), matrix("mlp.up_proj", ff, d)]);
            layout.group([matrix("mlp.down_proj", d, ff)]);
        }
        layout.group(norm("model.norm".into()));
        if !config.tied {
            layout.group([("lm_head.weight".into(), vec![config.n_outputs(), d], TensorRole::Head)]);
        }
        Ok(layout)
    }

    /// Appends tensors that lie back to back; the first starts at a multiple of [`ALIGN`].
    pub fn group(&mut self, tensors: impl IntoIterator<Item = (String, Vec<usize>, TensorRole)>) {
        let mut offset = self.len;
        for (name, shape, role) in tensors {
            let tensor = TensorSpec { name, shape, offset, role };
            offset += tensor.len();
            self.tensors.push(tensor);
        }
        self.len = offset.next_multiple_of(ALIGN);
    }

    /// The tensors in order of offset.
    pub fn tensors(&self) -> &[TensorSpec] {
        &self.tensors
    }

    /// Elements of the flat buffer, padding included; a multiple of [`ALIGN`].
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of parameters, padding excluded.
    pub fn n_parameters(&self) -> usize {
        self.tensors.iter().map(TensorSpec::len).sum()
    }

    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&TensorSpec> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

/// Offsets of the tensors of a transformer, as the kernels want them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransformerOffsets {
    /// `[vocab, d]`.
    pub embedding: usize,
    /// The learned table that is added to the embedding, `[learned_positions, d]` or `[places, d]`.
    pub table: Option<usize>,
    /// One entry a block.
    pub layers: Vec<LayerOffsets>,
    /// Gain of the last norm, `[d]`, and its bias after it in a LayerNorm.
    pub norm: usize,
    /// `[outputs, d]`; equals `embedding` when tied.
    pub head: usize,
}

/// Offsets of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerOffsets {
    /// Gain before attention, `[d]`, and its bias after it in a LayerNorm.
    pub attention_norm: usize,
    /// Query, key and value, `[3 d, d]`.
    pub qkv: usize,
    /// Gain of the query norm, `[head_dim]`, with `qk_norm`.
    pub q_norm: Option<usize>,
    /// Gain of the key norm, `[head_dim]`, with `qk_norm`.
    pub k_norm: Option<usize>,
    /// Output projection of attention, `[d, d]`.
    pub output: usize,
    /// The same before the feed-forward layer.
    pub mlp_norm: usize,
    /// Gate and up, `[2 ff, d]`.
    pub gate_up: usize,
    /// Down, `[d, ff]`.
    pub down: usize,
}

impl TransformerOffsets {
    /// Reads the offsets off a layout made by [`Layout::transformer`].
    ///
    /// # Errors
    /// When a tensor of the config is not in the layout.
    pub fn new(config: &TransformerConfig, layout: &Layout) -> Result<Self, ConfigError> {
        let at = |name: String| {
            layout.tensor(&name).map(|tensor| tensor.offset).ok_or_else(|| ConfigError {
                field: "layout",
                value: name,
                requirement: "must be present".into(),
            })
        };
        let layers = (0..config.n_layers)
            .map(|layer| {
                let at = |part: &str| at(format!("model.layers.{layer}.{part}.weight"));
                let norm = |part: &str| if config.qk_norm { at(part).map(Some) } else { Ok(None) };
                Ok(LayerOffsets {
                    attention_norm: at("input_layernorm")?,
                    qkv: at("self_attn.q_proj")?,
                    q_norm: norm("self_attn.q_norm")?,
                    k_norm: norm("self_attn.k_norm")?,
                    output: at("self_attn.o_proj")?,
                    mlp_norm: at("post_attention_layernorm")?,
                    gate_up: at("mlp.gate_proj")?,
                    down: at("mlp.down_proj")?,
                })
            })
            .collect::<Result<_, ConfigError>>()?;
        let embedding = at("model.embed_tokens.weight".into())?;
        let head = if config.tied { embedding } else { at("lm_head.weight".into())? };
        let learned = config.variant.learned_table();
        let table = learned.map(|(by, _)| at(table_name(by).into())).transpose()?;
        Ok(Self { embedding, table, layers, norm: at("model.norm.weight".into())?, head })
    }
}

fn table_name(by: PickedBy) -> &'static str {
    match by {
        PickedBy::Position => "model.embed_positions.weight",
        PickedBy::Place => "model.embed_places.weight",
    }
}

/// Initial parameters of a transformer: matrices normal with standard deviation 0.02 (those that write to the residual stream
/// divided by `sqrt(2 n_layers)`, as in GPT-2), in a post-norm network with one over the root of their inputs, gains one, biases zero. Each tensor draws from a stream of its own, so the same seed gives the same
/// tensor whatever else the layout holds.
///
/// # Errors
/// When the shape is refused by [`TransformerConfig::validate`].
pub fn initial_parameters(config: &TransformerConfig) -> Result<Vec<f32>, ConfigError> {
    let layout = Layout::transformer(config)?;
    let mut parameters = vec![0.0; layout.len()];
    let residual_scale = 1.0 / (2.0 * config.n_layers as f32).sqrt();
    for tensor in layout.tensors() {
        let values = &mut parameters[tensor.range()];
        if tensor.role == TensorRole::Vector {
            values.fill(if tensor.name.ends_with(".bias") { 0.0 } else { 1.0 });
            continue;
        }
        let writes_residual = tensor.name.contains("o_proj") || tensor.name.contains("down_proj");
        let deviation = match (config.variant.placement, tensor.role) {
            // A stream that is normalized after every half-block has entries of size one, beside which branches must be heard
            // from the start: with 0.02 such a network begins as the identity and stays it for hundreds of steps.
            (NormPlacement::Post, TensorRole::Matrix) => (1.0 / tensor.rows_and_columns().1 as f32).sqrt(),
            _ if writes_residual => 0.02 * residual_scale,
            _ => 0.02,
        };
        fill_normal(values, deviation, stream_seed(config.init_seed, &tensor.name));
    }
    Ok(parameters)
}

/// Fills `values` with normal numbers of mean zero (Box and Muller's method).
pub(crate) fn fill_normal(values: &mut [f32], deviation: f32, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for pair in values.chunks_mut(2) {
        // 1 - u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
        let angle = std::f64::consts::TAU * random.random::<f64>();
        pair[0] = deviation * (radius * angle.cos()) as f32;
        if let Some(second) = pair.get_mut(1) {
            *second = deviation * (radius * angle.sin()) as f32;
        }
    }
}

/// FNV-1a of the name, mixed with the seed: a stream for each tensor.
pub(crate) fn stream_seed(seed: u64, name: &str) -> u64 {
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TransformerConfig {
        TransformerConfig {
            vocab: 64,
            d_model: 16,
            n_layers: 2,
            n_heads: 2,
            d_ff: 24,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm: true,
            tied: false,
            init_seed: 1,
            variant: Default::default(),
        }
    }

    #[test]
    fn groups_are_aligned_and_fused_blocks_contiguous() {
        let layout = Layout::transformer(&config()).unwrap();
        let offsets = TransformerOffsets::new(&config(), &layout).unwrap();
        let at = |name: &str| layout.tensor(name).unwrap();
        let k = at("model.layers.1.self_attn.k_proj.weight");
        assert_eq!(k.offset, offsets.layers[1].qkv + 16 * 16);
        assert_eq!(at("model.layers.1.mlp.up_proj.weight").offset, offsets.layers[1].gate_up + 24 * 16);
        for layer in &offsets.layers {
            for offset in [layer.qkv, layer.gate_up, layer.down, layer.output, layer.k_norm.unwrap()] {
                assert_eq!(offset % ALIGN, 0);
            }
        }
        let ends = layout.tensors().windows(2).all(|pair| pair[0].range().end <= pair[1].offset);
        assert!(ends, "tensors must not overlap");
        assert_eq!(layout.n_parameters(), 2 * 64 * 16 + 2 * (4 * 256 + 3 * 24 * 16 + 2 * 16 + 2 * 8) + 16);
    }

    #[test]
    fn initial_parameters_depend_on_the_seed_only() {
        let first = initial_parameters(&config()).unwrap();
        assert_eq!(first, initial_parameters(&config()).unwrap());
        assert_ne!(first, initial_parameters(&TransformerConfig { init_seed: 2, ..config() }).unwrap());
        let layout = Layout::transformer(&config()).unwrap();
        let embedding = &first[layout.tensors()[0].range()];
        let variance = embedding.iter().map(|x| x * x).sum::<f32>() / embedding.len() as f32;
        assert!((variance.sqrt() - 0.02).abs() < 0.002, "{}", variance.sqrt());
    }

    #[test]
    fn odd_shapes_are_refused() {
        let error = TransformerConfig { n_heads: 3, ..config() }.validate().unwrap_err();
        assert_eq!(error.to_string(), "bad network shape: n_heads = 3 must divide d_model");
        assert!(TransformerConfig { d_ff: 25, ..config() }.validate().is_err());
    }
}
