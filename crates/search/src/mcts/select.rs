//! The move of PUCT among those of one node.
//!
//! Every simulation does this once for each ply, so it is written for the processor: scores of eight moves at a time, which the
//! compiler turns into vector instructions, and then their order without a jump that depends on the scores. Only ties take jumps,
//! one for each draw.

use super::{
    VirtualValue,
    tree::{EdgeIdx, Node, NodeIdx, Stat, Tree},
};
use crate::random::Random;

/// Moves that are scored together.
const WIDTH: usize = 8;

/// How moves are scored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelectionRule {
    pub(crate) c_puct: f32,
    pub(crate) virtual_value: VirtualValue,
}

impl Tree {
    /// The move of PUCT (algorithm 4) among those not blocked, ties at random; `None` if no move may be chosen.
    pub(crate) fn select(
        &self,
        node: NodeIdx,
        rule: SelectionRule,
        blocked: &[EdgeIdx],
        random: &mut Random,
    ) -> Option<EdgeIdx> {
        let &Node { first_edge, n_edges, visits, virtual_visits, .. } = self.node(node);
        // The node's own evaluation counts as a visit where there is no other: the root of 0 would hide the priors.
        let scale = rule.c_puct * ((visits + virtual_visits).max(1) as f32).sqrt();
        let virtual_value = if virtual_visits > 0 { rule.virtual_value } else { VirtualValue::None };
        let end = first_edge + u32::from(n_edges);
        let mut leader = Leader::default();
        for first in (first_edge..end).step_by(WIDTH) {
            let stats = &self.stats[first as usize..];
            let mut scores = scores(stats, (end - first) as usize, scale, virtual_value);
            if !blocked.is_empty() {
                for (score, index) in scores.iter_mut().zip(first..) {
                    if blocked.contains(&EdgeIdx(index)) {
                        *score = f32::NEG_INFINITY;
                    }
                }
            }
            leader.compare(&scores, first, random);
        }
        leader.chosen
    }
}

/// The scores of the first moves, minus infinity beyond the `n` that count.
#[inline]
fn scores(stats: &[Stat], n: usize, scale: f32, virtual_value: VirtualValue) -> [f32; WIDTH] {
    match stats.first_chunk::<WIDTH>() {
        // What lies behind the moves of the node belongs to another one and is scored in vain. One array for each field: that is
        // what the compiler needs to see.
        Some(stats) if virtual_value == VirtualValue::None => {
            let means: [f32; WIDTH] = std::array::from_fn(|index| stats[index].score);
            let priors: [f32; WIDTH] = std::array::from_fn(|index| stats[index].prior);
            // As signed numbers: AVX2 has an instruction that makes eight of those floats, and none for unsigned ones.
            let counts: [i32; WIDTH] =
                std::array::from_fn(|index| stats[index].counts().min(i32::MAX as u32) as i32);
            let scores: [f32; WIDTH] =
                std::array::from_fn(|index| means[index] + scale * priors[index] / counts[index] as f32);
            std::array::from_fn(|index| if index < n { scores[index] } else { f32::NEG_INFINITY })
        }
        _ => std::array::from_fn(|index| {
            stats.get(index).filter(|_| index < n).map_or(f32::NEG_INFINITY, |stat| {
                stat.lowered_score(virtual_value) + scale * stat.prior / stat.counts() as f32
            })
        }),
    }
}

/// The best move so far.
struct Leader {
    score: f32,
    chosen: Option<EdgeIdx>,
    /// How many moves share the best score.
    n_tied: usize,
}

impl Default for Leader {
    fn default() -> Self {
        // Above minus infinity, which is not to be chosen.
        Self { score: f32::MIN, chosen: None, n_tied: 0 }
    }
}

