//! Trees as data: JSON that can be saved, loaded, searched on, compared and drawn.
//!
//! A [`SavedTree`] is flat: node 0 is the root, and a move names the node behind it. Moves are given as text for people
//! and as codes for programs. Values are from -1 to 1 for the player who makes the move.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod diff;
mod graphviz;
mod lines;
mod restore;
mod snapshot;

pub use diff::{Difference, TreeDiff};
pub use lines::Line;

use serde::{Deserialize, Serialize};

/// The version written into files; a reader refuses others.
pub const VERSION: u32 = 1;

/// A search tree on disk.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedTree {
    /// The version of this form, [`VERSION`].
    pub version: u32,
    /// The game with its parameters.
    pub game: String,
    /// The position text of the root.
    pub position: String,
    /// The settings that differ from their defaults, as a spec.
    pub settings: String,
    /// What the evaluator called itself.
    pub evaluator: String,
    /// The nodes, the root first, every other one after its parent.
    pub nodes: Vec<SavedNode>,
}

/// An expanded node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedNode {
    /// The state by the evaluator's answer, where it is the world model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Sum of the values backed up through the move that leads here, for the player who makes it.
    pub sum: f64,
    /// What is known for certain of it, for its side to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<SavedProof>,
    /// Its moves, in the evaluator's order.
    pub moves: Vec<SavedMove>,
}

/// A move of a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedMove {
    /// The move as text.
    #[serde(rename = "move")]
    pub text: String,
    /// The move as a code of its game.
    pub code: u16,
    /// Visits.
    pub visits: u32,
    /// Mean value; absent before the first visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f32>,
    /// The evaluator's own value.
    pub model_value: f32,
    /// Prior probability.
    pub prior: f32,
    /// What is known for certain of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<SavedProof>,
    /// Plies after the move to a proven end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plies: Option<u8>,
    /// How the game ends there by the word of an evaluator without rules, which proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<SavedProof>,
    /// The node behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<u32>,
}

/// Something known for certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedProof {
    /// A proven win.
    Win,
    /// A proven loss.
    Loss,
    /// A proven draw.
    Draw,
    /// Only hallucinations behind it.
    Dead,
}

/// Why a text is no tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Not the JSON of a tree.
    #[error("not a saved tree: {0}")]
    Json(#[from] serde_json::Error),
    /// A version this program does not know.
    #[error("saved tree of version {found}, expected {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// Well-formed, but no tree.
    #[error("saved tree is broken at node {node}: {reason}")]
    Broken {
        /// The node at fault.
        node: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The root is no position of its game.
    #[error("saved tree has no valid root: {0}")]
    Root(String),
}

impl SavedTree {
    /// The tree as JSON, one node per line.
    ///
    /// # Errors
    /// When a number cannot be written (there is no JSON for infinities).
    pub fn to_json(&self) -> Result<String, TreeError> {
        let quoted = serde_json::to_string::<str>;
        let mut json = format!(
            "{{\"version\":{},\"game\":{},\"position\":{},\"settings\":{},\"evaluator\":{},\"nodes\":[\n",
            self.version,
            quoted(&self.game)?,
            quoted(&self.position)?,
            quoted(&self.settings)?,
            quoted(&self.evaluator)?
        );
        let last = self.nodes.len().saturating_sub(1);
        for (index, node) in self.nodes.iter().enumerate() {
            json.push_str(&serde_json::to_string(node)?);
            json.push_str(if index < last { ",\n" } else { "\n" });
        }
        json.push_str("]}\n");
        Ok(json)
    }

    /// Reads JSON and checks that it is a tree: every node but the root behind exactly one move, and after its parent.
    ///
    /// # Errors
    /// When it is not.
    pub fn from_json(json: &str) -> Result<Self, TreeError> {
        let tree: Self = serde_json::from_str(json)?;
        if tree.version != VERSION {
            return Err(TreeError::Version { found: tree.version });
        }
        tree.check()?;
        Ok(tree)
    }

    fn check(&self) -> Result<(), TreeError> {
        let mut parents = vec![0_usize; self.nodes.len()];
        for (node, saved) in self.nodes.iter().enumerate() {
            let broken = |reason| Err(TreeError::Broken { node, reason });
            if saved.moves.is_empty() || saved.moves.len() > usize::from(u16::MAX) {
                return broken("it has no moves, or too many");
            }
            // Counts are added and numbers compared: neither may run over.
            let numbers = |entry: &SavedMove| {
                [entry.prior, entry.model_value, entry.value.unwrap_or(0.0)]
                    .iter()
                    .all(|number| number.is_finite())
            };
            let n_visits: u64 = saved.moves.iter().map(|entry| u64::from(entry.visits)).sum();
            if !saved.moves.iter().all(numbers)
                || !saved.sum.is_finite()
                || n_visits > u64::from(u32::MAX / 2)
            {
                return broken("one of its numbers is out of range");
            }
            if saved.moves.iter().any(|entry| entry.ended.is_some() && entry.child.is_some()) {
                return broken("a move ends the game and leads to a node");
            }
            for child in saved.moves.iter().filter_map(|entry| entry.child) {
                match parents.get_mut(child as usize) {
                    Some(n_parents) if child as usize > node => *n_parents = n_parents.saturating_add(1),
                    _ => return broken("a move leads to a node that does not come later"),
                }
            }
        }
        match parents.iter().zip(0..).skip(1).find(|(n_parents, _)| **n_parents != 1) {
            Some((_, node)) => Err(TreeError::Broken { node, reason: "it is not behind exactly one move" }),
            None => Ok(()),
        }
    }
}
