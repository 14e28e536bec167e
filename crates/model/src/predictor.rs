//! The predictors of paper 002: value of an action (AV), value of a state (SV), the oracle's action (BC), each from one pass without search.
//!
//! A position becomes 77 characters ([`tokens`]), a bidirectional transformer reads them, and the logits after the last token say in which of
//! [`Bins`] the win probability falls, what it is ([`PredictorLoss`]), or which action the oracle would choose. [`score_moves`] turns that into scores of moves, which is all a
//! policy needs. Training goes through [`learn`](crate::train::learn) as for the MAV model; [`PredictorSettings`] describes a run.
//!
//! ```
//! use mavis_model::predictor::{Predictor, PredictorModel, PredictorSettings, Target};
//! use mavis_game::{Game as _, Position, Rules};
//! use mavis_net::initial_parameters;
//!
//! let settings = PredictorSettings { target: Target::ActionValue, shape: Some([32, 1, 2, 64]), ..Default::default() };
//! let config = settings.network()?;
//! let parameters = initial_parameters(&config)?;
//! let model = PredictorModel { config, spec: settings.spec()?, step: 0, parameters };
//! let position = Position::start(Rules::Chess);
//! let moves: Vec<_> = position.legal_moves().into_iter().collect();
//! let values = Predictor::cpu(&model)?.scores(&position, &moves)?;
//! assert_eq!(values.len(), 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batches;
mod bins;
mod examples;
mod policy;
mod quality;
mod settings;
pub mod tokens;

pub use batches::PredictorBatches;
pub use bins::Bins;
pub use examples::{BagSamples, BagSamplesError, PositionSamples, PredictorTarget, Sample, Samples};
pub use policy::score_moves;
pub use quality::{PredictorQuality, puzzles, quality};
pub use settings::{PredictorPreset, PredictorSettings, SampleSource};

use crate::{
    ModelError,
    loader::Loader,
    train::{Averaged, Card, Measurement, Objective},
};
use mavis_data::{Annotations, Puzzle};
use mavis_game::{Move, Position};
use mavis_net::{Batch, Decoder, NetError, Precision, SmallCheckpoint, TransformerConfig, cpu::CpuDecoder};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    path::Path,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

/// Inputs of one pass: enough for every move of a position.
const INPUTS_PER_PASS: usize = 256;

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The win probability after an action.
    #[serde(rename = "av")]
    ActionValue,
    /// The win probability of a state, for the player who moves.
    #[serde(rename = "sv")]
    StateValue,
    /// The oracle's action.
    #[serde(rename = "bc")]
    BehavioralCloning,
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 3] = [Self::ActionValue, Self::StateValue, Self::BehavioralCloning];

    /// Tokens of an input: the start, the position, and for AV the action.
    #[must_use]
    pub fn context(self) -> usize {
        match self {
            Self::ActionValue => tokens::N_CHARACTERS + 2,
            _ => tokens::N_CHARACTERS + 1,
        }
    }

    /// Whether scores of moves are win probabilities.
    #[must_use]
    pub fn has_values(self) -> bool {
        self != Self::BehavioralCloning
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ActionValue => "av",
            Self::StateValue => "sv",
            Self::BehavioralCloning => "bc",
        })
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|target| target.to_string() == text)
            .ok_or_else(|| format!("unknown target '{text}' (known: av sv bc)"))
    }
}

/// How values are learned, which decides what the head gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PredictorLoss {
    /// Cross-entropy: the head gives a distribution over bins, or over actions.
    #[default]
    #[serde(rename = "log")]
    Log,
    /// Squared error: the head gives the win probability itself, which may lie a little outside of 0 to 1.
    #[serde(rename = "l2")]
    SquaredError,
}

impl fmt::Display for PredictorLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "log",
            Self::SquaredError => "l2",
        })
    }
}

impl FromStr for PredictorLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Log, Self::SquaredError]
            .into_iter()
            .find(|loss| loss.to_string() == text)
            .ok_or_else(|| format!("unknown loss '{text}' (known: log l2)"))
    }
}

/// What a predictor's logits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictorSpec {
    /// What is predicted.
    pub target: Target,
    /// Classes of win probability; they mean nothing where the loss is the squared error.
    pub bins: Bins,
    /// How values were learned.
    pub loss: PredictorLoss,
}

impl PredictorSpec {
    /// Columns of the logits.
    #[must_use]
    pub fn n_outputs(self) -> usize {
        match self.target {
            Target::BehavioralCloning => tokens::N_ACTIONS,
            _ => match self.loss {
                PredictorLoss::Log => self.bins.count(),
                PredictorLoss::SquaredError => SCALAR_OUTPUTS,
            },
        }
    }

    /// The win probability that an output of the head stands for; of no meaning for behavioral cloning.
    #[must_use]
    pub fn value(self, output: &[f32]) -> f32 {
        match self.loss {
            PredictorLoss::Log => self.bins.mean(output),
            PredictorLoss::SquaredError => output.first().copied().unwrap_or(0.5),
        }
    }

    /// What files of such a model say.
    #[must_use]
    pub fn card(self) -> Card {
        let mut notes = vec![(TARGET, self.target.to_string()), (BINS, self.bins.count().to_string())];
        // Files without this note are those of the log loss.
        if self.loss != PredictorLoss::Log {
            notes.push((LOSS, self.loss.to_string()));
        }
        Card {
            vocabulary: VOCABULARY.to_owned(),
            notes: notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        }
    }
}

/// Names the tokens in files.
const VOCABULARY: &str = "predictor-77-1968";
const TARGET: &str = "target";
const BINS: &str = "bins";
const LOSS: &str = "loss";

