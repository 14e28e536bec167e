//! Minimax trees over any evaluator: the teacher's side of internal search (paper 001).
//!
//! From the root the `breadth` best moves are expanded, `depth` plies deep. Every node is evaluated, the leaves too, so
//! depth 0 is the evaluator alone. An inner node is worth the best of its expanded moves; a leaf its best listed move;
//! a finished game what it is. A whole level goes to the evaluator as one batch.
//!
//! ```
//! use mavis_eval::Scripted;
//! use mavis_game::{Position, Rules};
//! use mavis_search::minimax::{MinimaxSettings, grow};
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let settings = MinimaxSettings { breadth: 3, depth: 2, ..Default::default() };
//! let tree = runtime.block_on(grow(&Position::start(Rules::Connect4), &Scripted::new(1), &settings))?;
//! assert_eq!(tree.nodes.len(), 1 + 3 + 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::tunable::tunables;
use mavis_eval::{EndOrMoves, EvalError, Evaluation, Evaluator, Request};
use mavis_game::{Game, Move, Outcome, Position};
use mavis_value::{Mistake, Scoring};
use std::sync::Arc;

tunables! {
    /// The shape of a minimax tree.
    pub struct MinimaxSettings {
        breadth "breadth": u16 = 3, Integer(1, 400), "Moves expanded at every inner node.";
        depth "depth": u16 = 2, Integer(0, 64), "Plies from the root to the leaves.";
        ties "ties": bool = false, Switch, "Expand also what equals the last of the expanded moves.";
        scoring "scoring": Scoring = Scoring::Mean, Choice(Scoring::WORDS), "How a distribution over values becomes one number.";
        max_nodes "max_nodes": u32 = 1_000_000, Integer(1, 1_000_000_000), "Most nodes of the tree; larger ones are refused.";
    }
}

/// A decided tree; node 0 is the root, and every node follows its parent.
#[derive(Clone, PartialEq, Debug)]
pub struct MinimaxTree<G = Position> {
    /// The nodes, level by level.
    pub nodes: Vec<MinimaxNode<G>>,
}

/// A node of a minimax tree.
#[derive(Clone, PartialEq, Debug)]
pub struct MinimaxNode<G = Position> {
    /// The position.
    pub position: Arc<G>,
    /// What is known of it.
    pub content: Content,
    /// The expanded moves, best first, and the nodes they lead to.
    pub children: Vec<(Move, usize)>,
    /// The selected move: of the children, or of the list at a leaf; `None` once the game is over.
    pub selected: Option<Move>,
    /// What the node comes to, as a win probability for its side to move.
    pub value: f32,
}

/// What is known of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// The game is over.
    Over(Outcome),
    /// Every listed move with its win probability for the side to move, in the evaluator's order.
    Moves(Vec<(Move, f32)>),
}

/// Why there is no tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MinimaxError {
    /// The evaluator failed or hallucinated.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    /// The tree would be too large.
    #[error("the tree would have more than {limit} nodes")]
    TooLarge {
        /// The most there may be.
        limit: u32,
    },
}

impl<G: Game> MinimaxTree<G> {
    /// The node of a position, if it is in the tree.
    #[must_use]
    pub fn find(&self, position: &G) -> Option<&MinimaxNode<G>> {
        self.nodes.iter().find(|node| *node.position == *position)
    }

    /// The selected moves from the root down.
    #[must_use]
    pub fn line(&self) -> Vec<Move> {
        let mut line = Vec::new();
        let mut next = self.nodes.first();
        while let Some(node) = next {
            line.extend(node.selected);
            let child = node.children.iter().find(|(mv, _)| Some(*mv) == node.selected);
            next = child.and_then(|&(_, index)| self.nodes.get(index));
        }
        line
    }

