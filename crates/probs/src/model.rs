//! The two nets of a run as one thing: their shapes, their file, and a copy to play with.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{Algorithm, Head, Planes, ProbsError, ProbsSettings, Unvisited};
use mavis_game::{FromRules, Game, Position};
use mavis_net::{
    ConfigError, ConvNet, ConvNetConfig, Device, Layout, NetworkConfig, OptimizerSettings, SmallCheckpoint,
    TrainState,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// The shapes of a value net and an action net, and what they are for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The game as users name it.
    pub game: String,
    /// What the action net says: q-values or the logits of a policy.
    pub algorithm: Algorithm,
    /// What a move without visits counts as in searches over the nets of the AlphaZero-style learner: what it counted as in its self-play.
    #[serde(default, skip_serializing_if = "Unvisited::is_draw")]
    pub unvisited: Unvisited,
    /// One output: the value for the side to move.
    pub value: ConvNetConfig,
    /// One output an action.
    pub action: ConvNetConfig,
}

/// Both nets on one device, for playing.
pub struct Model {
    /// Shapes and purpose.
    pub config: ModelConfig,
    /// The value net.
    pub value: Box<dyn ConvNet>,
    /// The action net.
    pub action: Box<dyn ConvNet>,
}

impl ModelConfig {
    /// The nets of a run that learns the game of a position.
    ///
    /// # Errors
    /// When the game cannot have nets of this size.
    pub fn new<G: Planes>(start: &G, settings: &ProbsSettings) -> Result<Self, ProbsError> {
        let (shape, n_actions) = (start.shape(), start.n_actions());
        let requirement = "a size with dense layers (190k is for Hex without the swap rule)";
        let n_outputs = match settings.net.needs_cells() {
            true => start.n_cells().ok_or_else(|| ProbsError::Setting {
                field: "net",
                value: settings.net.to_string(),
                requirement,
            })?,
            false => n_actions,
        };
        let head = match settings.algorithm {
            Algorithm::Probs => Head::Values,
            Algorithm::Azero => Head::Logits,
        };
        // Two nets of one shape must not start alike.
        let net = |outputs, number| {
            settings.net.config(shape, n_actions, outputs, settings.seed.wrapping_mul(2).wrapping_add(number))
        };
        Ok(Self {
            game: settings.game.clone(),
            algorithm: settings.algorithm,
            unvisited: settings.unvisited,
            value: net((1, Head::Values), 0),
            action: net((n_outputs, head), 1),
        })
    }

    /// The rules of the game.
    ///
    /// # Errors
    /// When the name is not one that the rules of `G` read.
    pub fn rules<G: Game>(&self) -> Result<G::Rules, ProbsError> {
        match self.game.parse() {
            Ok(rules) => Ok(rules),
            Err(error) => Err(ProbsError::Game(error.to_string())),
        }
    }

    /// Splits buffers of both nets into those of each.
    pub(crate) fn split(&self, state: &TrainState) -> Result<[TrainState; 2], ProbsError> {
        let middle = self.value.layout()?.len();
        let part = |buffer: &[f32], first: bool| {
            let (value, action) = buffer.split_at(middle.min(buffer.len()));
            if first { value.to_vec() } else { action.to_vec() }
        };
        Ok([true, false].map(|first| TrainState {
            step: state.step,
            parameters: part(&state.parameters, first),
            first_moment: part(&state.first_moment, first),
            second_moment: part(&state.second_moment, first),
            average: part(&state.average, first),
        }))
    }
}

/// The buffers of both nets end to end.
pub(crate) fn join([value, action]: [TrainState; 2]) -> TrainState {
    TrainState {
        step: value.step,
        parameters: [value.parameters, action.parameters].concat(),
        first_moment: [value.first_moment, action.first_moment].concat(),
        second_moment: [value.second_moment, action.second_moment].concat(),
        average: [value.average, action.average].concat(),
    }
}

impl NetworkConfig for ModelConfig {
    const KIND: &'static str = "probs";

