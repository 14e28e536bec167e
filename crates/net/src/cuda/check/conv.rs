//! Small nets beside those of the CPU, and boards a second.

use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Comparison;
use crate::conv_net::{ConvLayer, ConvLoss, ConvNet, ConvNetConfig, ConvTargets};
use crate::cpu::CpuConvNet;
use crate::cuda::CudaConvNet;
use crate::error::NetError;
use crate::optimizer::OptimizerSettings;
use crate::trainer::{StepSettings, TrainState, Weights};

/// Sums run in another order than on the CPU, in f32 both times.
const BOUND: f64 = 2e-5;
/// What that grows to in twenty steps of AdamW where the net does not amplify it.
const TRAINED: f64 = 5e-3;
/// How much further from the CPU than the CPU from itself: AdamW divides small gradients by small roots, so a net of 200,000 parameters moved by
/// one rounding is after twenty steps 5 % away in its first moments.
const AMPLIFIED: f64 = 3.0;

/// Nets that are checked: odd sizes that fill no block, every activation, boards of one row, and those of paper 004's kind; with the loss they
/// are trained on.
pub fn conv_shapes() -> Vec<(&'static str, ConvNetConfig, ConvLoss)> {
    let leaky = ConvLayer::LeakyRelu { slope: 0.05 };
    let conv = |channels| ConvLayer::Conv3x3 { channels };
    let dense = |outputs| ConvLayer::Dense { outputs };
    let net = |input, layers| ConvNetConfig { input, layers, init_seed: 5 };
    vec![
        (
            "connect4, cross-entropy",
            net(
                [6, 7, 3],
                vec![conv(20), leaky, conv(64), leaky, conv(72), leaky, dense(50), leaky, dense(7)],
            ),
            ConvLoss::CrossEntropy,
        ),
        (
            "every activation, squares",
            net(
                [4, 5, 2],
                vec![
                    conv(6),
                    ConvLayer::Tanh,
                    conv(130),
                    ConvLayer::Sigmoid,
                    dense(33),
                    leaky,
                    ConvLayer::Tanh,
                ],
            ),
            ConvLoss::MeanSquared,
        ),
        (
            "hex, squares",
            net([11, 11, 4], vec![conv(32), leaky, conv(33), leaky, dense(1), ConvLayer::Tanh]),
            ConvLoss::MeanSquared,
        ),
        (
            "hex, an output per cell",
            net([11, 11, 4], vec![conv(64), leaky, conv(64), leaky, conv(1)]),
            // Not the cross-entropy: the gradient of a bias that all outputs share would be zero.
            ConvLoss::MeanSquared,
        ),
        (
            "one row, no convolution",
            net([1, 19, 1], vec![leaky, dense(129), leaky, dense(9)]),
            ConvLoss::CrossEntropy,
        ),
    ]
}

struct Data {
    inputs: Vec<f32>,
    values: Vec<f32>,
    weights: Vec<f32>,
}

impl Data {
    /// Boards of zeros and ones; targets with some outputs left out, where the target is not a number.
    fn new(config: &ConvNetConfig, n: usize, loss: ConvLoss, seed: u64) -> Result<Self, NetError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let outputs = config.n_outputs()?;
        let inputs =
            (0..n * config.n_inputs()).map(|_| f32::from(u8::from(random.random_bool(0.4)))).collect();
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let mut open: Vec<bool> = (0..outputs).map(|_| random.random_bool(0.7)).collect();
            open[random.random_range(0..outputs)] = true;
            let raw: Vec<f32> =
                open.iter().map(|open| if *open { random.random_range(0.1..1.0) } else { 0.0 }).collect();
            let total: f32 = if loss == ConvLoss::CrossEntropy { raw.iter().sum() } else { 1.0 };
            for (open, value) in open.iter().zip(raw) {
                values.push(if *open { value / total } else { f32::NAN });
                let weight = if loss == ConvLoss::CrossEntropy { 1.0 } else { random.random_range(0.5..1.5) };
                weights.push(if *open { weight } else { 0.0 });
            }
        }
        Ok(Self { inputs, values, weights })
    }

    fn targets(&self, loss: ConvLoss) -> ConvTargets<'_> {
        ConvTargets { values: &self.values, weights: &self.weights, loss }
    }
}

