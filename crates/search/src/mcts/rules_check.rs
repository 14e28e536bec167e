//! What the rules say about a tree grown without them.

use super::{
    proof::{Fate, Proof},
    simulator::Simulator,
    tree::NodeIdx,
    world::ByModel,
};
use mavis_game::{Game, Move, Outcome, Side};
use std::collections::HashSet;

/// Every node of a tree compared with the rules.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RulesCheck {
    /// Nodes that can be reached by legal moves and were compared.
    pub nodes: u32,
    /// Of those, nodes whose state differs from the rules'.
    pub wrong_states: u32,
    /// Of those, nodes whose moves are exactly the legal ones.
    pub exact_lists: u32,
    /// Legal moves of compared nodes.
    pub legal_moves: u32,
    /// Legal moves that were not listed.
    pub missing_moves: u32,
    /// Listed moves that are not legal.
    pub illegal_moves: u32,
    /// Visits that went through illegal moves at the node where they were made.
    pub illegal_visits: u32,
    /// Nodes where the rules say that the game is over, and moves were listed.
    pub missed_ends: u32,
    /// Ends stated where the game is not over.
    pub false_ends: u32,
    /// Ends stated with the wrong winner.
    pub wrong_outcomes: u32,
    /// Ends stated correctly.
    pub right_ends: u32,
    /// Nodes behind an illegal move, of which the rules say nothing.
    pub beyond_rules: u32,
}

impl RulesCheck {
    /// Whether the tree could have been grown by the rules.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let mistakes = [
            self.wrong_states,
            self.missing_moves,
            self.illegal_moves,
            self.missed_ends,
            self.false_ends,
            self.wrong_outcomes,
        ];
        mistakes == [0; 6]
    }
}

impl<G: Game> Simulator<ByModel<G>> {
    /// Compares every node and every end with the rules.
    pub(crate) fn check_rules(&self) -> RulesCheck {
        let mut report = RulesCheck::default();
        if self.tree.is_empty() {
            return report;
        }
        // Positions are replayed along the tree; `None` behind an illegal move.
        let mut stack = vec![(NodeIdx::ROOT, Some(G::clone(&self.world.root)))];
        while let Some((node, position)) = stack.pop() {
            if let Some(position) = &position {
                self.compare(node, position, &mut report);
            } else {
                report.beyond_rules += 1;
            }
            for edge in self.tree.edges(node) {
                let link = self.tree.link(edge);
                let after = position.as_ref().and_then(|before| played(before, link.mv));
                if link.child != NodeIdx::NONE {
                    stack.push((link.child, after));
                } else if let (Fate::Ended(told), Some(after), Some(before)) = (link.fate, after, &position) {
                    count_end(told, before.side_to_move(), after.outcome(), &mut report);
                }
            }
        }
        report
    }

    fn compare(&self, node: NodeIdx, position: &G, report: &mut RulesCheck) {
        report.nodes += 1;
        report.wrong_states += u32::from(*self.world.states[node.0 as usize] != *position);
        if position.outcome().is_some() {
            report.missed_ends += 1;
        }
        let legal: HashSet<Move> = position.legal_moves().into_iter().collect();
        let mut n_found = 0;
        for edge in self.tree.edges(node) {
            if legal.contains(&self.tree.link(edge).mv) {
                n_found += 1;
            } else {
                report.illegal_moves += 1;
                report.illegal_visits += self.tree.stat(edge).visits;
            }
        }
        report.legal_moves += legal.len() as u32;
        report.missing_moves += legal.len() as u32 - n_found;
        let exact = n_found as usize == legal.len() && self.tree.edges(node).len() == legal.len();
        report.exact_lists += u32::from(exact);
    }
}

fn played<G: Game>(before: &G, mv: Move) -> Option<G> {
    let mut after = before.clone();
    after.play(mv).ok()?;
    Some(after)
}

fn count_end(told: Proof, mover: Side, outcome: Option<Outcome>, report: &mut RulesCheck) {
    match outcome {
        None => report.false_ends += 1,
        Some(outcome) if Proof::of(outcome, mover) == told => report.right_ends += 1,
        Some(_) => report.wrong_outcomes += 1,
    }
}
