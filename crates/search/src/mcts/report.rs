//! What a search tells.

use super::{
    proof::{Fate, Proof},
    simulator::Simulator,
    tree::{EdgeIdx, NodeIdx},
    world::World,
};
use mavis_game::Move;
use mavis_value::MistakeCounts;

/// The result of a search, final or intermediate.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The move to play; `None` when the game is over at the root.
    pub best: Option<Move>,
    /// Whether `best` comes from no search at all: the root could not be evaluated, or every line is dead.
    pub fallback: bool,
    /// The value of `best` for the side to move at the root, -1 to 1.
    pub value: f32,
    /// What is proven for the side to move at the root.
    pub proof: Proof,
    /// The principal variation, `best` first.
    pub line: Vec<Move>,
    /// Every root move, the most visited first.
    pub moves: Vec<MoveReport>,
    /// What the search did.
    pub counts: Counts,
    /// Why it ended.
    pub stopped: Stopped,
    /// The reason with [`Stopped::Broken`]: nobody should play by such a report.
    pub broken: Option<String>,
}

/// What a search found out about one root move.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveReport {
    /// The move.
    pub mv: Move,
    /// Simulations through it that came back, those of earlier searches of a kept tree included.
    pub visits: u32,
    /// Mean value for the player who makes it, -1 to 1; `None` before the first visit.
    pub value: Option<f32>,
    /// The evaluator's own value of the move, -1 to 1.
    pub model_value: f32,
    /// Its prior probability, noise included.
    pub prior: f32,
    /// What is proven for the player who makes it.
    pub proof: Proof,
    /// Plies after the move until the proven end.
    pub plies_to_end: Option<u32>,
    /// The line that begins with it.
    pub line: Vec<Move>,
}

/// What a search did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Simulations kept from earlier searches of the tree; they count towards the settings' number.
    pub kept: u32,
    /// Simulations begun by this search, whatever became of them.
    pub simulations: u32,
    /// Requests to the evaluator, the root's included.
    pub evaluations: u32,
    /// Simulations that were backed up.
    pub completed: u32,
    /// Of those, the ones that ended in a known result and needed no evaluation.
    pub known: u32,
    /// Evaluations that failed.
    pub failed: u32,
    /// Evaluations given up after the timeout.
    pub timed_out: u32,
    /// Evaluations given up because the search ended.
    pub cancelled: u32,
    /// Hallucinations by kind.
    pub hallucinations: MistakeCounts,
    /// Expanded nodes in the tree.
    pub nodes: usize,
    /// Bytes of the tree.
    pub bytes: usize,
    /// The deepest simulation in plies.
    pub deepest: usize,
    /// The mean depth of simulations, times 100.
    pub mean_depth_percent: u64,
}

impl Counts {
    /// The share of all simulations that a kept tree saved.
    #[must_use]
    pub fn share_saved(&self) -> f64 {
        let all = f64::from(self.kept) + f64::from(self.simulations);
        if all > 0.0 { f64::from(self.kept) / all } else { 0.0 }
    }

    /// Hallucinations of all kinds.
    #[must_use]
    pub fn n_hallucinations(&self) -> u32 {
        self.hallucinations.total() as u32
    }
}

/// Why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// Not yet: this is a report on the way.
    Running,
    /// All simulations were made.
    Simulations,
    /// The deadline came, or the token was cancelled.
    Limit,
    /// The tree reached its most nodes or bytes.
    Full,
    /// The root is proven or dead, or the game is over there.
    Settled,
    /// The root could not be evaluated.
    NoRoot,
    /// The network of the evaluator failed ([`mavis_eval::EvalError::Broken`]).
    Broken,
}

impl<W: World> Simulator<W> {
    /// Every root move, the most visited first; equals by value, then in the evaluator's order.
    pub(crate) fn move_reports(&self) -> Vec<MoveReport> {
        if self.tree.is_empty() {
            return Vec::new();
        }
        let mut reports: Vec<MoveReport> =
            self.tree.edges(NodeIdx::ROOT).map(|edge| self.move_report(edge)).collect();
        reports.sort_by(|a, b| {
            let value = |report: &MoveReport| report.value.unwrap_or(report.model_value);
            b.visits.cmp(&a.visits).then(value(b).total_cmp(&value(a)))
        });
        reports
    }

    /// Counts with what the tree knows filled in.
    pub(crate) fn fill_counts(&self, counts: &Counts) -> Counts {
        Counts {
            nodes: self.tree.nodes.len(),
            bytes: self.tree.bytes(),
            deepest: self.depths.most,
            mean_depth_percent: (self.depths.sum * 100).checked_div(self.depths.n).unwrap_or(0),
            ..counts.clone()
        }
    }

    fn move_report(&self, edge: EdgeIdx) -> MoveReport {
        let (link, stat) = (self.tree.link(edge), self.tree.stat(edge));
        let (proof, plies_to_end) = match link.fate {
            Fate::Proven(proof, plies) => (proof, Some(u32::from(plies))),
            Fate::Dead => (Proof::Dead, None),
            Fate::Open | Fate::Pending | Fate::Ended(_) => (Proof::Unknown, None),
        };
        MoveReport {
            mv: link.mv,
            visits: stat.visits,
            value: self.tree.mean(edge),
            model_value: link.value,
            prior: stat.prior,
            proof,
            plies_to_end,
            line: self.line_from(edge),
        }
    }

    /// The line that begins with a move and continues with the best replies.
    pub(crate) fn line_from(&self, edge: EdgeIdx) -> Vec<Move> {
        let tree = &self.tree;
        let is_proven = |edge: EdgeIdx| matches!(tree.link(edge).fate, Fate::Proven(..));
        let mut last = *tree.link(edge);
        let mut line = vec![last.mv];
        while last.child != NodeIdx::NONE {
            let visited = |&edge: &EdgeIdx| tree.stat(edge).visits > 0 || is_proven(edge);
            let Some(best) = tree.best_edge(last.child).filter(visited) else { break };
            last = *tree.link(best);
            line.push(last.mv);
        }
        // A move that loses to the next one has no node.
        if last.fate == Fate::Proven(Proof::Loss, 1) && last.child == NodeIdx::NONE {
            line.extend(self.world.winning_reply(&line));
        }
        line
    }
}
