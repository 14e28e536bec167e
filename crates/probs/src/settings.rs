//! What a run is: the game, the algorithm and its numbers.
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

use crate::{ProbsError, Size};
use mavis_game::Rules;
use mavis_search::beam;
use serde::{Deserialize, Serialize};

/// Settings of a run. Every one of them is part of the experiment: a run resumes only with those it began with, save the number
/// of rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbsSettings {
    /// The game as users name it: `connect4`, `hex:size=7`.
    pub game: String,
    /// How the nets are improved.
    pub algorithm: Algorithm,
    /// Size of both nets.
    pub net: Size,
    /// Rounds of self-play and training (`N_ITER`).
    pub rounds: u32,
    /// Games of self-play a round (`N_EPISODES`).
    pub games: u32,
    /// A game is cut off after so many plies and counts as drawn (`N_TURNS`).
    pub turns: u32,
    /// States kept of a round; the oldest go first (`C`).
    pub capacity: usize,
    /// Nodes a beam search expands (`E`).
    pub expansions: u32,
    /// Deepest node a beam search expands (`M`).
    pub depth: u32,
    /// Simulations of a move of the AlphaZero-style learner.
    pub simulations: u32,
    /// Weight of the prior against the value in its search.
    pub c_puct: f32,
    /// Part of the move probabilities that is Dirichlet noise (ε).
    pub epsilon: f32,
    /// Concentration of the noise (α).
    pub alpha: f32,
    /// Plies at the start of a game of the AlphaZero-style learner whose move is drawn evenly, whatever the search says; it is learned
    /// from all the same. Games of a run then begin in as many ways as those that others play.
    #[serde(default)]
    pub random_plies: u32,
    /// The ply of such a game from which on the most visited move is played; before it moves are drawn in proportion to visits. `None`
    /// means that all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn_plies: Option<u32>,
    /// What a move without visits counts as in its search.
    #[serde(default)]
    pub unvisited: Unvisited,
    /// Temperature of the softmax over q-values in self-play; 1 in paper 004.
    pub temperature: f32,
    /// Learning rate of both nets in the first round.
    pub learning_rate: f32,
    /// Factor on the learning rate from round to round.
    pub learning_rate_decay: f32,
    /// States of a minibatch.
    pub batch: usize,
    /// Passes over the states of a round.
    pub epochs: u32,
    /// Whether a state is shown under a random symmetry of its game.
    pub symmetries: bool,
    /// Decay of the running average of the weights, which is what is rated and shipped; 0 means the weights themselves.
    pub average_decay: f32,
    /// How strength is followed.
    pub evaluation: Evaluation,
    /// Everything random follows from it.
    pub seed: u64,
}

/// What a move without visits counts as in the search of the AlphaZero-style learner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unvisited {
    /// A draw, whatever the position is worth.
    #[default]
    Draw,
    /// What the value net says of the position before it. Where most positions are won or lost, as in Hex, a draw would make a search that
    /// is losing try every move once, and one that is winning stay with the first.
    Parent,
}

impl Unvisited {
    /// Whether files leave it out.
    pub(crate) fn is_draw(&self) -> bool {
        *self == Self::Draw
    }
}

/// How the nets are improved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Q learns the results of beam searches (paper 004).
    Probs,
    /// The policy learns the visit counts of MCTS, as AlphaZero does.
    Azero,
}

/// Matches against the four agents of paper 004.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Rounds from one evaluation to the next; the last round is always one.
    pub every: u32,
    /// Games against each agent, half of them with each side.
    pub games: u32,
    /// The deepest lookahead agent that takes part, up to 3; scanning three plies of a large board takes long.
    pub plies: u32,
}

impl std::str::FromStr for Algorithm {
    type Err = ProbsError;

    fn from_str(text: &str) -> Result<Self, ProbsError> {
        match text {
            "probs" => Ok(Self::Probs),
            "azero" => Ok(Self::Azero),
            _ => Err(ProbsError::Unknown {
                what: "algorithm",
                value: text.to_owned(),
                known: "probs azero".to_owned(),
            }),
        }
    }
}

impl ProbsSettings {
    /// The rules of the game, if it is one of the six.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn rules(&self) -> Result<Rules, ProbsError> {
        self.game.parse().map_err(|error: mavis_game::UnknownRules| ProbsError::Game(error.to_string()))
    }

    /// Checks every range. The game is checked where its type is known.
    ///
    /// # Errors
    /// The first setting that is out of it.
    pub fn validate(&self) -> Result<(), ProbsError> {
        let unit = |x: f32| (0.0..=1.0).contains(&x);
        let positive = |x: f32| x.is_finite() && x > 0.0;
        let checks = [
            ("rounds", self.rounds.to_string(), self.rounds > 0, "above 0"),
            ("games", self.games.to_string(), self.games > 0, "above 0"),
            ("turns", self.turns.to_string(), self.turns > 0, "above 0"),
            ("capacity", self.capacity.to_string(), self.capacity > 0, "above 0"),
            ("expansions", self.expansions.to_string(), self.expansions > 0, "above 0"),
            ("depth", self.depth.to_string(), self.depth > 0, "above 0"),
            ("simulations", self.simulations.to_string(), self.simulations > 0, "above 0"),
            ("c_puct", self.c_puct.to_string(), positive(self.c_puct), "above 0"),
            ("epsilon", self.epsilon.to_string(), unit(self.epsilon), "from 0 to 1"),
            ("alpha", self.alpha.to_string(), positive(self.alpha), "above 0"),
            ("temperature", self.temperature.to_string(), positive(self.temperature), "above 0"),
            ("learning_rate", self.learning_rate.to_string(), positive(self.learning_rate), "above 0"),
            (
                "learning_rate_decay",
                self.learning_rate_decay.to_string(),
                unit(self.learning_rate_decay) && self.learning_rate_decay > 0.0,
                "above 0 and at most 1",
            ),
            ("batch", self.batch.to_string(), self.batch > 0, "above 0"),
            ("epochs", self.epochs.to_string(), self.epochs > 0, "above 0"),
            (
                "average_decay",
                self.average_decay.to_string(),
                unit(self.average_decay) && self.average_decay < 1.0,
                "from 0 to below 1",
            ),
            ("evaluation.every", self.evaluation.every.to_string(), self.evaluation.every > 0, "above 0"),
            (
                "evaluation.games",
                self.evaluation.games.to_string(),
                self.evaluation.games > 0 && self.evaluation.games.is_multiple_of(2),
                "even and above 0",
            ),
            (
                "evaluation.plies",
                self.evaluation.plies.to_string(),
                self.evaluation.plies <= 3,
                "from 0 to 3",
            ),
        ];
        match checks.into_iter().find(|(_, _, good, _)| !good) {
            Some((field, value, _, requirement)) => Err(ProbsError::Setting { field, value, requirement }),
            None => Ok(()),
        }
    }

    /// The settings of a beam search.
    #[must_use]
    pub fn beam(&self) -> beam::BeamSettings {
        beam::BeamSettings { expansions: self.expansions, depth: self.depth }
    }

    /// The learning rate of a round, counted from 0.
    #[must_use]
    pub fn rate(&self, round: u32) -> f32 {
        self.learning_rate * self.learning_rate_decay.powi(i32::try_from(round).unwrap_or(i32::MAX))
    }
}