    fn layout(&self) -> Result<Layout, ConfigError> {
        let mut layout = Layout::default();
        for (prefix, net) in [("value.", &self.value), ("action.", &self.action)] {
            for tensor in net.layout()?.tensors() {
                layout.group([(format!("{prefix}{}", tensor.name), tensor.shape.clone(), tensor.role)]);
            }
        }
        Ok(layout)
    }
}

impl Model {
    /// Reads a model, or the averaged weights of a run's checkpoint.
    ///
    /// # Errors
    /// When the file is no such model, or made with other planes than this program has.
    pub fn load(path: &Path) -> Result<Self, ProbsError> {
        Self::load_for::<Position>(path)
    }

    /// The same for a game outside the six.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_for<G: Planes + FromRules>(path: &Path) -> Result<Self, ProbsError> {
        Self::load_on::<G>(path, Device::Cpu)
    }

    /// The same on another device.
    ///
    /// # Errors
    /// As [`Model::load`], and when the device is not there.
    pub fn load_on<G: Planes + FromRules>(path: &Path, device: Device) -> Result<Self, ProbsError> {
        Self::from_checkpoint::<G>(SmallCheckpoint::load(path, None)?, path, device)
    }

    /// The same from memory, such as nets built into the program; `name` appears in errors.
    ///
    /// # Errors
    /// As [`Model::load_on`].
    pub fn from_bytes<G: Planes + FromRules>(
        name: &Path,
        bytes: &[u8],
        device: Device,
    ) -> Result<Self, ProbsError> {
        Self::from_checkpoint::<G>(SmallCheckpoint::from_bytes(name, bytes, None)?, name, device)
    }

    fn from_checkpoint<G: Planes + FromRules>(
        file: SmallCheckpoint<ModelConfig>,
        path: &Path,
        device: Device,
    ) -> Result<Self, ProbsError> {
        let config = file.config;
        let start = G::start(config.rules::<G>()?);
        let fits = config.value.input == start.shape()
            && config.action.input == start.shape()
            && config.value.n_outputs()? == 1
            && [Some(start.n_actions()), start.n_cells()].contains(&Some(config.action.n_outputs()?));
        if !fits {
            return Err(ProbsError::Shape { path: path.to_owned(), game: config.game });
        }
        Self::from_parameters(config, file.parameters, device)
    }

    /// A model from the parameters of both nets, value net first.
    ///
    /// # Errors
    /// When their number does not fit the shapes, or the device is not there.
    pub fn from_parameters(
        config: ModelConfig,
        parameters: Vec<f32>,
        device: Device,
    ) -> Result<Self, ProbsError> {
        let [value, action] = config.split(&TrainState::new(parameters))?;
        let optimizer = OptimizerSettings::default();
        let value = device.conv_net(config.value.clone(), optimizer.clone(), value)?;
        let action = device.conv_net(config.action.clone(), optimizer, action)?;
        Ok(Self { config, value, action })
    }

    /// Writes a model to ship: averaged weights in bf16.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn save(
        config: &ModelConfig,
        state: &TrainState,
        notes: BTreeMap<String, String>,
        path: &Path,
    ) -> Result<(), ProbsError> {
        let small = SmallCheckpoint {
            config: config.clone(),
            vocabulary: String::new(),
            step: state.step,
            parameters: state.average.clone(),
            notes,
        };
        Ok(small.save(path)?)
    }

    /// Connect Four nets as they begin: what a player with them knows comes from its search alone.
    #[cfg(test)]
    pub(crate) fn untrained(algorithm: crate::Algorithm) -> Self {
        use mavis_game::{Position, Rules};
        use mavis_net::NetworkConfig as _;
        let preset = crate::preset("small", Rules::Connect4).expect("a preset");
        let settings = ProbsSettings { algorithm, ..preset };
        let config = ModelConfig::new(&Position::start(Rules::Connect4), &settings).expect("fits");
        let parameters = [&config.value, &config.action].map(|net| net.initial_parameters().expect("fits"));
        assert_eq!(config.layout().expect("fits").len(), parameters.concat().len());
        Self::from_parameters(config, parameters.concat(), Device::Cpu).expect("fits")
    }
}
