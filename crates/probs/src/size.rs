//! The nets of paper 004: it gives layers and sizes, the lists of layers are ours (`docs/probs.md`).

use crate::ProbsError;
use mavis_net::{ConvLayer, ConvNetConfig};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Slope of the leaky ReLU (paper 004, section 6).
const SLOPE: f32 = 0.01;
/// The narrowest hidden layer, for boards whose convolutions use up all parameters.
const NARROWEST: usize = 8;

/// A size of nets, by the number of parameters of the net with an output for every action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// Four layers, 10,000 parameters: the smaller nets for Connect Four.
    #[serde(rename = "10k")]
    S10k,
    /// Five layers, 100,000 parameters: the larger nets for Connect Four.
    #[serde(rename = "100k")]
    S100k,
    /// Five layers, 230,000 parameters: Othello.
    #[serde(rename = "230k")]
    S230k,
    /// Seven layers, 420,000 parameters: Togyz Kumalak.
    #[serde(rename = "420k")]
    S420k,
    /// Seven convolutions, 190,000 parameters: boards where every action is a cell. The action net has no dense layer, since one over
    /// a large board would have to squeeze all cells through a few dozen numbers.
    #[serde(rename = "190k")]
    S190k,
}

/// What an output means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Values from -1 to 1.
    Values,
    /// Logits of a policy.
    Logits,
}

impl Size {
    /// Every size.
    pub const ALL: [Self; 5] = [Self::S10k, Self::S100k, Self::S230k, Self::S420k, Self::S190k];

    /// Whether only games can have it whose every action is a cell ([`Planes::n_cells`](crate::Planes::n_cells)).
    #[must_use]
    pub fn needs_cells(self) -> bool {
        self == Self::S190k
    }

    /// Channels of the 3x3 convolutions, hidden dense layers after the first, and the parameters to reach.
    fn plan(self) -> (&'static [usize], &'static [usize], usize) {
        match self {
            Self::S10k => (&[12, 12], &[], 10_000),
            Self::S100k => (&[32, 32, 32], &[], 100_000),
            Self::S230k => (&[48, 48, 48], &[], 230_000),
            Self::S420k => (&[64, 64, 64, 64], &[128], 420_000),
            Self::S190k => (&[64, 64, 64, 64, 64, 64], &[], 190_000),
        }
    }

    /// The net of this size over boards of a shape. The first dense layer is as wide as the parameters of a net with
    /// `n_actions` outputs allow; nets with other outputs are otherwise the same.
    #[must_use]
    pub fn config(
        self,
        shape: [usize; 3],
        n_actions: usize,
        (n_outputs, head): (usize, Head),
        init_seed: u64,
    ) -> ConvNetConfig {
        let (convolutions, later, n_parameters) = self.plan();
        let mut layers = Vec::new();
        let (mut inputs, mut used) = (shape[2], 0);
        for &channels in convolutions {
            layers.extend([ConvLayer::Conv3x3 { channels }, ConvLayer::LeakyRelu { slope: SLOPE }]);
            used += (9 * inputs + 1) * channels;
            inputs = channels;
        }
        if self.needs_cells() {
            let conv = |channels| ConvLayer::Conv3x3 { channels };
            let leaky = ConvLayer::LeakyRelu { slope: SLOPE };
            layers.extend(match n_outputs {
                1 => vec![
                    conv(2),
                    leaky,
                    ConvLayer::Dense { outputs: 64 },
                    leaky,
                    ConvLayer::Dense { outputs: 1 },
                ],
                _ => vec![conv(1)],
            });
            if head == Head::Values {
                layers.push(ConvLayer::Tanh);
            }
            return ConvNetConfig { input: shape, layers, init_seed };
        }
        let flat = shape[0] * shape[1] * inputs;
        // Layers after the first dense one: its width times `next`, and what does not depend on it.
        let widths: Vec<usize> = later.iter().copied().chain([n_actions]).collect();
        let next = widths[0];
        used += next + widths.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum::<usize>();
        let first = (n_parameters.saturating_sub(used) / (flat + 1 + next)).max(NARROWEST);
        for outputs in [first].into_iter().chain(later.iter().copied()) {
            layers.extend([ConvLayer::Dense { outputs }, ConvLayer::LeakyRelu { slope: SLOPE }]);
        }
        layers.push(ConvLayer::Dense { outputs: n_outputs });
        if head == Head::Values {
            layers.push(ConvLayer::Tanh);
        }
        ConvNetConfig { input: shape, layers, init_seed }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S10k => "10k",
            Self::S100k => "100k",
            Self::S230k => "230k",
            Self::S420k => "420k",
            Self::S190k => "190k",
        })
    }
}

impl FromStr for Size {
    type Err = ProbsError;

    fn from_str(text: &str) -> Result<Self, ProbsError> {
        Self::ALL.into_iter().find(|size| size.to_string() == text.to_lowercase()).ok_or_else(|| {
            ProbsError::Unknown {
                what: "size of nets",
                value: text.to_owned(),
                known: Self::ALL.map(|size| size.to_string()).join(" "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_net::NetworkConfig as _;

    #[test]
    fn sizes_are_what_they_say_in_the_games_of_the_paper() {
        for (size, shape, n_actions, expected) in [
            (Size::S10k, [6, 7, 2], 7, 10_000),
            (Size::S100k, [6, 7, 2], 7, 100_000),
            (Size::S420k, [6, 7, 2], 7, 420_000),
            (Size::S230k, [8, 8, 4], 65, 230_000),
            (Size::S420k, [2, 9, 25], 9, 420_000),
        ] {
            let config = size.config(shape, n_actions, (n_actions, Head::Values), 1);
            let n = config.layout().unwrap().n_parameters();
            assert!(n <= expected && n * 100 > expected * 94, "{size} over {shape:?}: {n}");
        }
    }

    #[test]
    fn a_net_of_convolutions_has_an_output_per_cell() {
        let config = Size::S190k.config([11, 11, 4], 122, (121, Head::Logits), 1);
        assert_eq!(config.n_outputs().unwrap(), 121);
        let n = config.layout().unwrap().n_parameters();
        assert!((180_000..190_000).contains(&n), "{n}");
        assert_eq!(Size::S190k.config([11, 11, 4], 122, (1, Head::Values), 1).n_outputs().unwrap(), 1);
    }
}
