//! Small nets over boards: a list of layers on the flat buffer.

use serde::{Deserialize, Serialize};

use crate::checkpoint::NetworkConfig;
use crate::config::ConfigError;
use crate::error::NetError;
use crate::layout::{Layout, TensorRole, fill_normal, stream_seed};
use crate::trainer::{StepSettings, TrainState, Weights};

/// A small net with its optimizer, wherever its parameters live.
///
/// Predictions take `&self`, so that many searches may share one net; an implementation on a device locks it inside.
pub trait ConvNet: Send + Sync {
    /// The shape.
    fn config(&self) -> &ConvNetConfig;

    /// Values of an output.
    fn n_outputs(&self) -> usize;

    /// Boards a call of [`predict`](ConvNet::predict) should bring along for the device to be busy. More are always taken.
    fn batch_hint(&self) -> usize;

    /// Boards that a call takes in about the time of one.
    fn boards_as_one(&self) -> usize;

    /// Outputs `[n, outputs]` of boards `[n, height, width, channels]`.
    ///
    /// # Errors
    /// When the inputs are not a whole number of boards; a device failure.
    fn predict(&self, inputs: &[f32], weights: Weights) -> Result<Vec<f32>, NetError>;

    /// One whole step of gradient, clipping and update; returns the loss before it.
    ///
    /// # Errors
    /// When inputs or targets have the wrong length or no weight, when something is not finite, or on a device failure.
    fn train_step(
        &mut self,
        inputs: &[f32],
        targets: ConvTargets<'_>,
        settings: &StepSettings,
    ) -> Result<f32, NetError>;

    /// Everything a run needs to go on elsewhere.
    ///
    /// # Errors
    /// A device failure.
    fn state(&self) -> Result<TrainState, NetError>;

    /// Continues from a saved state.
    ///
    /// # Errors
    /// When a buffer has another length than the layout; a device failure.
    fn set_state(&mut self, state: TrainState) -> Result<(), NetError>;
}

/// The most values of a layer. Shapes come from files, and the weights between two such layers must be a number without overflow.
const LARGEST: usize = 1 << 24;

/// A net of convolutions and dense layers, one after the other. Inputs are `[height, width, channels]`, channels last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvNetConfig {
    /// Height, width and channels of the input.
    pub input: [usize; 3],
    /// The layers in order.
    pub layers: Vec<ConvLayer>,
    /// Seed of the initial parameters.
    pub init_seed: u64,
}

/// A layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ConvLayer {
    /// 3x3 convolution with bias; the board keeps its size, outside is zero. Weights `[channels, 3, 3, inputs]`.
    Conv3x3 {
        /// Channels of the output.
        channels: usize,
    },
    /// All inputs to all outputs, with bias; a board is flattened. Weights `[outputs, inputs]`.
    Dense {
        /// Number of outputs.
        outputs: usize,
    },
    /// `x` if positive, else `slope * x`.
    LeakyRelu {
        /// Slope below zero, from 0 (a plain ReLU) to 1.
        slope: f32,
    },
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
}

/// What a net is trained on: targets of a batch of `n` boards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvTargets<'a> {
    /// `[n, outputs]`.
    pub values: &'a [f32],
    /// `[n, outputs]`; zero leaves an output out, such as a move that is not legal.
    pub weights: &'a [f32],
    /// How outputs are compared with targets.
    pub loss: ConvLoss,
}

/// A loss of a [`ConvNetConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvLoss {
    /// `sum(weight * (output - target)^2) / sum(weight)`.
    MeanSquared,
    /// Softmax over the outputs with a weight above zero, cross-entropy with the targets (which sum to one for each board); mean over boards.
    CrossEntropy,
}

/// A layer with the shapes around it and its place in the flat buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlacedLayer {
    pub(crate) layer: ConvLayer,
    /// Height, width and channels of the input; a flat input is `[1, 1, n]`.
    pub(crate) input: [usize; 3],
    pub(crate) output: [usize; 3],
    /// Offsets of weights and bias, if it has any.
    pub(crate) weight: usize,
    pub(crate) bias: usize,
}