/// Predictions, loss, the gradient of every tensor, the pieces of a batch that is taken in parts, and twenty steps with all they leave behind, on both.
///
/// # Errors
/// When a device fails.
pub fn conv_against_cpu(config: &ConvNetConfig, loss: ConvLoss) -> Result<Vec<Comparison>, NetError> {
    let n = 333;
    let data = Data::new(config, n, loss, 11)?;
    // Biases are zero at first; here they must count.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let parameters: Vec<f32> =
        config.initial_parameters()?.iter().map(|x| x + random.random_range(-0.05..0.05)).collect();
    let parameters = only_tensors(config, parameters)?;
    let (optimizer, state) = (OptimizerSettings::default(), TrainState::new(parameters));
    let mut cpu = CpuConvNet::new(config.clone(), optimizer.clone(), state.clone())?;
    let mut gpu = CudaConvNet::new(config.clone(), &optimizer, &state, 0)?;
    let mut comparisons = Vec::new();
    let mut compare = |name: String, ours: &[f32], theirs: &[f32], bound: f64| {
        let expected: Vec<f64> = theirs.iter().map(|x| f64::from(*x)).collect();
        comparisons.push(Comparison::new(name, ours, &expected, bound));
    };
    for count in [1, 2, n] {
        let inputs = &data.inputs[..count * config.n_inputs()];
        let (ours, theirs) = (gpu.predict(inputs, Weights::Live)?, cpu.predict(inputs, Weights::Live)?);
        compare(format!("outputs of {count}"), &ours, &theirs, BOUND);
    }
    let targets = data.targets(loss);
    for pieces in [1, 4] {
        gpu = gpu.with_max_boards(n.div_ceil(pieces));
        let losses =
            (gpu.forward_backward(&data.inputs, targets)?, cpu.forward_backward(&data.inputs, targets)?);
        compare(format!("loss in {pieces}"), &[losses.0], &[losses.1], BOUND);
        let (ours, theirs) = (gpu.gradient()?, cpu.gradient_mut().to_vec());
        for tensor in gpu.layout().tensors() {
            let name = format!("d {} in {pieces}", tensor.name);
            compare(name, &ours[tensor.range()], &theirs[tensor.range()], BOUND);
        }
        gpu.set_state(state.clone())?;
        cpu.set_state(state.clone())?;
    }
    let settings = StepSettings { learning_rate: 2e-3 };
    let train = |net: &mut dyn ConvNet| -> Result<Trained, NetError> {
        let losses = (0..20)
            .map(|_| net.train_step(&data.inputs, targets, &settings))
            .collect::<Result<Vec<f32>, _>>()?;
        Ok(Trained { losses, outputs: net.predict(&data.inputs, Weights::Average)?, state: net.state()? })
    };
    let mut moved = state.clone();
    for parameter in &mut moved.parameters {
        *parameter *= 1.0 + f32::EPSILON * random.random_range(-0.5..0.5);
    }
    moved.average.clone_from(&moved.parameters);
    let mut twin = CpuConvNet::new(config.clone(), optimizer, moved)?;
    let (ours, theirs, twin) = (train(&mut gpu)?, train(&mut cpu)?, train(&mut twin)?);
    for ((name, floor, ours), ((_, _, theirs), (_, _, twin))) in
        ours.parts().into_iter().zip(theirs.parts().into_iter().zip(twin.parts()))
    {
        let expected: Vec<f64> = theirs.iter().map(|x| f64::from(*x)).collect();
        let own = Comparison::new(name, twin, &expected, 0.0).relative;
        compare(name.into(), ours, theirs, (floor * TRAINED).max(AMPLIFIED * own));
    }
    compare("step after".into(), &[ours.state.step as f32], &[theirs.state.step as f32], 0.0);
    refuses(&mut gpu, &data, loss, &settings)?;
    Ok(comparisons)
}

/// What twenty steps leave behind.
struct Trained {
    losses: Vec<f32>,
    outputs: Vec<f32>,
    state: TrainState,
}

