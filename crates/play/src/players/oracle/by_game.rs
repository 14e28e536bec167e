//! One oracle for every game that has one.

use mavis_game::{Game as _, Position, Rules};
use mavis_oracle::{
    Effort, Identity, Oracle, OracleError, Ranking,
    connect4::Connect4Solver,
    engine::{EngineSettings, Limit, UciOracle},
    hex::{HexOracle, HexSettings},
    othello::{OthelloOracle, OthelloSettings},
    process::EngineError,
    togyz::TogyzOracle,
};
use std::path::PathBuf;

/// The engine that judges chess, and how far every oracle looks.
#[derive(Clone, Debug)]
pub struct EngineSpec {
    /// The program; `Err` with the reason when it is not there, which matters only once chess is played.
    pub program: Result<PathBuf, String>,
    /// Options of the engine.
    pub options: Vec<(String, String)>,
    /// When its searches end.
    pub limit: Limit,
    /// What the searches of the other games spend (playouts for nodes in Hex); `None` means their defaults.
    pub effort: Option<Effort>,
}

/// Asks the oracle of whichever game a position belongs to; each is started when it is first needed.
pub struct GameOracle {
    spec: EngineSpec,
    started: Vec<(Rules, Box<dyn Oracle>)>,
}

impl GameOracle {
    /// An oracle for all games that have one.
    #[must_use]
    pub fn new(spec: EngineSpec) -> Self {
        Self { spec, started: Vec::new() }
    }

    fn start(&self, rules: Rules) -> Result<Box<dyn Oracle>, OracleError> {
        let effort = self.spec.effort;
        Ok(match rules {
            Rules::Connect4 => Box::new(Connect4Solver::default()),
            Rules::Othello => {
                let default = OthelloSettings::default();
                let effort = effort.unwrap_or(default.effort);
                Box::new(OthelloOracle::new(OthelloSettings { effort, ..default }))
            }
            Rules::Togyz => Box::new(effort.map_or_else(TogyzOracle::default, TogyzOracle::new)),
            Rules::Chess | Rules::Chess960 => Box::new(self.engine(rules)?),
            Rules::Hex { .. } => Box::new(HexOracle::new(self.hex_settings())),
        })
    }

    /// Playouts as nodes; a limit of time alone lifts their number.
    fn hex_settings(&self) -> HexSettings {
        let default = HexSettings::default();
        let time = match self.spec.limit {
            Limit::Time(time) => Some(time),
            Limit::Nodes(_) | Limit::Depth(_) => None,
        };
        let playouts = self.spec.effort.map(|effort| u32::try_from(effort.nodes).unwrap_or(u32::MAX));
        let usual = if time.is_some() { u32::MAX } else { default.playouts };
        let playouts = playouts.filter(|&playouts| playouts < u32::MAX).unwrap_or(usual);
        HexSettings { playouts, time, ..default }
    }

    fn engine(&self, rules: Rules) -> Result<UciOracle, OracleError> {
        let failed = |source| OracleError::Engine { position: rules.to_string(), source };
        let missing = |reason: &String| {
            failed(EngineError::Nonsense { expected: "a chess engine", got: reason.clone() })
        };
        let program = self.spec.program.as_ref().map_err(missing)?;
        let mut settings = EngineSettings::new(program.clone(), self.spec.limit);
        settings.options.clone_from(&self.spec.options);
        UciOracle::start(settings).map_err(failed)
    }
}

impl Oracle for GameOracle {
    fn identity(&self) -> Identity {
        Identity {
            name: "oracle".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: self.spec.limit.to_string(),
        }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        // One engine judges both kinds of chess, and one search all boards of Hex.
        let rules = match position.rules() {
            Rules::Chess960 => Rules::Chess,
            Rules::Hex { .. } => Rules::HEX,
            other => other,
        };
        let at = match self.started.iter().position(|(known, _)| *known == rules) {
            Some(at) => at,
            None => {
                self.started.push((rules, self.start(rules)?));
                self.started.len() - 1
            }
        };
        self.started[at].1.evaluate(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn hex(limit: Limit, effort: Option<Effort>) -> (u32, Option<Duration>) {
        let program = Err("not needed".to_owned());
        let oracle = GameOracle::new(EngineSpec { program, options: Vec::new(), limit, effort });
        let HexSettings { playouts, time, .. } = oracle.hex_settings();
        (playouts, time)
    }

    #[test]
    fn hex_takes_nodes_as_playouts_and_time_lifts_their_usual_number() {
        let (nodes, second) = (Limit::Nodes(100_000), Duration::from_secs(1));
        let effort = Some(Effort { depth: 60, nodes: 500 });
        assert_eq!(hex(nodes, None), (HexSettings::default().playouts, None));
        assert_eq!(hex(nodes, effort), (500, None));
        assert_eq!(hex(Limit::Time(second), None), (u32::MAX, Some(second)));
        assert_eq!(hex(Limit::Time(second), effort), (500, Some(second)));
    }
}
