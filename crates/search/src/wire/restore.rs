//! A search that continues from a saved tree.

use super::{SavedNode, SavedProof, SavedTree, TreeError};
use crate::mcts::{
    MctsSettings, Proof, Search,
    proof::Fate,
    tree::{Link, Node, NodeIdx, Stat, Tree},
};
use mavis_eval::{Evaluator, WorldModel};
use mavis_game::{FromRules, Game, Move};
use std::sync::Arc;

impl<G: FromRules> Search<G> {
    /// A search whose tree is the saved one. The settings come from the caller; history before the root is lost.
    ///
    /// # Errors
    /// When the root is no position of its game, or the evaluator is to be the world model and a state is missing.
    pub fn restore(
        saved: &SavedTree,
        evaluator: Arc<dyn Evaluator<G>>,
        settings: MctsSettings,
    ) -> Result<Self, TreeError> {
        let root = |error: String| TreeError::Root(error);
        let rules: G::Rules = match saved.game.parse() {
            Ok(rules) => rules,
            Err(error) => return Err(root(error.to_string())),
        };
        let parse = |text: &str| G::parse(rules.clone(), text);
        let position = parse(&saved.position).map_err(|error| root(error.to_string()))?;
        if position.outcome().is_some() && !saved.nodes.is_empty() {
            return Err(root("the game is over there".to_owned()));
        }
        let mut states = Vec::new();
        if settings.world == WorldModel::Rules {
            check_moves(saved, &position)?;
        } else {
            for (node, saved) in saved.nodes.iter().enumerate() {
                let state = saved.state.as_deref().and_then(|text| parse(text).ok());
                let state =
                    state.ok_or(TreeError::Broken { node, reason: "its state is missing or malformed" })?;
                states.push(Arc::new(state));
            }
        }
        let mut search = Self::new(position, evaluator, settings);
        search.put_tree(tree(&saved.nodes, search.settings()), states);
        Ok(search)
    }
}

/// A search by the rules plays the moves of its tree without looking: they must be legal.
fn check_moves<G: Game>(saved: &SavedTree, root: &G) -> Result<(), TreeError> {
    let mut positions: Vec<Option<G>> = vec![None; saved.nodes.len()];
    if let Some(first) = positions.first_mut() {
        *first = Some(root.clone());
    }
    for (node, entries) in saved.nodes.iter().enumerate() {
        let broken = |reason| TreeError::Broken { node, reason };
        // Parents come first, so that the position is there unless the tree is broken.
        let position = positions.get_mut(node).and_then(Option::take).ok_or(broken("nothing leads to it"))?;
        for entry in &entries.moves {
            let mut after = position.clone();
            after.play(Move(entry.code)).map_err(|_| broken("one of its moves is illegal"))?;
            if let Some(place) = entry.child.and_then(|child| positions.get_mut(child as usize)) {
                *place = Some(after);
            }
        }
    }
    Ok(())
}

fn tree(nodes: &[SavedNode], settings: &MctsSettings) -> Tree {
    let by_rules = settings.world == WorldModel::Rules;
    let mut tree = Tree::default();
    for saved in nodes {
        tree.nodes.push(Node {
            sum: saved.sum,
            first_edge: tree.stats.len() as u32,
            visits: saved.moves.iter().fold(0, |sum, entry| u32::saturating_add(sum, entry.visits)),
            virtual_visits: 0,
            n_edges: saved.moves.len() as u16,
            proof: saved.proof.map_or(Proof::Unknown, proof).checked(by_rules),
        });
        for entry in &saved.moves {
            let fate = match (entry.proof.map(proof), entry.ended.map(proof)) {
                (_, Some(told)) => Fate::Ended(told),
                (None | Some(Proof::Unknown), None) => Fate::Open,
                (Some(Proof::Dead), None) => Fate::Dead,
                (Some(known), None) if by_rules => Fate::Proven(known, entry.plies.unwrap_or(0)),
                // Files of older versions call ends proofs that no rules stand behind.
                (Some(told), None) if entry.child.is_none() => Fate::Ended(told),
                (Some(_), None) => Fate::Open,
            };
            let score = match fate {
                Fate::Dead | Fate::Pending => f32::NEG_INFINITY,
                Fate::Proven(Proof::Loss, _) if settings.solver => f32::NEG_INFINITY,
                _ => entry.value.unwrap_or_else(|| settings.first_score(entry.model_value)),
            };
            tree.stats.push(Stat { prior: entry.prior, score, visits: entry.visits, virtual_visits: 0 });
            tree.links.push(Link {
                child: entry.child.map_or(NodeIdx::NONE, NodeIdx),
                value: entry.model_value,
                mv: Move(entry.code),
                fate,
            });
        }
    }
    tree
}

impl Proof {
    /// The same, or what is left of it where no rules stand behind it: only that there is nothing to know.
    fn checked(self, by_rules: bool) -> Self {
        if by_rules || self == Self::Dead { self } else { Self::Unknown }
    }
}

fn proof(saved: SavedProof) -> Proof {
    match saved {
        SavedProof::Win => Proof::Win,
        SavedProof::Loss => Proof::Loss,
        SavedProof::Draw => Proof::Draw,
        SavedProof::Dead => Proof::Dead,
    }
}
