//! Training of the nets on the states of a round.

use crate::{Meter, Planes, ProbsError, ProbsSettings, episode::Sample};
use mavis_net::{ConvLoss, ConvNet, ConvTargets, StepSettings};
use mavis_search::Random;

/// What a net learns of a sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objective {
    /// The end of the game.
    Value,
    /// The q-value of every legal move.
    QValues,
    /// The share of visits of every legal move.
    Policy,
}

/// Passes over all samples in random minibatches; returns the mean loss.
pub(crate) fn fit<G: Planes>(
    net: &mut dyn ConvNet,
    samples: &[Sample<G>],
    objective: Objective,
    settings: &ProbsSettings,
    learning_rate: f32,
    random: &mut Random,
    meter: &Meter,
) -> Result<f32, ProbsError> {
    let loss = if objective == Objective::Policy { ConvLoss::CrossEntropy } else { ConvLoss::MeanSquared };
    let mut order: Vec<usize> = (0..samples.len()).collect();
    let (mut total, mut n) = (0.0, 0);
    let mut batch = Minibatch::new(net.config().n_inputs(), net.n_outputs());
    for _ in 0..settings.epochs {
        shuffle(&mut order, random);
        for indices in order.chunks(settings.batch) {
            batch.clear();
            for &index in indices {
                let n_symmetries = if settings.symmetries { samples[index].state.n_symmetries() } else { 1 };
                batch.push(&samples[index], objective, random.below(n_symmetries));
            }
            let targets = ConvTargets { values: &batch.values, weights: &batch.weights, loss };
            total += f64::from(net.train_step(&batch.planes, targets, &StepSettings { learning_rate })?);
            n += 1;
            meter.add(1);
        }
    }
    Ok((total / f64::from(n.max(1))) as f32)
}

/// Planes and targets of a few samples.
struct Minibatch {
    n_inputs: usize,
    n_outputs: usize,
    planes: Vec<f32>,
    values: Vec<f32>,
    weights: Vec<f32>,
}

impl Minibatch {
    fn new(n_inputs: usize, n_outputs: usize) -> Self {
        Self { n_inputs, n_outputs, planes: Vec::new(), values: Vec::new(), weights: Vec::new() }
    }

    fn clear(&mut self) {
        self.planes.clear();
        self.values.clear();
        self.weights.clear();
    }

    fn push<G: Planes>(&mut self, sample: &Sample<G>, objective: Objective, symmetry: usize) {
        let state = sample.state.transformed(symmetry);
        let (planes, outputs) = (self.planes.len(), self.values.len());
        self.planes.resize(planes + self.n_inputs, 0.0);
        state.write(&mut self.planes[planes..]);
        self.values.resize(outputs + self.n_outputs, 0.0);
        self.weights.resize(outputs + self.n_outputs, 0.0);
        if objective == Objective::Value {
            self.values[outputs] = sample.value;
            self.weights[outputs] = 1.0;
            return;
        }
        for &(mv, target) in &sample.moves {
            let action = outputs + state.action(sample.state.transformed_move(symmetry, mv));
            self.values[action] = target;
            self.weights[action] = 1.0;
        }
    }
}

fn shuffle(order: &mut [usize], random: &mut Random) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last + 1));
    }
}
