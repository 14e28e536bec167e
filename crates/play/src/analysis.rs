//! What a player thinks of every move.

use crate::{Choice, Limit, Thought};
use mavis_eval::SharedDistribution;
use mavis_game::Move;

/// A choice, and what the player thinks of each move.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The move to play.
    pub choice: Choice,
    /// Moves with an opinion, best first; at least the chosen one.
    pub moves: Vec<MoveAnalysis>,
}

/// What a player thinks of one move. What it has no notion of is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveAnalysis {
    /// The move.
    pub mv: Move,
    /// Win probability of the player who makes it, 0 to 1.
    pub value: Option<f32>,
    /// The evaluator's own value before any search, 0 to 1.
    pub model_value: Option<f32>,
    /// Simulations through it.
    pub visits: Option<u32>,
    /// Its prior probability.
    pub prior: Option<f32>,
    /// Score in centipawns, where the player thinks in them.
    pub centipawns: Option<i32>,
    /// Moves to a certain end: above 0 a win, below 0 a loss.
    pub mate: Option<i32>,
    /// Weights of the 64 value buckets, where the evaluator has them.
    pub distribution: Option<SharedDistribution>,
    /// The expected line, the move first.
    pub line: Vec<Move>,
}

impl MoveAnalysis {
    /// A move without an opinion.
    #[must_use]
    pub fn plain(mv: Move) -> Self {
        Self {
            mv,
            value: None,
            model_value: None,
            visits: None,
            prior: None,
            centipawns: None,
            mate: None,
            distribution: None,
            line: vec![mv],
        }
    }

    /// The same as one line of thought.
    #[must_use]
    pub fn thought(&self, rank: u32, nodes: u64) -> Thought {
        Thought {
            depth: u32::try_from(self.line.len()).unwrap_or(u32::MAX),
            rank,
            value: self.value,
            centipawns: self.centipawns,
            mate: self.mate,
            nodes,
            line: self.line.clone(),
            ..Thought::default()
        }
    }
}

impl Analysis {
    /// An analysis whose first move is the choice; `None` without moves.
    #[must_use]
    pub fn of_moves(moves: Vec<MoveAnalysis>, nodes: u64) -> Option<Self> {
        let best = moves.first()?;
        let choice = Choice { mv: best.mv, thought: best.thought(1, nodes) };
        Some(Self { choice, moves })
    }

    /// Reports the best lines, as many as the limit requests, best first.
    pub fn report(&self, limit: &Limit, sink: &mut dyn FnMut(&Thought)) {
        let n_lines = (limit.lines.max(1) as usize).min(self.moves.len());
        let nodes = self.choice.thought.nodes;
        sink(&self.choice.thought);
        for (line, rank) in self.moves.iter().take(n_lines).zip(1..).skip(1) {
            sink(&line.thought(rank, nodes));
        }
    }
}

impl From<Choice> for Analysis {
    fn from(choice: Choice) -> Self {
        let thought = &choice.thought;
        let mut line = thought.line.clone();
        if line.first() != Some(&choice.mv) {
            line = vec![choice.mv];
        }
        let only = MoveAnalysis {
            value: thought.value,
            centipawns: thought.centipawns,
            mate: thought.mate,
            line,
            ..MoveAnalysis::plain(choice.mv)
        };
        Self { moves: vec![only], choice }
    }
}