/// Columns of a head that gives one number: the first is the number, the rest is not read and learns nothing. The kernels take multiples of 8.
const SCALAR_OUTPUTS: usize = 8;

/// A trained predictor as a file.
#[derive(Clone, Debug)]
pub struct PredictorModel {
    /// The shape.
    pub config: TransformerConfig,
    /// What its logits mean.
    pub spec: PredictorSpec,
    /// Updates it was trained for.
    pub step: u64,
    /// The flat parameters.
    pub parameters: Vec<f32>,
}

impl PredictorModel {
    /// Reads a predictor.
    ///
    /// # Errors
    /// When the file is damaged or no predictor.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let small = SmallCheckpoint::<TransformerConfig>::load(path, Some(VOCABULARY))?;
        let note = |key: &str| small.notes.get(key).map(String::as_str);
        let target = note(TARGET).and_then(|text| text.parse().ok());
        let bins = note(BINS).and_then(|text| Bins::new(text.parse().ok()?).ok());
        let loss = note(LOSS).map_or(Some(PredictorLoss::Log), |text| text.parse().ok());
        let spec = target.zip(bins).zip(loss);
        let spec = spec.map(|((target, bins), loss)| PredictorSpec { target, bins, loss });
        let fits = |spec: &PredictorSpec| {
            small.config.n_outputs() == spec.n_outputs()
                && small.config.vocab == tokens::N_IDS
                && small.config.variant.learned_positions.is_none_or(|n| n >= spec.target.context())
        };
        let spec = spec.filter(fits).ok_or_else(|| ModelError::Foreign(path.display().to_string()))?;
        Ok(Self { config: small.config, spec, step: small.step, parameters: small.parameters })
    }

    /// Writes the predictor in bf16.
    ///
    /// # Errors
    /// When the file cannot be written; what was there stays.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let card = self.spec.card();
        Ok(card.model(self.config.clone(), self.step, self.parameters.clone()).save(path)?)
    }
}

/// A predictor that answers.
pub struct Predictor {
    spec: PredictorSpec,
    network: SharedNetwork,
}

/// A network of several predictors, which take turns.
pub type SharedNetwork = Arc<Mutex<Box<dyn Decoder>>>;

impl Predictor {
    /// A predictor on the processor.
    ///
    /// # Errors
    /// When the shape is refused.
    pub fn cpu(model: &PredictorModel) -> Result<Self, NetError> {
        let decoder = CpuDecoder::new(model.config.clone(), &model.parameters, Precision::Exact)?;
        Ok(Self::new(model.spec, Box::new(decoder)))
    }

    /// A predictor over a network of its parameters, wherever that computes.
    #[must_use]
    pub fn new(spec: PredictorSpec, network: Box<dyn Decoder>) -> Self {
        Self::sharing(spec, Arc::new(Mutex::new(network)))
    }

    /// A predictor over a network that others use too: on a GPU every network of its own takes gigabytes.
    #[must_use]
    pub fn sharing(spec: PredictorSpec, network: SharedNetwork) -> Self {
        Self { spec, network }
    }

    /// What it predicts.
    #[must_use]
    pub fn spec(&self) -> PredictorSpec {
        self.spec
    }

    /// Scores of moves; see [`score_moves`].
    ///
    /// # Errors
    /// A position that is not chess, or a network that fails.
    pub fn scores(&mut self, position: &Position, moves: &[Move]) -> Result<Vec<f32>, ModelError> {
        // A pass that failed leaves nothing behind that the next one would read.
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let scores = score_moves(&mut **network, self.spec, &[(position, moves)], INPUTS_PER_PASS)?;
        Ok(scores.into_iter().next().unwrap_or_default())
    }
}

/// What a predictor learns from and is measured on.
pub struct PredictorObjective {
    /// What is predicted.
    pub spec: PredictorSpec,
    /// The training batches.
    pub batches: PredictorBatches,
    /// Named sets of positions that are never trained on.
    pub validation: Vec<(String, Arc<dyn Annotations>)>,
    /// Positions of each that are measured.
    pub validation_positions: usize,
    /// Puzzles, if any.
    pub puzzles: Vec<Puzzle>,
}

impl Objective for PredictorObjective {
    fn loader(&self, first: u64, n_workers: usize) -> Loader {
        Loader::start(&self.batches, first, n_workers)
    }

    fn kinds(&self) -> &'static [&'static str] {
        &batches::KINDS
    }

    fn measure(&self, network: &mut Averaged<'_>, measured: &mut Measurement) -> Result<(), ModelError> {
        // A device has room for a training batch, no more.
        let most = self.batches.samples_per_batch();
        for (name, set) in &self.validation {
            let quality = quality(network, self.spec, &**set, self.validation_positions, most)?;
            measured.predictions.insert(name.clone(), quality);
        }
        if !self.puzzles.is_empty() {
            measured.puzzles = Some(puzzles(network, self.spec, &self.puzzles, most)?);
        }
        Ok(())
    }
}

/// Appends one input to a batch: every token sees every other.
fn input(batch: &mut Batch, characters: &[u8; tokens::N_CHARACTERS], action: Option<u16>) {
    let mut ids = [tokens::START; tokens::N_CHARACTERS + 2];
    for (id, character) in ids[1..].iter_mut().zip(characters) {
        *id = u32::from(*character);
    }
    let len = tokens::N_CHARACTERS + 1 + usize::from(action.is_some());
    if let Some(action) = action {
        ids[len - 1] = tokens::FIRST_ACTION + u32::from(action);
    }
    batch.push_prompted(&ids[..len], len);
}
