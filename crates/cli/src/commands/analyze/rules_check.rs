//! What the rules say of a tree that a model grew without them, as JSON and as a line.

use mavis_search::mcts::RulesCheck;
use serde::Serialize;

/// Every node and end of the tree, compared.
#[derive(Serialize)]
pub(super) struct RulesCheckView {
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

impl From<RulesCheck> for RulesCheckView {
    fn from(report: RulesCheck) -> Self {
        let RulesCheck {
            nodes,
            wrong_states,
            exact_lists,
            legal_moves,
            missing_moves,
            illegal_moves,
            illegal_visits,
            missed_ends,
            false_ends,
            wrong_outcomes,
            right_ends,
            beyond_rules,
        } = report;
        Self {
            nodes,
            wrong_states,
            exact_lists,
            legal_moves,
            missing_moves,
            illegal_moves,
            illegal_visits,
            missed_ends,
            false_ends,
            wrong_outcomes,
            right_ends,
            beyond_rules,
        }
    }
}

impl RulesCheckView {
    pub(super) fn line(&self) -> String {
        format!(
            "by the rules: {} nodes, {} with a wrong state, {} with exactly the legal moves; {} of {} legal moves missing, \
             {} illegal ones with {} visits; ends: {} right, {} with the wrong winner, {} missed, {} made up; {} nodes \
             behind illegal moves\n",
            self.nodes,
            self.wrong_states,
            self.exact_lists,
            self.missing_moves,
            self.legal_moves,
            self.illegal_moves,
            self.illegal_visits,
            self.right_ends,
            self.wrong_outcomes,
            self.missed_ends,
            self.false_ends,
            self.beyond_rules,
        )
    }
}
