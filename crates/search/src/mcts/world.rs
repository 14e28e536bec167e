//! Where states, legal moves and ends come from: the rules, or the evaluator's own answers.

use super::tree::NodeIdx;
use mavis_eval::{EndOrMoves, EvalError, Evaluation, Request};
use mavis_game::{Game, Move, Outcome, Side};
use mavis_value::{Mistake, Scoring};
use std::sync::Arc;

/// What a simulation needs to know of the world to walk down the tree.
pub(crate) trait World {
    /// The place of a simulation in the tree.
    type Cursor;

    /// What the root is.
    type Root: Game;

    /// The real position at the root.
    fn root(&self) -> &Self::Root;

    /// At the root.
    fn start(&self) -> Self::Cursor;

    /// Takes a move from a node.
    fn enter(&self, cursor: &mut Self::Cursor, node: NodeIdx, mv: Move);

    /// Whether the game is over at a place never seen before, without asking the evaluator.
    fn end(&self, cursor: &Self::Cursor) -> Option<Outcome>;

    /// A move that wins at once there, as far as that is known without asking the evaluator.
    fn winning_move(&self, cursor: &Self::Cursor) -> Option<Move>;

    /// A move that wins at once after a line from the root.
    fn winning_reply(&self, line: &[Move]) -> Option<Move> {
        let mut cursor = self.start();
        // By the rules a move is the same from every node.
        line.iter().for_each(|&mv| self.enter(&mut cursor, NodeIdx::NONE, mv));
        self.winning_move(&cursor)
    }

    /// Whose turn it is at the root.
    fn side_to_move(&self) -> Side {
        self.root().side_to_move()
    }

    /// Plies played before the root.
    fn ply(&self) -> u32 {
        self.root().ply()
    }
}

/// A world that an asynchronous search can ask about.
pub(crate) trait Asked: World {
    /// The state at a leaf, where it is known before the evaluator was asked.
    fn state<'a>(&self, cursor: &'a Self::Cursor) -> Option<&'a Self::Root>;

    /// The question at a leaf.
    fn request(&self, cursor: Self::Cursor) -> Request<Self::Root>;

    /// The question at the root.
    fn root_request(&self) -> Request<Self::Root>;

    /// What the answer means: an end, or moves with win probabilities into `moves`.
    fn read(
        &self,
        request: &Request<Self::Root>,
        evaluation: &Evaluation<Self::Root>,
        scoring: Scoring,
        moves: &mut Vec<(Move, f32)>,
    ) -> Result<Option<Outcome>, EvalError>;

    /// Keeps what the answer says of the state of a new node.
    fn keep(&mut self, node: NodeIdx, evaluation: &Evaluation<Self::Root>);
}

/// The rules of a game.
#[derive(Clone, Debug)]
pub(crate) struct ByRules<G> {
    pub(crate) root: G,
}

impl<G: Game> World for ByRules<G> {
    type Cursor = G;
    type Root = G;

    fn root(&self) -> &G {
        &self.root
    }

    fn start(&self) -> G {
        self.root.clone()
    }

    fn enter(&self, cursor: &mut G, _: NodeIdx, mv: Move) {
        cursor.play_unchecked(mv);
    }

    fn end(&self, cursor: &G) -> Option<Outcome> {
        // Whoever gains by a draw will claim it, so inside the tree a draw that can be claimed is one.
        cursor.outcome().or_else(|| cursor.claimable_draw().then_some(Outcome::Draw))
    }

    fn winning_move(&self, cursor: &G) -> Option<Move> {
        cursor.winning_move()
    }
}