impl ConvNetConfig {
    /// Values of an input.
    pub fn n_inputs(&self) -> usize {
        self.input.iter().product()
    }

    /// How many boards inputs hold.
    pub(crate) fn n_boards(&self, inputs: &[f32]) -> Result<usize, NetError> {
        let size = self.n_inputs();
        let n = inputs.len() / size;
        if n * size == inputs.len() {
            Ok(n)
        } else {
            Err(NetError::Length { what: "inputs", expected: (n + 1) * size, got: inputs.len() })
        }
    }

    /// Values of an output.
    ///
    /// # Errors
    /// When the layers do not fit together.
    pub fn n_outputs(&self) -> Result<usize, ConfigError> {
        let (_, layers) = self.place()?;
        Ok(layers.last().map_or(self.n_inputs(), |layer| layer.output.iter().product()))
    }

    /// Initial parameters: normal with the variance that keeps the size of activations (He et al. 2015), biases zero.
    ///
    /// # Errors
    /// When the layers do not fit together.
    pub fn initial_parameters(&self) -> Result<Vec<f32>, ConfigError> {
        let (layout, layers) = self.place()?;
        let mut parameters = vec![0.0; layout.len()];
        for (i, placed) in layers.iter().enumerate() {
            let (n_inputs, n_outputs) = match placed.layer {
                ConvLayer::Conv3x3 { channels } => (9 * placed.input[2], channels),
                ConvLayer::Dense { outputs } => (placed.input.iter().product(), outputs),
                _ => continue,
            };
            let gain = match layers.get(i + 1).map(|next| next.layer) {
                Some(ConvLayer::LeakyRelu { slope }) => 2.0 / (1.0 + slope * slope),
                _ => 1.0,
            };
            let deviation = (gain / n_inputs as f32).sqrt();
            let seed = stream_seed(self.init_seed, &format!("layers.{i}.weight"));
            fill_normal(&mut parameters[placed.weight..][..n_inputs * n_outputs], deviation, seed);
        }
        Ok(parameters)
    }

    /// Infers all shapes and offsets.
    pub(crate) fn place(&self) -> Result<(Layout, Vec<PlacedLayer>), ConfigError> {
        let fail = |value: String, requirement: &str| {
            Err(ConfigError { field: "layers", value, requirement: requirement.into() })
        };
        if self.input.contains(&0) || self.layers.is_empty() {
            return fail(format!("{:?} of {:?}", self.layers.len(), self.input), "must not be empty");
        }
        let too_large = |shape: [usize; 3]| {
            let n_values = shape.into_iter().try_fold(1_usize, usize::checked_mul);
            n_values.is_none_or(|n_values| n_values > LARGEST)
        };
        if too_large(self.input) {
            return fail(format!("input {:?}", self.input), &format!("must have at most {LARGEST} values"));
        }
        let mut layout = Layout::default();
        let mut placed = Vec::with_capacity(self.layers.len());
        let mut input = self.input;
        let mut flat = false;
        for (i, &layer) in self.layers.iter().enumerate() {
            let shape = match layer {
                ConvLayer::Conv3x3 { channels } => [input[0], input[1], channels],
                ConvLayer::Dense { outputs } => [1, 1, outputs],
                _ => input,
            };
            if too_large(shape) {
                return fail(
                    format!("layer {i} with {shape:?}"),
                    &format!("must have at most {LARGEST} values"),
                );
            }
            let weight = layout.len();
            let output = match layer {
                ConvLayer::Conv3x3 { channels: 0 } | ConvLayer::Dense { outputs: 0 } => {
                    return fail(format!("layer {i}"), "must have outputs");
                }
                ConvLayer::Conv3x3 { .. } if flat => {
                    return fail(format!("layer {i}"), "must not be a convolution after a dense layer");
                }
                ConvLayer::Conv3x3 { channels } => {
                    let shape = vec![channels, 3, 3, input[2]];
                    layout.group([(format!("layers.{i}.weight"), shape, TensorRole::Matrix)]);
                    [input[0], input[1], channels]
                }
                ConvLayer::Dense { outputs } => {
                    flat = true;
                    let shape = vec![outputs, input.iter().product()];
                    layout.group([(format!("layers.{i}.weight"), shape, TensorRole::Matrix)]);
                    [1, 1, outputs]
                }
                ConvLayer::LeakyRelu { slope } if !(0.0..=1.0).contains(&slope) => {
                    return fail(format!("layer {i}"), "must have a slope from 0 to 1");
                }
                ConvLayer::LeakyRelu { .. } | ConvLayer::Tanh | ConvLayer::Sigmoid => input,
            };
            let bias = layout.len();
            if matches!(layer, ConvLayer::Conv3x3 { .. } | ConvLayer::Dense { .. }) {
                layout.group([(format!("layers.{i}.bias"), vec![output[2]], TensorRole::Vector)]);
            }
            placed.push(PlacedLayer { layer, input, output, weight, bias });
            input = output;
        }
        Ok((layout, placed))
    }
}

