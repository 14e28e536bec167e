//! Which move to play (algorithm 8), with what is proven put first.

use super::{
    FinalMove, MctsSettings,
    proof::{Fate, Proof},
    tree::{EdgeIdx, NodeIdx, Tree},
};
use crate::random::Random;
use std::cmp::Ordering;

impl Tree {
    /// The best move of a node: a proven win, else the most visits, ties by value; `None` if all are dead.
    pub(crate) fn best_edge(&self, node: NodeIdx) -> Option<EdgeIdx> {
        self.best_by(node, |one, other| {
            self.stat(one).visits.cmp(&self.stat(other).visits).then_with(|| self.by_value(one, other))
        })
    }

    /// The move to play from the root. The random key decides only the sampled one.
    pub(crate) fn final_edge(&self, settings: &MctsSettings, random: &mut Random) -> Option<EdgeIdx> {
        let best = match settings.final_move {
            FinalMove::Visits | FinalMove::Sample => self.best_edge(NodeIdx::ROOT)?,
            FinalMove::Value => self.best_by(NodeIdx::ROOT, |one, other| {
                let visited = |edge| self.stat(edge).visits > 0;
                visited(one).cmp(&visited(other)).then_with(|| self.by_value(one, other))
            })?,
        };
        if settings.final_move == FinalMove::Sample
            && !matches!(self.rank(best), Rank::Win(_) | Rank::Loss(_))
        {
            return Some(self.sample(settings.final_temperature, random).unwrap_or(best));
        }
        Some(best)
    }

    /// The move with the best value by the evaluator alone, dead or not.
    pub(crate) fn best_by_model(&self, node: NodeIdx) -> Option<EdgeIdx> {
        let by_value = |a: &EdgeIdx, b: &EdgeIdx| self.link(*a).value.total_cmp(&self.link(*b).value);
        // Reversed, as `max_by` keeps the last of equals.
        self.edges(node).rev().max_by(by_value)
    }

    fn best_by(&self, node: NodeIdx, order: impl Fn(EdgeIdx, EdgeIdx) -> Ordering) -> Option<EdgeIdx> {
        self.edges(node)
            .filter(|&edge| self.link(edge).fate != Fate::Dead)
            .rev()
            .max_by(|&one, &other| self.rank(one).order(self.rank(other)).then_with(|| order(one, other)))
    }

    fn by_value(&self, one: EdgeIdx, other: EdgeIdx) -> Ordering {
        let value = |edge| self.mean(edge).unwrap_or(self.link(edge).value);
        value(one).total_cmp(&value(other))
    }

    fn rank(&self, edge: EdgeIdx) -> Rank {
        match self.link(edge).fate {
            Fate::Proven(Proof::Win, plies) => Rank::Win(plies),
            Fate::Proven(Proof::Loss, plies) => Rank::Loss(plies),
            _ => Rank::Open,
        }
    }

    /// A move drawn in proportion to visits^(1/temperature) among those not proven lost or dead.
    fn sample(&self, temperature: f32, random: &mut Random) -> Option<EdgeIdx> {
        let weight = |edge: EdgeIdx| match self.rank(edge) {
            Rank::Open if self.link(edge).fate != Fate::Dead => {
                f64::from(self.stat(edge).visits).powf(1.0 / f64::from(temperature))
            }
            _ => 0.0,
        };
        let total: f64 = self.edges(NodeIdx::ROOT).map(weight).sum();
        let mut left = random.unit() * total;
        self.edges(NodeIdx::ROOT).find(|&edge| {
            left -= weight(edge);
            left < 0.0
        })
    }
}

/// What is proven of a move, as far as it overrules visits.
#[derive(Clone, Copy)]
enum Rank {
    Loss(u8),
    Open,
    Win(u8),
}

impl Rank {
    /// A win before anything, the sooner the better; a loss after anything, the later the better.
    fn order(self, other: Self) -> Ordering {
        let class = |rank| match rank {
            Self::Loss(_) => 0,
            Self::Open => 1,
            Self::Win(_) => 2,
        };
        class(self).cmp(&class(other)).then_with(|| match (self, other) {
            (Self::Win(one), Self::Win(other)) => other.cmp(&one),
            (Self::Loss(one), Self::Loss(other)) => one.cmp(&other),
            _ => Ordering::Equal,
        })
    }
}