impl<G: Game> Asked for ByRules<G> {
    fn state<'a>(&self, cursor: &'a G) -> Option<&'a G> {
        Some(cursor)
    }

    fn request(&self, cursor: G) -> Request<G> {
        Request::running(cursor)
    }

    fn root_request(&self) -> Request<G> {
        Request::running(self.root.clone())
    }

    /// The legal moves with the values listed for them. One that is not listed gets the lowest value that is; listed
    /// moves that are not legal are passed over.
    fn read(
        &self,
        request: &Request<G>,
        evaluation: &Evaluation<G>,
        scoring: Scoring,
        moves: &mut Vec<(Move, f32)>,
    ) -> Result<Option<Outcome>, EvalError> {
        let Request::State { position, legal: Some(legal) } = request else {
            return Err(EvalError::Failed(
                "a search by the rules asks for states with their moves only".to_owned(),
            ));
        };
        let EndOrMoves::Moves(listed) = &evaluation.content else {
            return Err(EvalError::hallucination(Mistake::WrongEnd, format!("{position} is not over")));
        };
        moves.clear();
        let mut lowest = f32::INFINITY;
        let mut n_found = 0;
        for (index, &mv) in legal.iter().enumerate() {
            // Most evaluators list the legal moves in their order.
            let found = listed.get(index).filter(|entry| entry.mv == mv);
            let value = found
                .or_else(|| listed.iter().find(|entry| entry.mv == mv))
                .map(|entry| sane(entry.value.win_probability(scoring)));
            n_found += usize::from(value.is_some());
            lowest = lowest.min(value.unwrap_or(f32::INFINITY));
            moves.push((mv, value.unwrap_or(f32::NAN)));
        }
        if n_found == 0 {
            return Err(EvalError::hallucination(
                Mistake::IllegalMove,
                format!("no legal move listed in {position}"),
            ));
        }
        if n_found < legal.len() {
            moves.iter_mut().filter(|(_, value)| value.is_nan()).for_each(|(_, value)| *value = lowest);
        }
        Ok(None)
    }

    fn keep(&mut self, _: NodeIdx, _: &Evaluation<G>) {}
}

/// A win probability within its bounds; NaN counts as even.
fn sane(probability: f32) -> f32 {
    if probability.is_nan() { 0.5 } else { probability.clamp(0.0, 1.0) }
}

/// The evaluator's own answers.
#[derive(Clone, Debug)]
pub(crate) struct ByModel<G> {
    /// The real position at the root, the last thing the rules are asked about.
    pub(crate) root: Arc<G>,
    /// The state of every node, by the evaluator's answers.
    pub(crate) states: Vec<Arc<G>>,
}

impl<G: Game> World for ByModel<G> {
    /// The node and the move that were last taken.
    type Cursor = (NodeIdx, Move);
    type Root = G;

    fn root(&self) -> &G {
        &self.root
    }

    fn start(&self) -> Self::Cursor {
        (NodeIdx::NONE, Move(u16::MAX))
    }

    fn enter(&self, cursor: &mut Self::Cursor, node: NodeIdx, mv: Move) {
        *cursor = (node, mv);
    }

    fn end(&self, _: &Self::Cursor) -> Option<Outcome> {
        None
    }

    fn winning_move(&self, _: &Self::Cursor) -> Option<Move> {
        None
    }
}

impl<G: Game> Asked for ByModel<G> {
    fn state<'a>(&self, _: &'a Self::Cursor) -> Option<&'a G> {
        None
    }

    fn request(&self, (node, mv): Self::Cursor) -> Request<G> {
        match self.states.get(node.0 as usize) {
            Some(state) => Request::Child { parent: state.clone(), mv },
            None => self.root_request(),
        }
    }

    fn root_request(&self) -> Request<G> {
        Request::state(self.root.clone())
    }

    fn read(
        &self,
        _: &Request<G>,
        evaluation: &Evaluation<G>,
        scoring: Scoring,
        moves: &mut Vec<(Move, f32)>,
    ) -> Result<Option<Outcome>, EvalError> {
        moves.clear();
        match &evaluation.content {
            EndOrMoves::Ended(outcome) => return Ok(Some(*outcome)),
            EndOrMoves::Moves(listed) => {
                // A move listed twice is one move; the first value counts.
                for entry in listed {
                    if !moves.iter().any(|&(mv, _)| mv == entry.mv) {
                        moves.push((entry.mv, sane(entry.value.win_probability(scoring))));
                    }
                }
            }
        }
        if moves.is_empty() {
            return Err(EvalError::hallucination(Mistake::MissingMove, "neither a move nor an end"));
        }
        Ok(None)
    }

    fn keep(&mut self, node: NodeIdx, evaluation: &Evaluation<G>) {
        debug_assert_eq!(self.states.len(), node.0 as usize, "nodes are added one by one");
        self.states.push(evaluation.state.clone());
    }
}
