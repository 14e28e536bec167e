//! A search's tree as data.

use super::{SavedMove, SavedNode, SavedProof, SavedTree, VERSION};
use crate::mcts::{
    Proof, Search,
    proof::Fate,
    tree::{EdgeIdx, NodeIdx, Tree},
};
use mavis_game::{Game, Move};

impl<G: Game> Search<G> {
    /// The tree as it is; no nodes before the first run.
    #[must_use]
    pub fn snapshot(&self) -> SavedTree {
        let tree = self.tree();
        let mut nodes: Vec<Option<SavedNode>> = vec![None; tree.nodes.len()];
        let mut stack = Vec::new();
        if !tree.is_empty() {
            stack.push((NodeIdx::ROOT, Some(self.position().clone())));
        }
        while let Some((node, position)) = stack.pop() {
            let moves = tree.edges(node).map(|edge| {
                let link = tree.link(edge);
                if link.child != NodeIdx::NONE {
                    stack.push((link.child, position.as_ref().and_then(|before| played(before, link.mv))));
                }
                saved_move(tree, edge, position.as_ref())
            });
            let moves = moves.collect();
            if let Some(place) = nodes.get_mut(node.0 as usize) {
                *place = Some(SavedNode {
                    state: self.model_state(node).map(|state| state.to_string()),
                    sum: tree.node(node).sum,
                    proof: saved_proof(tree.node(node).proof),
                    moves,
                });
            }
        }
        SavedTree {
            version: VERSION,
            game: self.position().rules().to_string(),
            position: self.position().to_string(),
            settings: self.settings().to_string(),
            evaluator: self.evaluator_name(),
            nodes: nodes.into_iter().flatten().collect(),
        }
    }
}

fn played<G: Game>(before: &G, mv: Move) -> Option<G> {
    let mut after = before.clone();
    after.play(mv).ok()?;
    Some(after)
}

fn saved_move<G: Game>(tree: &Tree, edge: EdgeIdx, position: Option<&G>) -> SavedMove {
    let (link, stat) = (tree.link(edge), tree.stat(edge));
    let (proof, plies) = match link.fate {
        Fate::Proven(proof, plies) => (saved_proof(proof), Some(plies)),
        Fate::Dead => (Some(SavedProof::Dead), None),
        Fate::Open | Fate::Pending | Fate::Ended(_) => (None, None),
    };
    let ended = match link.fate {
        Fate::Ended(proof) => saved_proof(proof),
        _ => None,
    };
    let legal = position.filter(|position| position.is_legal(link.mv));
    SavedMove {
        // Behind a move that the rules do not know there is no text, only the code.
        text: legal.map_or_else(|| format!("#{}", link.mv.0), |position| position.move_text(link.mv)),
        code: link.mv.0,
        visits: stat.visits,
        value: tree.mean(edge),
        model_value: link.value,
        prior: stat.prior,
        proof,
        plies,
        ended,
        child: (link.child != NodeIdx::NONE).then_some(link.child.0),
    }
}

fn saved_proof(proof: Proof) -> Option<SavedProof> {
    match proof {
        Proof::Unknown => None,
        Proof::Loss => Some(SavedProof::Loss),
        Proof::Draw => Some(SavedProof::Draw),
        Proof::Win => Some(SavedProof::Win),
        Proof::Dead => Some(SavedProof::Dead),
    }
}