impl NetworkConfig for ConvNetConfig {
    const KIND: &'static str = "convnet";

    fn layout(&self) -> Result<Layout, ConfigError> {
        self.place().map(|(layout, _)| layout)
    }
}

impl ConvTargets<'_> {
    /// Those of some boards, by the range of their outputs.
    pub(crate) fn part(&self, outputs: std::ops::Range<usize>) -> ConvTargets<'_> {
        ConvTargets { values: &self.values[outputs.clone()], weights: &self.weights[outputs], ..*self }
    }

    /// Checks lengths and that something is trained.
    pub(crate) fn validate(&self, n: usize, n_outputs: usize) -> Result<(), NetError> {
        for (what, len) in [("targets", self.values.len()), ("target weights", self.weights.len())] {
            if len != n * n_outputs {
                return Err(NetError::Length { what, expected: n * n_outputs, got: len });
            }
        }
        let normalizer = self.normalizer(n_outputs);
        if n > 0 && !(normalizer.is_finite() && normalizer > 0.0) {
            return Err(NetError::Normalizer { value: normalizer as f32 });
        }
        Ok(())
    }

    /// What the sum of losses is divided by.
    pub(crate) fn normalizer(&self, n_outputs: usize) -> f64 {
        match self.loss {
            ConvLoss::MeanSquared => self.weights.iter().map(|w| f64::from(*w)).sum(),
            ConvLoss::CrossEntropy => (self.values.len() / n_outputs.max(1)) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_inferred_and_misfits_refused() {
        let mut config = ConvNetConfig {
            input: [6, 7, 2],
            layers: vec![
                ConvLayer::Conv3x3 { channels: 8 },
                ConvLayer::LeakyRelu { slope: 0.01 },
                ConvLayer::Dense { outputs: 7 },
                ConvLayer::Tanh,
            ],
            init_seed: 1,
        };
        assert_eq!(config.n_outputs().unwrap(), 7);
        assert_eq!(config.layout().unwrap().n_parameters(), 8 * 18 + 8 + 7 * 336 + 7);
        config.layers.push(ConvLayer::Conv3x3 { channels: 1 });
        assert!(config.layout().is_err());
    }

    #[test]
    fn shapes_without_a_number_of_weights_are_refused() {
        let check = |input, layer| {
            let config = ConvNetConfig { input, layers: vec![layer], init_seed: 1 };
            let error = config.layout().unwrap_err();
            assert!(error.to_string().ends_with("must have at most 16777216 values"), "{error}");
        };
        check([1 << 32, 1 << 32, 1], ConvLayer::Tanh);
        check([6, 7, 2], ConvLayer::Conv3x3 { channels: usize::MAX });
        check([6, 7, 2], ConvLayer::Dense { outputs: 1 << 62 });
    }
}