    /// Values from the leaves up: the expanded move whose child is worth least to the opponent, the first of equals.
    fn decide(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let node = &self.nodes[index];
            let for_mover = |child: usize| 1.0 - self.nodes[child].value;
            let candidates: Vec<(Move, f32)> = match &node.content {
                Content::Over(_) => continue,
                Content::Moves(moves) if node.children.is_empty() => moves.clone(),
                Content::Moves(_) => {
                    node.children.iter().map(|&(mv, child)| (mv, for_mover(child))).collect()
                }
            };
            let best = candidates.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
            if let Some((mv, value)) = best {
                self.nodes[index].selected = Some(mv);
                self.nodes[index].value = value;
            }
        }
    }
}

/// Grows and decides the tree below a position, by the rules.
///
/// # Errors
/// When an evaluation fails or is a hallucination, or the tree grows too large.
pub async fn grow<G: Game>(
    root: &G,
    evaluator: &dyn Evaluator<G>,
    settings: &MinimaxSettings,
) -> Result<MinimaxTree<G>, MinimaxError> {
    let mut tree = MinimaxTree { nodes: Vec::new() };
    let mut level = vec![Arc::new(root.clone())];
    for depth in 0..=settings.depth {
        if tree.nodes.len() + level.len() > settings.max_nodes as usize {
            return Err(MinimaxError::TooLarge { limit: settings.max_nodes });
        }
        let first = tree.nodes.len();
        evaluate_level(&mut tree, level, evaluator, settings).await?;
        level = Vec::new();
        if depth < settings.depth {
            let next = tree.nodes.len();
            for index in first..next {
                for mv in expanded(&tree.nodes[index].content, settings) {
                    let mut position = G::clone(&tree.nodes[index].position);
                    position.play_unchecked(mv);
                    tree.nodes[index].children.push((mv, next + level.len()));
                    level.push(Arc::new(position));
                }
            }
        }
    }
    tree.decide();
    Ok(tree)
}

/// Adds the nodes of one level, all running games in one batch.
async fn evaluate_level<G: Game>(
    tree: &mut MinimaxTree<G>,
    level: Vec<Arc<G>>,
    evaluator: &dyn Evaluator<G>,
    settings: &MinimaxSettings,
) -> Result<(), MinimaxError> {
    let ends: Vec<Option<Outcome>> = level.iter().map(|position| position.outcome()).collect();
    let running = level.iter().zip(&ends).filter(|(_, end)| end.is_none());
    let requests: Vec<Request<G>> = running.map(|(position, _)| Request::running(position.clone())).collect();
    let replies = if requests.is_empty() { Vec::new() } else { evaluator.evaluate(requests.clone()).await };
    let mut replies = requests.into_iter().zip(replies);
    for (position, end) in level.into_iter().zip(ends) {
        let (content, value) = match end {
            Some(outcome) => {
                let value =
                    outcome.winner().map_or(0.5, |winner| f32::from(winner == position.side_to_move()));
                (Content::Over(outcome), value)
            }
            None => {
                let missing = || EvalError::Failed("no reply to a request".to_owned());
                let (request, reply) = replies.next().ok_or_else(missing)?;
                (Content::Moves(listed(&request, &reply?, settings.scoring)?), 0.0)
            }
        };
        tree.nodes.push(MinimaxNode { position, content, children: Vec::new(), selected: None, value });
    }
    Ok(())
}

/// The legal moves of an answer with one number each.
fn listed<G: Game>(
    request: &Request<G>,
    evaluation: &Evaluation<G>,
    scoring: Scoring,
) -> Result<Vec<(Move, f32)>, EvalError> {
    let Request::State { position, legal: Some(legal) } = request else {
        return Err(EvalError::Failed("minimax asks for states with their moves only".to_owned()));
    };
    let EndOrMoves::Moves(moves) = &evaluation.content else {
        return Err(EvalError::hallucination(Mistake::WrongEnd, format!("{position} is not over")));
    };
    let value = |entry: &mavis_eval::MoveValue| (entry.mv, entry.value.win_probability(scoring));
    let moves: Vec<_> = moves.iter().filter(|entry| legal.contains(&entry.mv)).map(value).collect();
    if moves.is_empty() {
        return Err(EvalError::hallucination(
            Mistake::IllegalMove,
            format!("no legal move listed in {position}"),
        ));
    }
    Ok(moves)
}

