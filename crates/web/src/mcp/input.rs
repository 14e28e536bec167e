//! What a tool call may carry. The doc comments are the descriptions that the calling model reads.

use crate::wire::{Place, ThinkRequest};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// The player who is asked unless the call names another.
pub(super) const USUAL: &str = "mav-mcts:sims=100,batch=8";

/// A state of a game.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct StateInput {
    /// The game whose rules hold: chess, chess960, connect4, hex (hex:size=7,swap), othello or togyz
    dynamics: String,
    /// Position text (a FEN in chess); the usual start if absent
    #[serde(default)]
    state: Option<String>,
    /// Moves played since that state, in SAN, UCI or the game's own text
    #[serde(default)]
    moves: Vec<String>,
}

impl StateInput {
    pub(super) fn place(self) -> Place {
        Place { game: self.dynamics, start: self.state, moves: self.moves }
    }
}

impl From<Place> for StateInput {
    fn from(place: Place) -> Self {
        Self { dynamics: place.game, state: place.start, moves: place.moves }
    }
}

/// What the choice should reach.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Objective {
    /// The player's own choice, which is its best move
    #[default]
    Win,
    /// The move whose win probability is nearest to one half, to keep a game open against a weaker opponent
    Even,
    /// The move with the lowest win probability
    Lose,
}

/// A state, an objective, and who thinks about it.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct ThinkInput {
    #[serde(flatten)]
    pub(super) state: StateInput,
    /// What the choice should reach; win if absent
    #[serde(default)]
    pub(super) objective: Option<Objective>,
    /// Player line, such as mav (no search) or mav-mcts:sims=400; the model with a short search if absent
    #[serde(default)]
    pub(super) player: Option<String>,
    /// Seconds to think at most
    #[serde(default)]
    pub(super) seconds: Option<f64>,
}

impl ThinkInput {
    pub(super) fn of(state: StateInput, player: &str) -> Self {
        Self { state, objective: None, player: Some(player.to_owned()), seconds: None }
    }

    pub(super) fn request(self) -> ThinkRequest {
        ThinkRequest {
            place: self.state.place(),
            player: self.player.unwrap_or_else(|| USUAL.to_owned()),
            seconds: self.seconds,
            nodes: None,
            clock: None,
            seed: None,
        }
    }
}

/// A state and a move in it.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PlayInput {
    #[serde(flatten)]
    pub(super) state: StateInput,
    /// The move to play
    pub(super) r#move: String,
}

/// A state and two moves in it.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareInput {
    #[serde(flatten)]
    pub(super) state: StateInput,
    /// One move
    pub(super) first: String,
    /// The other move
    pub(super) second: String,
    /// Player line; the model with a short search if absent
    #[serde(default)]
    pub(super) player: Option<String>,
}
