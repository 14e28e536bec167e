//! An oracle made of trained nets: `net:NAME` or `net:FILE`.

use crate::{
    Algorithm, Model, ProbsError, Unvisited,
    batch::Asker,
    player::beam_values,
    puct::{Tree, priors},
};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_net::{Device, Weights};
use mavis_oracle::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use mavis_search::beam;
use std::{path::Path, sync::Arc};

/// Exploration of the search, as in self-play and in the player.
const C_PUCT: f32 = 2.0;

/// Judges positions of one game by a search over trained nets: MCTS for an AlphaZero-style model, a beam search for PROBS.
///
/// Searches of the positions it is given together run in step, so that a net sees one batch for all of them.
#[derive(Clone)]
pub struct NetOracle {
    model: Arc<Model>,
    rules: Rules,
    name: String,
    simulations: u32,
}

impl NetOracle {
    /// An oracle with the nets of a file, which looks at `simulations` nodes for a position.
    ///
    /// # Errors
    /// When the file is no such model, or the device is not there.
    pub fn load(path: &Path, simulations: u32, device: Device) -> Result<Self, ProbsError> {
        let bytes = std::fs::read(path).map_err(|source| ProbsError::File {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(path, &bytes, simulations, device)
    }

    /// The same with nets in memory; `name` appears in errors.
    ///
    /// # Errors
    /// As [`NetOracle::load`].
    pub fn from_bytes(
        name: &Path,
        bytes: &[u8],
        simulations: u32,
        device: Device,
    ) -> Result<Self, ProbsError> {
        let model = Model::from_bytes::<Position>(name, bytes, device)?;
        let rules = model.config.rules::<Position>()?;
        // The content and not the path: a table says by which weights it was made, wherever they lie.
        let name = format!("net-{:016x}", mavis_stable::seed::hash_bytes(0, bytes));
        Ok(Self { model: Arc::new(model), rules, name, simulations: simulations.max(1) })
    }

    /// Win rates of every legal move of each position, best first.
    fn rates(&self, positions: &[&Position]) -> Result<Vec<Vec<(Move, f32)>>, ProbsError> {
        let value = Asker::new(&*self.model.value, Weights::Live);
        let action = Asker::new(&*self.model.action, Weights::Live);
        match self.model.config.algorithm {
            Algorithm::Azero => {
                let unvisited = self.model.config.unvisited;
                simulate_in_step(positions, (self.simulations, unvisited), (&value, &action))
            }
            Algorithm::Probs => {
                let settings = beam::BeamSettings { expansions: self.simulations, depth: 99 };
                positions
                    .iter()
                    .map(|position| beam_values(*position, &settings, (&value, &action)))
                    .collect()
            }
        }
    }
}

/// One tree a position. A quarter of the simulations goes to the moves in turn, since every move needs a value and not only the best.
fn simulate_in_step(
    positions: &[&Position],
    (simulations, unvisited): (u32, Unvisited),
    (value, policy): (&Asker<'_>, &Asker<'_>),
) -> Result<Vec<Vec<(Move, f32)>>, ProbsError> {
    let mut trees: Vec<Tree<Position>> =
        positions.iter().map(|&position| Tree::new(position.clone(), unvisited)).collect();
    loop {
        let mut waiting = Vec::new();
        for tree in &mut trees {
            while !tree.is_expanded() || tree.visits() < simulations.max(tree.n_moves()) {
                let number = tree.visits();
                let forced = (number < tree.n_moves() || number.is_multiple_of(4)).then_some(number);
                if tree.select_from(forced, C_PUCT).is_some() {
                    waiting.push(tree);
                    break;
                }
            }
        }
        if waiting.is_empty() {
            return Ok(trees.iter().map(preferred).collect());
        }
        let leaves: Vec<&Position> = waiting.iter().map(|tree| tree.leaf()).collect();
        let (values, logits) = (value.ask(&leaves)?, policy.ask(&leaves)?);
        for (index, tree) in waiting.iter_mut().enumerate() {
            tree.feed(priors(tree.leaf(), logits.row(index)), values.first(index));
        }
    }
}

/// Means of the moves, the most visited one first. A move tried a few times can have a higher mean by luck; the search has not
/// preferred it, so its mean counts for at most that of the first.
fn preferred(tree: &Tree<Position>) -> Vec<(Move, f32)> {
    let mut moves = tree.means();
    moves.sort_by_key(|&(_, _, visits)| std::cmp::Reverse(visits));
    let most = moves.first().map_or(0.0, |&(_, mean, _)| mean);
    let mut means: Vec<(Move, f32)> = moves.into_iter().map(|(mv, mean, _)| (mv, mean.min(most))).collect();
    // A stable sort: among equals the move with more visits stays first.
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    means
}

impl Oracle for NetOracle {
    fn identity(&self) -> Identity {
        Identity {
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: format!("sims={}", self.simulations),
        }
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        match rules == self.rules {
            true => Ok(()),
            false => Err(OracleError::WrongGame { oracle: self.name.clone(), rules }),
        }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        self.evaluate_all(std::slice::from_ref(position)).remove(0)
    }

    fn evaluate_all(&mut self, positions: &[Position]) -> Vec<Result<Ranking, OracleError>> {
        let refused = |position: &Position| match position.rules() {
            rules if rules != self.rules => Some(OracleError::WrongGame { oracle: self.name.clone(), rules }),
            _ if position.outcome().is_some() => {
                Some(OracleError::GameOver { position: position.to_string() })
            }
            _ => None,
        };
        let open: Vec<&Position> = positions.iter().filter(|&position| refused(position).is_none()).collect();
        let rates =
            self.rates(&open).map_err(|error| (matches!(error, ProbsError::Net(_)), error.to_string()));
        let mut rates = rates.map(Vec::into_iter);
        let rank = |position: &Position| {
            if let Some(error) = refused(position) {
                return Err(error);
            }
            let moves = match &mut rates {
                Ok(rates) => rates.next().unwrap_or_default(),
                Err((is_broken, reason)) => {
                    let (oracle, reason) = (self.name.clone(), reason.clone());
                    return Err(match is_broken {
                        true => OracleError::Broken { oracle, reason },
                        false => OracleError::NoAnswer { oracle, position: position.to_string(), reason },
                    });
                }
            };
            let ranked = |(mv, value): (Move, f32)| {
                let rate = (0.5 + 0.5 * value).clamp(0.0, 1.0);
                RankedMove::new(self.rules, mv, Score::WinRate(rate), None)
            };
            Ok(Ranking { moves: moves.into_iter().map(ranked).collect() })
        };
        positions.iter().map(rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untrained(algorithm: Algorithm, simulations: u32) -> NetOracle {
        let model = Arc::new(Model::untrained(algorithm));
        NetOracle { model, rules: Rules::Connect4, name: "net".to_owned(), simulations }
    }

    fn after(columns: &str) -> Position {
        let mut position = Position::start(Rules::Connect4);
        for column in columns.split_whitespace() {
            position.play(position.parse_move(column).expect("a move")).expect("legal");
        }
        position
    }

    #[test]
    fn every_move_is_judged_and_a_win_at_once_is_first() {
        let win = after("4 1 4 1 4 1");
        let threatened = after("4 1 4 1 4");
        for algorithm in [Algorithm::Azero, Algorithm::Probs] {
            let mut oracle = untrained(algorithm, 300);
            for position in [&win, &threatened] {
                let ranking = oracle.evaluate(position).expect("judged");
                assert_eq!(ranking.moves.len(), 7);
                assert_eq!(ranking.best(), position.parse_move("4").ok(), "{algorithm:?}: {ranking:?}");
                assert!(ranking.moves.iter().all(|mv| (0.0..=1.0).contains(&mv.win_probability)));
            }
            assert_eq!(oracle.evaluate(&win).expect("judged").moves[0].win_probability, 1.0);
        }
    }

    #[test]
    fn company_does_not_change_a_verdict_and_others_are_refused() {
        let mut oracle = untrained(Algorithm::Azero, 40);
        let over = after("4 1 4 1 4 1 4");
        let mixed = [after("4 4"), over, Position::start(Rules::Othello), after("1 2 3")];
        let found = oracle.evaluate_all(&mixed);
        assert!(matches!(found[1], Err(OracleError::GameOver { .. })));
        assert!(matches!(found[2], Err(OracleError::WrongGame { .. })));
        for idx in [0, 3] {
            let alone = oracle.evaluate(&mixed[idx]).expect("judged");
            assert_eq!(found[idx].as_ref().expect("judged"), &alone);
        }
    }

    /// A move that no simulation would choose has a value all the same, also where simulations are fewer than moves.
    #[test]
    fn few_simulations_still_try_every_move() {
        let ranking = untrained(Algorithm::Azero, 1).evaluate(&after("")).expect("judged");
        assert_eq!(ranking.moves.len(), 7);
    }
}
