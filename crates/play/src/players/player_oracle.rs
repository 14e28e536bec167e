//! A player as an oracle.

use crate::{Analysis, Limit, MoveAnalysis, Player, PlayerError, Turn};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_oracle::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};

/// Judges positions by what a player thinks of every move, each position as the first of a new game.
///
/// Only players with a value for every legal move can judge: those over models, predictors and oracles, with or without search.
pub struct PlayerOracle {
    player: Box<dyn Player>,
    identity: Identity,
}

impl PlayerOracle {
    /// An oracle over a player; `settings` is what its rankings depend on, for the tables that keep them.
    #[must_use]
    pub fn new(player: Box<dyn Player>, settings: String) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let identity = Identity { name: format!("player {}", player.name()), version, settings };
        Self { player, identity }
    }

    fn no_answer(&self, position: &Position, reason: String) -> OracleError {
        OracleError::NoAnswer { oracle: self.identity.name.clone(), position: position.to_string(), reason }
    }

    fn broken(&self, reason: String) -> OracleError {
        OracleError::Broken { oracle: self.identity.name.clone(), reason }
    }
}

impl Oracle for PlayerOracle {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        match self.player.ready_for(rules) {
            Ok(()) => Ok(()),
            Err(PlayerError::Broken(reason)) => Err(self.broken(reason)),
            Err(_) => Err(OracleError::WrongGame { oracle: self.identity.name.clone(), rules }),
        }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let rules = position.rules();
        if position.outcome().is_some() {
            return Err(OracleError::GameOver { position: position.to_string() });
        }
        self.ready_for(rules)?;
        // A ranking does not depend on the positions asked about before.
        self.player.reseed(0);
        self.player.new_game(rules);
        let mut ignore = |_: &crate::Thought| {};
        let analysis = self
            .player
            .analyze(&mut Turn::alone(position, Limit::default(), &mut ignore))
            .map_err(|error| match error {
                PlayerError::Broken(reason) => self.broken(reason),
                error => self.no_answer(position, error.to_string()),
            })?;
        match rates(position, &analysis) {
            Ok(rates) => Ok(Ranking {
                moves: rates
                    .into_iter()
                    .map(|(mv, rate)| RankedMove::new(rules, mv, Score::WinRate(rate), None))
                    .collect(),
            }),
            Err(mv) => {
                let reason = format!("it has no value for the move {}", position.move_text(mv));
                Err(self.no_answer(position, reason))
            }
        }
    }
}

/// Every legal move with its value, the player's choice first; a move without any is the error.
///
/// A move that was searched little can have a higher value by luck; the player did not choose it, so its value counts for at most
/// that of the choice.
fn rates(position: &Position, analysis: &Analysis) -> Result<Vec<(Move, f32)>, Move> {
    let value = |mv: Move| {
        let known: Option<&MoveAnalysis> = analysis.moves.iter().find(|known| known.mv == mv);
        known.and_then(|known| known.value.or(known.model_value)).ok_or(mv)
    };
    let chosen = analysis.choice.mv;
    let most = value(chosen)?;
    let mut rates = vec![(chosen, most)];
    for mv in position.legal_moves() {
        if mv != chosen {
            rates.push((mv, value(mv)?.min(most)));
        }
    }
    // A stable sort: the choice stays first among equals.
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(rates)
}
