//! What the rules say of a tree that a model grew without them, as JSON and as a line.

use mavis_search::mcts::RulesCheck;
use serde::Serialize;

/// Every node and end of the tree, compared.
#[derive(Serialize)]
pub(super) struct RulesCheckView(#[serde(with = "Counts")] pub(super) RulesCheck);

/// The counts as JSON.
#[derive(Serialize)]
#[serde(remote = "RulesCheck")]
struct Counts {
    nodes: u32,
    wrong_states: u32,
    exact_lists: u32,
    legal_moves: u32,
    missing_moves: u32,
    illegal_moves: u32,
    illegal_visits: u32,
    missed_ends: u32,
    false_ends: u32,
    wrong_outcomes: u32,
    right_ends: u32,
    beyond_rules: u32,
}

impl RulesCheckView {
    pub(super) fn line(&self) -> String {
        format!(
            "by the rules: {} nodes, {} with a wrong state, {} with exactly the legal moves; {} of {} legal moves missing, \
             {} illegal ones with {} visits; ends: {} right, {} with the wrong winner, {} missed, {} made up; {} nodes \
             behind illegal moves\n",
            self.0.nodes,
            self.0.wrong_states,
            self.0.exact_lists,
            self.0.missing_moves,
            self.0.legal_moves,
            self.0.illegal_moves,
            self.0.illegal_visits,
            self.0.right_ends,
            self.0.wrong_outcomes,
            self.0.missed_ends,
            self.0.false_ends,
            self.0.beyond_rules,
        )
    }
}
