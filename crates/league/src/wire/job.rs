//! A game to play, as it travels between machines.

use crate::openings::Opening;
use crate::pairing::GamePlan;
use crate::runner::GameInput;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a job of kind `game` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GameInputWire {
    config: String,
    players: BTreeMap<String, String>,
    game: u64,
    pair: u64,
    first: usize,
    second: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    opening: Vec<String>,
}

impl From<&GameInput> for GameInputWire {
    fn from(input: &GameInput) -> Self {
        let GameInput { config, players, plan, opening } = input.clone();
        Self {
            config: config.to_string(),
            players: (*players).clone(),
            game: plan.game,
            pair: plan.pair,
            first: plan.first,
            second: plan.second,
            start: opening.start,
            opening: opening.moves,
        }
    }
}

impl From<GameInputWire> for GameInput {
    fn from(wire: GameInputWire) -> Self {
        let GameInputWire { config, players, game, pair, first, second, start, opening } = wire;
        Self {
            config: config.into(),
            players: Arc::new(players),
            plan: GamePlan { game, pair, first, second },
            opening: Opening { start, moves: opening },
        }
    }
}
