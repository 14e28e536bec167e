//! Sizes of the decoder.

use mavis_net::TransformerConfig;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A named size. Parameters count the embedding once: it is tied to the head in the small ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Preset {
    /// About 1M parameters, for tests and toys.
    #[serde(rename = "test")]
    Test,
    /// About 9M, the bundled default.
    #[serde(rename = "9m")]
    Small,
    /// About 30M.
    #[serde(rename = "30m")]
    Medium,
    /// About 120M.
    #[serde(rename = "120m")]
    Large,
}

impl Preset {
    /// Every size, smallest first.
    pub const ALL: [Self; 4] = [Self::Test, Self::Small, Self::Medium, Self::Large];

    /// The shape for a vocabulary of `n_tokens`, padded to a multiple of 64.
    #[must_use]
    pub fn shape(self, n_tokens: usize, init_seed: u64) -> TransformerConfig {
        let (d_model, n_layers, n_heads, d_ff, tied) = match self {
            Self::Test => (128, 4, 4, 352, true),
            Self::Small => (256, 10, 8, 704, false),
            Self::Medium => (448, 12, 14, 1216, false),
            Self::Large => (768, 16, 12, 2112, false),
        };
        TransformerConfig {
            vocab: n_tokens.next_multiple_of(64),
            d_model,
            n_layers,
            n_heads,
            d_ff,
            rope_theta: 10_000.0,
            norm_eps: 1e-5,
            qk_norm: true,
            tied,
            init_seed,
            variant: Default::default(),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Small => "9m",
            Self::Medium => "30m",
            Self::Large => "120m",
        })
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.to_string() == text)
            .ok_or_else(|| format!("unknown preset '{text}' (known: test 9m 30m 120m)"))
    }
}