impl Trained {
    /// Each with how many times [`TRAINED`] it may always differ: moments are gradients, which differ more than what they move.
    fn parts(&self) -> [(&'static str, f64, &[f32]); 5] {
        [
            ("losses of 20 steps", 1.0, &self.losses),
            ("parameters after", 1.0, &self.state.parameters),
            ("average after", 1.0, &self.state.average),
            ("first moment after", 10.0, &self.state.first_moment),
            ("outputs of the average", 1.0, &self.outputs),
        ]
    }
}

/// What is not a number is an error and changes nothing.
fn refuses(
    gpu: &mut CudaConvNet,
    data: &Data,
    loss: ConvLoss,
    settings: &StepSettings,
) -> Result<(), NetError> {
    let before = gpu.state()?;
    let mut inputs = data.inputs.clone();
    inputs[7] = f32::NAN;
    let bad = gpu.train_step(&inputs, data.targets(loss), settings);
    let rate = gpu.train_step(&data.inputs, data.targets(loss), &StepSettings { learning_rate: f32::NAN });
    let refused = |outcome: &Result<f32, NetError>| matches!(outcome, Err(NetError::NotFinite { .. }));
    if refused(&bad) && refused(&rate) && gpu.state()? == before {
        Ok(())
    } else {
        Err(NetError::Device(format!("what is not a number was not refused: {bad:?}, {rate:?}")))
    }
}

/// Clears the padding between tensors, which no net reads.
fn only_tensors(config: &ConvNetConfig, parameters: Vec<f32>) -> Result<Vec<f32>, NetError> {
    let mut clean = vec![0.0; parameters.len()];
    let (layout, _) = config.place()?;
    for tensor in layout.tensors() {
        clean[tensor.range()].copy_from_slice(&parameters[tensor.range()]);
    }
    Ok(clean)
}

/// What [`conv_bench`] measured.
#[derive(Clone, Copy, Debug)]
pub struct ConvBench {
    /// Parameters of the net.
    pub n_parameters: usize,
    /// Boards predicted a second, copies included.
    pub predicted: f64,
    /// Boards trained on a second, copies included.
    pub trained: f64,
    /// Operations of the products of a forward pass over one board.
    pub flops: f64,
    /// The same on this machine's CPU, over a smaller batch.
    pub cpu_predicted: f64,
    /// The same.
    pub cpu_trained: f64,
}

/// Times predictions and steps of a net at a batch of `n` boards.
///
/// # Errors
/// When a device fails.
pub fn conv_bench(config: &ConvNetConfig, loss: ConvLoss, n: usize) -> Result<ConvBench, NetError> {
    let data = Data::new(config, n, loss, 1)?;
    let (layout, layers) = config.place()?;
    let state = TrainState::new(config.initial_parameters()?);
    let optimizer = OptimizerSettings::default();
    let flops: f64 = layers
        .iter()
        .map(|placed| {
            let [height, width, channels] = placed.input;
            let sums = match placed.layer {
                ConvLayer::Conv3x3 { .. } => height * width * 9 * channels * placed.output[2],
                ConvLayer::Dense { .. } => height * width * channels * placed.output[2],
                _ => 0,
            };
            2.0 * sums as f64
        })
        .sum();
    let mut gpu = CudaConvNet::new(config.clone(), &optimizer, &state, 0)?;
    let (predicted, trained) = rates(&mut gpu, &data, loss, (n, 10))?;
    let few = n.min(256);
    let small = Data::new(config, few, loss, 1)?;
    let mut cpu = CpuConvNet::new(config.clone(), optimizer, state)?;
    let (cpu_predicted, cpu_trained) = rates(&mut cpu, &small, loss, (few, 2))?;
    Ok(ConvBench {
        n_parameters: layout.n_parameters(),
        predicted,
        trained,
        flops,
        cpu_predicted,
        cpu_trained,
    })
}

/// Boards per second predicted and trained on.
fn rates(
    net: &mut dyn ConvNet,
    data: &Data,
    loss: ConvLoss,
    (n, rounds): (usize, usize),
) -> Result<(f64, f64), NetError> {
    let settings = StepSettings { learning_rate: 1e-3 };
    net.predict(&data.inputs, Weights::Live)?;
    net.train_step(&data.inputs, data.targets(loss), &settings)?;
    let rate = |begin: Instant| (n * rounds) as f64 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for _ in 0..rounds {
        net.predict(&data.inputs, Weights::Live)?;
    }
    let predicted = rate(begin);
    let begin = Instant::now();
    for _ in 0..rounds {
        net.train_step(&data.inputs, data.targets(loss), &settings)?;
    }
    Ok((predicted, rate(begin)))
}