impl Leader {
    /// Goes on with the scores of moves from `first` on: a higher score leads, an equal one with the chance that makes all equals
    /// equally likely in the end.
    #[inline]
    fn compare(&mut self, scores: &[f32; WIDTH], first: u32, random: &mut Random) {
        let (mut higher, mut not_lower) = (0_u32, 0_u32);
        for (index, &score) in scores.iter().enumerate() {
            higher |= u32::from(score > self.score) << index;
            not_lower |= u32::from(score >= self.score) << index;
            self.score = if score > self.score { score } else { self.score };
        }
        let mut equal = not_lower & !higher;
        if let Some(last) = higher.checked_ilog2() {
            // The draws among those that led before are made all the same: the same seed gives the same search as one comparison
            // after the other.
            let passed = equal & ((1 << last) - 1);
            (0..passed.count_ones()).for_each(|_| _ = random.bits());
            equal ^= passed;
            self.chosen = Some(EdgeIdx(first + last));
            self.n_tied = 1;
        }
        while equal != 0 {
            self.n_tied += 1;
            if random.below(self.n_tied) == 0 {
                self.chosen = Some(EdgeIdx(first + equal.trailing_zeros()));
            }
            equal &= equal - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcts::tree::{NewEdge, NodeIdx};
    use mavis_game::Move;
    use proptest::prelude::*;

    /// One comparison after the other.
    fn plainly(
        tree: &Tree,
        rule: SelectionRule,
        blocked: &[EdgeIdx],
        random: &mut Random,
    ) -> Option<EdgeIdx> {
        let node = tree.node(NodeIdx::ROOT);
        let scale = rule.c_puct * ((node.visits + node.virtual_visits).max(1) as f32).sqrt();
        let virtual_value = if node.virtual_visits > 0 { rule.virtual_value } else { VirtualValue::None };
        let (mut best, mut n_tied, mut chosen) = (f32::NEG_INFINITY, 0, None);
        for edge in tree.edges(NodeIdx::ROOT) {
            let stat = tree.stat(edge);
            let score = stat.lowered_score(virtual_value) + scale * stat.prior / stat.counts() as f32;
            if score < best || score == f32::NEG_INFINITY || blocked.contains(&edge) {
                continue;
            }
            if score > best {
                (best, n_tied) = (score, 0);
            }
            n_tied += 1;
            if n_tied == 1 || random.below(n_tied) == 0 {
                chosen = Some(edge);
            }
        }
        chosen
    }

    proptest! {
        /// Few different numbers, so that most moves have equals.
        #[test]
        fn choices_and_draws_are_those_of_one_comparison_after_the_other(
            moves in prop::collection::vec((0..3_u32, 0..3_u32, 0..2_u32, 0..4_u32), 1..30),
            others in 0..9_usize,
            virtual_value in 0..3_usize,
            blocked in prop::collection::vec(0..30_u32, 0..3),
            seed in any::<u64>(),
        ) {
            let mut tree = Tree::default();
            let edge = |_| NewEdge { mv: Move(0), value: 0.0, prior: 0.0, score: 0.0 };
            tree.add_node((0..moves.len()).map(edge));
            for (stat, &(prior, score, virtual_visits, visits)) in tree.stats.iter_mut().zip(&moves) {
                // One in three is not to be chosen.
                let score = if score == 0 { f32::NEG_INFINITY } else { score as f32 / 4.0 };
                *stat = Stat { prior: prior as f32 / 8.0, score, visits, virtual_visits };
            }
            let node = tree.node_mut(NodeIdx::ROOT);
            node.visits = moves.iter().map(|entry| entry.3).sum();
            node.virtual_visits = moves.iter().map(|entry| entry.2).sum();
            // The moves of another node behind them, better than all.
            tree.add_node((0..others).map(|_| NewEdge { prior: 1.0, score: 9.0, ..edge(0) }));
            let virtual_value = [VirtualValue::None, VirtualValue::Draw, VirtualValue::Loss][virtual_value];
            let rule = SelectionRule { c_puct: 2.0, virtual_value };
            let blocked: Vec<EdgeIdx> = blocked.into_iter().map(EdgeIdx).collect();
            let [mut one, mut other] = [Random::seeded(seed), Random::seeded(seed)];
            prop_assert_eq!(
                tree.select(NodeIdx::ROOT, rule, &blocked, &mut one),
                plainly(&tree, rule, &blocked, &mut other)
            );
            prop_assert_eq!(one.bits(), other.bits());
        }
    }
}
