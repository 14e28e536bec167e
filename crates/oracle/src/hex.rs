//! Hex: win rates by Monte Carlo tree search, and an exact solver for what is within its reach.

mod board;
mod circuit;
mod connections;
mod field;
mod graph;
mod inferior;
mod playout;
mod solver;
mod tree;

use crate::oracle::{refuse_finished, refuse_other};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use field::Field;
use mavis_game::{Game, Hex, Move, Position, Rules};
pub use solver::{HexSolver, Solved};
use std::time::{Duration, Instant};
use tree::Tree;

/// How a Hex position is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HexSettings {
    /// Most playouts for a position.
    pub playouts: u32,
    /// Time for a position, after which its playouts end; the ranking then depends on the machine. `None` means no limit.
    pub time: Option<Duration>,
    /// Positions the exact solver may look at first; 0 leaves it out.
    pub solver_nodes: u64,
    /// Seed of the playouts; each position starts from it, so the order of positions does not matter.
    pub seed: u64,
}

impl Default for HexSettings {
    fn default() -> Self {
        Self { playouts: 20_000, time: None, solver_nodes: 200, seed: 0 }
    }
}

/// Judges Hex positions on boards of any size; its exact solver looks at those of up to 11x11.
#[derive(Default)]
pub struct HexOracle {
    settings: HexSettings,
}

impl HexOracle {
    /// An oracle with these settings.
    #[must_use]
    pub fn new(settings: HexSettings) -> Self {
        Self { settings }
    }

    /// Win or loss of every placement, if the solver gets that far.
    fn solve(&self, position: &Hex, deadline: Option<Instant>) -> Option<Vec<Move>> {
        (self.settings.solver_nodes > 0).then_some(())?;
        // A solver of its own for each position: what it remembers must not decide what is within reach.
        match HexSolver::new(self.settings.solver_nodes).until(deadline).winning_moves(position) {
            Ok(Solved::Yes(winning)) => Some(winning),
            Ok(Solved::OutOfReach) | Err(_) => None,
        }
    }

    /// The win rate of every placement for the side to move, best first.
    fn rates(&self, position: &Hex, deadline: Option<Instant>) -> Vec<(Move, f32)> {
        let field = Field::new(position, position.side_to_move());
        let rates = Tree::new(self.settings.seed).rates(&field, self.settings.playouts, deadline);
        rates.into_iter().map(|(cell, rate)| (Move(cell as u16), rate)).collect()
    }
}

impl Oracle for HexOracle {
    fn identity(&self) -> Identity {
        let HexSettings { playouts, time, solver_nodes, seed } = self.settings;
        let time = time.map_or_else(String::new, |time| format!(" movetime={}", time.as_millis()));
        Identity::ours(
            "hex-mcts",
            format!("playouts={playouts}{time} solver_nodes={solver_nodes} seed={seed}"),
        )
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, matches!(rules, Rules::Hex { .. }))
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let rules = position.rules();
        let Position::Hex(position) = position else {
            return Err(OracleError::WrongGame { oracle: self.identity().name, rules });
        };
        refuse_finished(position)?;
        let begin = Instant::now();
        // The second half of the time is for the board after a swap.
        let share = self.settings.time.map(|time| if position.may_swap() { time / 2 } else { time });
        // The solver comes first, so that playouts fill what it leaves of the time, which is most of it.
        let solved = self.solve(position, share.map(|share| begin + share / 4));
        let mut moves = judged(rules, &self.rates(position, share.map(|share| begin + share)));
        if let Some(winning) = solved {
            for ranking in &mut moves {
                let sign = if winning.contains(&ranking.mv) { 1 } else { -1 };
                *ranking = RankedMove::new(rules, ranking.mv, Score::Solved(sign), None);
            }
            // Winning moves first, among equals those the playouts like better.
            moves.sort_by(|a, b| b.win_probability.total_cmp(&a.win_probability));
        }
        if position.may_swap() {
            let mut swapped = *position;
            swapped.play_unchecked(Hex::SWAP);
            let replies = self.rates(&swapped, self.settings.time.map(|time| begin + time));
            let best = replies.first().map_or(0.5, |&(_, rate)| rate);
            let ranking = RankedMove::new(rules, Hex::SWAP, Score::WinRate(1.0 - best), None);
            let at = moves.partition_point(|known| known.win_probability >= ranking.win_probability);
            moves.insert(at, ranking);
        }
        Ok(Ranking { moves })
    }
}

fn judged(rules: Rules, rates: &[(Move, f32)]) -> Vec<RankedMove> {
    rates.iter().map(|&(mv, rate)| RankedMove::new(rules, mv, Score::WinRate(rate), None)).collect()
}
