//! One pass of a [`ConvNetConfig`](crate::ConvNetConfig) over a few boards on one thread.

use super::activation;
use super::conv::{Conv3x3, Gradients, Parameters, add_bias, add_rows};
use super::matmul::{Linear, Store, Threads};
use super::scalar::exp;
use crate::conv_net::{ConvLayer, ConvLoss, ConvTargets, PlacedLayer};

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct ConvMemory {
    /// Input of the net, then the output of every layer.
    activations: Vec<Vec<f32>>,
    /// Gradients of an output and of an input.
    d_out: Vec<f32>,
    d_in: Vec<f32>,
    columns: Vec<f32>,
}

/// A net's layers over a parameter buffer.
#[derive(Clone, Copy)]
pub(crate) struct ConvPass<'a> {
    pub(crate) layers: &'a [PlacedLayer],
    pub(crate) parameters: &'a [f32],
}

impl ConvPass<'_> {
    /// Outputs `[n, outputs]` of inputs `[n, inputs]`; they stay in `memory`.
    pub(crate) fn forward<'m>(&self, inputs: &[f32], memory: &'m mut ConvMemory) -> &'m [f32] {
        let ConvMemory { activations, columns, .. } = memory;
        activations.resize_with(self.layers.len() + 1, Vec::new);
        activations[0].clear();
        activations[0].extend_from_slice(inputs);
        for (i, placed) in self.layers.iter().enumerate() {
            let (before, after) = activations.split_at_mut(i + 1);
            let (x, y) = (&before[i], &mut after[0]);
            match placed.layer {
                ConvLayer::Conv3x3 { .. } => {
                    y.resize(x.len() / placed.input[2] * placed.output[2], 0.0);
                    placed.conv().forward(y, x, placed.parameters(self.parameters), columns);
                }
                ConvLayer::Dense { .. } => {
                    let dense = placed.dense();
                    y.resize(x.len() / dense.inputs * dense.outputs, 0.0);
                    let parameters = placed.parameters(self.parameters);
                    dense.forward(y, x, parameters.weight, Store::Set);
                    add_bias(y, parameters.bias);
                }
                activation => {
                    y.clone_from(x);
                    activation::forward(activation, y);
                }
            }
        }
        &activations[self.layers.len()]
    }

    /// After [`forward`](Self::forward): the sum of losses over these boards, not yet divided; adds to `gradient` that of the sum over
    /// `normalizer`.
    pub(crate) fn backward(
        &self,
        targets: ConvTargets<'_>,
        n_outputs: usize,
        normalizer: f64,
        memory: &mut ConvMemory,
        gradient: &mut [f32],
    ) -> f64 {
        let ConvMemory { activations, d_out, d_in, columns } = memory;
        let total = loss(d_out, &activations[self.layers.len()], targets, n_outputs, 1.0 / normalizer as f32);
        for (i, placed) in self.layers.iter().enumerate().rev() {
            let (x, y) = (&activations[i], &activations[i + 1]);
            match placed.layer {
                ConvLayer::Conv3x3 { .. } => {
                    d_in.resize(x.len(), 0.0);
                    let weight = placed.parameters(self.parameters).weight;
                    // Nobody asks for the gradient of the board itself.
                    let dx = (i > 0).then_some(d_in.as_mut_slice());
                    placed.conv().backward(dx, placed.gradients(gradient), d_out, (x, weight), columns);
                    std::mem::swap(d_out, d_in);
                }
                ConvLayer::Dense { .. } => {
                    let dense = placed.dense();
                    d_in.resize(x.len(), 0.0);
                    let gradients = placed.gradients(gradient);
                    dense.backward_weight(gradients.weight, d_out, x);
                    add_rows(gradients.bias, d_out);
                    let weight = placed.parameters(self.parameters).weight;
                    if i > 0 {
                        dense.backward_input(d_in, d_out, weight, Store::Set);
                    }
                    std::mem::swap(d_out, d_in);
                }
                activation => activation::backward(activation, d_out, y),
            }
        }
        total
    }
}

/// The sum of losses of some outputs, without gradient.
pub(crate) fn loss_only(y: &[f32], targets: ConvTargets<'_>, n_outputs: usize) -> f64 {
    loss(&mut Vec::new(), y, targets, n_outputs, 0.0)
}

/// The sum of losses, and its gradient times `factor`.
fn loss(d: &mut Vec<f32>, y: &[f32], targets: ConvTargets<'_>, n_outputs: usize, factor: f32) -> f64 {
    d.clear();
    match targets.loss {
        ConvLoss::MeanSquared => {
            let mut total = 0.0;
            for ((y, target), weight) in y.iter().zip(targets.values).zip(targets.weights) {
                // What has no weight may have any target, even one that is not a number.
                let error = if *weight == 0.0 { 0.0 } else { y - target };
                total += f64::from(weight * error * error);
                d.push(2.0 * factor * weight * error);
            }
            total
        }
        ConvLoss::CrossEntropy => {
            let rows = y.chunks_exact(n_outputs).zip(targets.values.chunks_exact(n_outputs));
            rows.zip(targets.weights.chunks_exact(n_outputs))
                .map(|((y, target), weight)| cross_entropy(d, y, target, weight, factor))
                .sum()
        }
    }
}

/// Cross-entropy of one board over the outputs that have a weight; appends its gradient times `factor`.
fn cross_entropy(d: &mut Vec<f32>, y: &[f32], target: &[f32], weight: &[f32], factor: f32) -> f64 {
    let open = |i: &usize| weight[*i] > 0.0;
    let max = (0..y.len()).filter(open).fold(f32::NEG_INFINITY, |max, i| if y[i] > max { y[i] } else { max });
    let total: f32 = (0..y.len()).filter(open).map(|i| exp(y[i] - max)).sum();
    let mass: f32 = (0..y.len()).filter(open).map(|i| target[i]).sum();
    let gradient = |i: usize| {
        if weight[i] > 0.0 { factor * (mass * exp(y[i] - max) / total - target[i]) } else { 0.0 }
    };
    d.extend((0..y.len()).map(gradient));
    let picked: f32 = (0..y.len()).filter(open).map(|i| target[i] * (y[i] - max)).sum();
    // A board without open outputs loses nothing; a total that is not a number must be seen.
    if total == 0.0 { 0.0 } else { f64::from(mass * total.ln() - picked) }
}

impl PlacedLayer {
    fn conv(&self) -> Conv3x3 {
        let [height, width, inputs] = self.input;
        Conv3x3 { height, width, inputs, outputs: self.output[2] }
    }

    fn dense(&self) -> Linear {
        Linear { inputs: self.input.iter().product(), outputs: self.output[2], threads: Threads::One }
    }

    fn n_weights(&self) -> usize {
        match self.layer {
            ConvLayer::Conv3x3 { channels } => 9 * self.input[2] * channels,
            ConvLayer::Dense { outputs } => self.input.iter().product::<usize>() * outputs,
            _ => 0,
        }
    }

    fn parameters<'a>(&self, buffer: &'a [f32]) -> Parameters<'a> {
        Parameters {
            weight: &buffer[self.weight..][..self.n_weights()],
            bias: &buffer[self.bias..][..self.output[2]],
        }
    }

    fn gradients<'a>(&self, buffer: &'a mut [f32]) -> Gradients<'a> {
        let (weight, bias) = buffer[self.weight..].split_at_mut(self.bias - self.weight);
        Gradients { weight: &mut weight[..self.n_weights()], bias: &mut bias[..self.output[2]] }
    }
}