/// The moves to expand, best first; equals keep the evaluator's order.
fn expanded(content: &Content, settings: &MinimaxSettings) -> Vec<Move> {
    let Content::Moves(moves) = content else { return Vec::new() };
    let mut moves = moves.clone();
    moves.sort_by(|a, b| b.1.total_cmp(&a.1));
    let breadth = usize::from(settings.breadth);
    let n_expanded = match moves.get(breadth - 1) {
        Some(&(_, last)) if settings.ties => moves.partition_point(|&(_, value)| value >= last),
        _ => breadth,
    };
    moves.into_iter().take(n_expanded).map(|(mv, _)| mv).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_eval::{Free, Recorder, Scripted};
    use mavis_game::Rules;

    fn grown(
        evaluator: &dyn Evaluator,
        position: &Position,
        settings: &str,
    ) -> Result<MinimaxTree, MinimaxError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(grow(position, evaluator, &settings.parse().unwrap()))
    }

    /// The same by recursion, for comparison.
    fn naive(node: &MinimaxNode, tree: &MinimaxTree) -> f32 {
        match &node.content {
            Content::Over(_) => node.value,
            Content::Moves(moves) if node.children.is_empty() => {
                moves.iter().map(|&(_, value)| value).fold(0.0, f32::max)
            }
            Content::Moves(_) => node
                .children
                .iter()
                .map(|&(_, child)| 1.0 - naive(&tree.nodes[child], tree))
                .fold(0.0, f32::max),
        }
    }

    #[test]
    fn every_level_is_one_batch_and_values_back_up() {
        let recorder = Recorder::new(Scripted::new(2));
        let tree = grown(&recorder, &Position::start(Rules::Othello), "breadth=3,depth=3").unwrap();
        assert_eq!(recorder.batch_sizes(), [1, 3, 9, 27]);
        assert_eq!(tree.nodes.len(), 40);
        for node in &tree.nodes {
            assert_eq!(node.value, naive(node, &tree));
            if let (Content::Moves(moves), [(first, _), ..]) = (&node.content, &node.children[..]) {
                let best = moves.iter().map(|&(_, value)| value).fold(0.0, f32::max);
                assert!(moves.contains(&(*first, best)), "the best move is expanded first");
            }
        }
        assert_eq!(tree.line().len(), 4);
        assert_eq!(tree.find(&Position::start(Rules::Othello)), tree.nodes.first());
    }

    #[test]
    fn finished_games_are_exact_and_depth_0_is_the_evaluator() {
        let mut position = Position::start(Rules::Connect4);
        for column in ["4", "1", "4", "1", "4", "1"] {
            position.play_text(column).unwrap();
        }
        let tree = grown(&Scripted::new(1), &position, "breadth=7,depth=1").unwrap();
        assert_eq!((tree.nodes[0].value, tree.nodes[0].selected), (1.0, Some(Move(3))));
        let alone = grown(&Scripted::new(1), &position, "depth=0").unwrap();
        assert_eq!(alone.nodes.len(), 1);
    }

    #[test]
    fn ties_can_be_expanded_and_size_is_bounded() {
        let start = Position::start(Rules::Connect4);
        assert_eq!(grown(&Free, &start, "breadth=2,depth=1,ties=true").unwrap().nodes.len(), 8);
        assert_eq!(grown(&Free, &start, "breadth=2,depth=1").unwrap().nodes.len(), 3);
        let refused = grown(&Free, &start, "breadth=7,depth=9,max_nodes=500");
        assert_eq!(refused, Err(MinimaxError::TooLarge { limit: 500 }));
    }
}
