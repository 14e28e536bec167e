//! The shape of a decoder.
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

use serde::{Deserialize, Serialize};

/// Shape of a decoder-only transformer in the Llama layout: RMSNorm before each half-block, rotary positions in the
/// half-split form (dimension `i` turns with `i + head_dim / 2`), SwiGLU, no biases. With `qk_norm` each head's query and key pass through
/// an RMSNorm of their own before the rotation, as in Qwen3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerConfig {
    /// Rows of the embedding and of the head; ids at or above it are refused. A multiple of 8 (64 is best).
    pub vocab: usize,
    /// Width of the residual stream, a multiple of 8 and of `n_heads`.
    pub d_model: usize,
    /// Number of blocks (attention and feed-forward).
    pub n_layers: usize,
    /// Number of attention heads; keys and values have as many as queries.
    pub n_heads: usize,
    /// Width of the feed-forward layer, a multiple of 8.
    pub d_ff: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f32,
    /// Added to the mean square in every RMSNorm.
    pub norm_eps: f32,
    /// RMSNorm on each head's query and key before the rotation.
    pub qk_norm: bool,
    /// The head is the embedding matrix; the layout then has no `lm_head.weight`.
    pub tied: bool,
    /// Seed of the initial parameters.
    pub init_seed: u64,
    /// Where the network departs from Llama's layout.
    #[serde(default, skip_serializing_if = "Variant::is_llama")]
    pub variant: Variant,
}

/// Departures from the Llama layout; the default is none. The bidirectional predictors of paper 002 use all of them but places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Variant {
    /// How a row is normalized.
    pub norm: NormKind,
    /// What the residual stream continues from.
    pub placement: NormPlacement,
    /// Rows of a learned table of positions, added to the embedding in place of the rotation; `None` means rotary positions.
    pub learned_positions: Option<usize>,
    /// Rows of a learned table of places, added to the embedding beside the rotation; a token's row is its [place](crate::Batch::places).
    /// `None` means that places are not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<usize>,
    /// Rows of the head where it predicts something else than tokens; `None` means the vocabulary.
    pub outputs: Option<usize>,
}

/// How a row is normalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormKind {
    /// Divided by its root mean square; a gain for each column.
    #[default]
    Rms,
    /// Shifted to mean zero and divided by its standard deviation; a gain and a bias for each column.
    Layer,
}

/// What the residual stream continues from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormPlacement {
    /// From the row before the norm: `x + f(norm(x))`.
    #[default]
    Pre,
    /// From the normalized row: `norm(x + f(x))`, as in the first transformer; the embedding is normalized too.
    Post,
}

/// What picks a token's row of a learned table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickedBy {
    Position,
    Place,
}

impl Variant {
    /// Whether nothing departs from Llama's layout.
    pub fn is_llama(&self) -> bool {
        *self == Self::default()
    }

    /// The learned table that is added to the embedding: what picks a row, and how many there are.
    pub(crate) fn learned_table(&self) -> Option<(PickedBy, usize)> {
        let by_position = self.learned_positions.map(|n| (PickedBy::Position, n));
        by_position.or(self.places.map(|n| (PickedBy::Place, n)))
    }
}

/// The most rows or columns of a matrix. Shapes come from files, and a product of two such numbers and [`DEEPEST`] must not overflow.
const WIDEST: usize = 1 << 20;

/// The most layers, each of which is a dozen tensors with names.
const DEEPEST: usize = 1 << 12;

/// A shape the kernels cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad network shape: {field} = {value} {requirement}")]
pub struct ConfigError {
    /// The offending field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub requirement: String,
}

impl TransformerConfig {
    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.d_model.checked_div(self.n_heads).unwrap_or(0)
    }

    /// Columns of the logits: the vocabulary unless the variant says otherwise.
    pub fn n_outputs(&self) -> usize {
        self.variant.outputs.unwrap_or(self.vocab)
    }

    /// Parameters of one norm over the residual stream: gains, and biases after them in a LayerNorm.
    pub fn norm_len(&self) -> usize {
        match self.variant.norm {
            NormKind::Rms => self.d_model,
            NormKind::Layer => self.d_model.saturating_mul(2),
        }
    }

    /// Checks the divisibility the kernels rely on.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, value: String, requirement: &str| {
            Err(ConfigError { field, value, requirement: requirement.into() })
        };
        for (field, value) in [
            ("vocab", self.vocab),
            ("d_model", self.d_model),
            ("d_ff", self.d_ff),
            ("outputs", self.n_outputs()),
        ] {
            if value == 0 || !value.is_multiple_of(8) {
                return fail(field, value.to_string(), "must be a positive multiple of 8");
            }
            if value > WIDEST {
                return fail(field, value.to_string(), &format!("must be at most {WIDEST}"));
            }
        }
        if !(1..=DEEPEST).contains(&self.n_layers) {
            return fail("n_layers", self.n_layers.to_string(), &format!("must be from 1 to {DEEPEST}"));
        }
        if self.n_heads == 0 || !self.d_model.is_multiple_of(self.n_heads) {
            return fail("n_heads", self.n_heads.to_string(), "must divide d_model");
        }
        if !self.head_dim().is_multiple_of(8) {
            return fail(
                "n_heads",
                self.n_heads.to_string(),
                "must leave heads with a multiple of 8 dimensions",
            );
        }
        if self.tied && self.variant.outputs.is_some() {
            return fail("tied", "true".into(), "cannot be when the head has outputs of its own");
        }
        if let (Some(_), Some(n_places)) = (self.variant.learned_positions, self.variant.places) {
            return fail("places", n_places.to_string(), "cannot be beside learned_positions");
        }
        for (field, rows) in
            [("learned_positions", self.variant.learned_positions), ("places", self.variant.places)]
        {
            if let Some(rows @ (0 | 8193..)) = rows {
                return fail(field, rows.to_string(), "must be from 1 to 8192");
            }
        }
        if !(self.rope_theta.is_finite() && self.rope_theta > 0.0) {
            return fail("rope_theta", self.rope_theta.to_string(), "must be positive");
        }
        if !(self.norm_eps.is_finite() && self.norm_eps > 0.0) {
            return fail("norm_eps", self.norm_eps.to_string(), "must be positive");
        }
        Ok(())
    }

    /// Inverse frequencies of the rotation, `[head_dim / 2]`; a pair at position `p` turns by `p * frequency`. Zero where positions are
    /// learned: nothing turns.
    pub fn rotary_frequencies(&self) -> Vec<f32> {
        if self.variant.learned_positions.is_some() {
            return vec![0.0; self.head_dim() / 2];
        }
        let head_dim = self.head_dim() as f32;
        (0..self.head_dim() / 2).map(|i| self.rope_theta.powf(-2.0 * i as f32 / head_dim)).collect()
    }
}

#[cfg(test)]
impl TransformerConfig {
    /// As small as every kernel takes.
    pub(crate) fn tiny() -> Self {
        Self {
            vocab: 64,
            d_model: 64,
            n_layers: 1,
            n_heads: 2,
            d_ff: 64,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm: false,
            tied: false,
            init_seed: 1,
            variant: Default::default(),
        }
    }
}
