//! Simulations one step at a time: down to a leaf, out for an answer, back up (algorithms 3 to 7).
//!
//! This is plain code. Whoever drives it decides how answers are found: at once, one after the other, or many in
//! flight. Every leaf handed out must come back, by an answer or by [`Simulator::give_up`]; then no virtual count is
//! left in the tree.

use super::{
    Collision, MctsSettings,
    prior::{PriorRule, add_noise},
    proof::{Fate, Proof},
    select::SelectionRule,
    tree::{EdgeIdx, NewEdge, NodeIdx, Step, Tree},
    virtual_count::VirtualRule,
    world::World,
};
use crate::random::Random;
use mavis_game::{Move, Outcome, Side};

/// A tree that grows.
#[derive(Clone, Debug)]
pub(crate) struct Simulator<W> {
    pub(crate) world: W,
    pub(crate) tree: Tree,
    pub(crate) random: Random,
    pub(crate) depths: Depths,
    settings: MctsSettings,
    virtual_rule: VirtualRule,
    /// Whether one leaf at a time is handed out: then nobody sees virtual counts, and none are kept.
    alone: bool,
    /// Paths of the leaves handed out; a ticket is a place here. Memory of returned ones is reused.
    paths: Vec<Vec<Step>>,
    free: Vec<usize>,
    /// Moves that led the running descent to where everything is under way.
    blocked: Vec<EdgeIdx>,
    priors: Vec<f32>,
    values: Vec<f32>,
}

/// How deep simulations went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Depths {
    pub(crate) sum: u64,
    pub(crate) n: u64,
    pub(crate) most: usize,
}

impl Depths {
    fn add(&mut self, depth: usize) {
        self.sum += depth as u64;
        self.n += 1;
        self.most = self.most.max(depth);
    }
}

/// A leaf handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(usize);

/// How a simulation begins.
#[derive(Debug)]
pub(crate) enum Begun<C> {
    /// It needs an evaluation.
    Leaf(Ticket, C),
    /// It ended in a known result, which is backed up already.
    Known,
    /// The way down leads to a leaf that is handed out already: the only one, or the best one where the settings wait.
    Blocked,
    /// The root is proven or dead: there is nothing left to find out.
    Settled,
}

impl<W: World> Simulator<W> {
    pub(crate) fn new(world: W, settings: &MctsSettings) -> Self {
        Self {
            world,
            tree: Tree::default(),
            random: Random::seeded(settings.seed),
            depths: Depths::default(),
            settings: settings.clone(),
            virtual_rule: settings.virtual_rule(),
            alone: false,
            paths: Vec::new(),
            free: Vec::new(),
            blocked: Vec::new(),
            priors: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The same for a driver that hands back every leaf before it takes the next.
    pub(crate) fn alone(world: W, settings: &MctsSettings) -> Self {
        Self { alone: true, ..Self::new(world, settings) }
    }

    /// Continues with other settings; nothing may be in flight.
    pub(crate) fn set_settings(&mut self, settings: &MctsSettings) {
        if settings.seed != self.settings.seed {
            self.random = Random::seeded(settings.seed);
        }
        self.settings = settings.clone();
        self.virtual_rule = settings.virtual_rule();
    }

    /// Simulations in the tree.
    pub(crate) fn n_visits(&self) -> u32 {
        if self.tree.is_empty() { 0 } else { self.tree.node(NodeIdx::ROOT).visits }
    }

    /// Whether the tree may not grow any more.
    pub(crate) fn is_full(&self) -> bool {
        let nodes = self.settings.nodes;
        (nodes > 0 && self.tree.nodes.len() >= nodes as usize)
            || self.tree.bytes() >= (self.settings.memory as usize) << 20
    }

    /// Makes the root of an empty tree from its moves and their win probabilities.
    pub(crate) fn expand_root(&mut self, moves: &[(Move, f32)]) {
        debug_assert!(self.tree.is_empty(), "the root is made once");
        // A node for each simulation, and the root.
        self.tree.reserve(self.settings.simulations.saturating_add(1), moves.len());
        self.expand(0, moves);
        self.add_root_noise();
        if self.settings.solver {
            self.find_win();
        }
    }

    /// Proves a new root won if one of its moves wins at once, which a small prior could hide from every simulation.
    fn find_win(&mut self) {
        let node = NodeIdx::ROOT;
        let Some(win) = self.world.winning_move(&self.world.start()) else { return };
        if let Some(edge) = self.tree.edges(node).find(|&edge| self.tree.link(edge).mv == win) {
            self.mark(edge, Fate::Proven(Proof::Win, 0));
            self.settle_up(&[Step { node, edge }]);
        }
    }

    /// Mixes noise into the root's priors, where the settings ask for it.
    pub(crate) fn add_root_noise(&mut self) {
        if self.settings.noise > 0.0 {
            let edges = self.tree.edges(NodeIdx::ROOT);
            let (first, n) = (self.tree.node(NodeIdx::ROOT).first_edge as usize, edges.len());
            let priors = self.tree.stats[first..first + n].iter_mut().map(|stat| &mut stat.prior);
            add_noise(priors, self.settings.noise, self.settings.noise_alpha, &mut self.random);
        }
    }

    /// Goes down from the root to a leaf.
    pub(crate) fn begin(&mut self) -> Begun<W::Cursor> {
        if self.tree.node(NodeIdx::ROOT).proof != Proof::Unknown {
            return Begun::Settled;
        }
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.paths.push(Vec::new());
            self.paths.len() - 1
        });
        let mut path = std::mem::take(&mut self.paths[ticket]);
        path.clear();
        let begun = self.descend(Ticket(ticket), &mut path);
        self.paths[ticket] = path;
        if !matches!(begun, Begun::Leaf(..)) {
            self.free.push(ticket);
        }
        begun
    }

    fn descend(&mut self, ticket: Ticket, path: &mut Vec<Step>) -> Begun<W::Cursor> {
        let mut cursor = self.world.start();
        let mut node = NodeIdx::ROOT;
        self.blocked.clear();
        loop {
            let Some(edge) = self.select(node) else {
                let Some(step) = path.pop() else { return Begun::Blocked };
                self.blocked.push(step.edge);
                node = step.node;
                cursor = self.replay(path);
                continue;
            };
            path.push(Step { node, edge });
            let link = *self.tree.link(edge);
            match link.fate {
                Fate::Proven(..) | Fate::Ended(_) => {
                    self.back_up(path, 0.0);
                    return Begun::Known;
                }
                // Selection sees such a move only where simulations wait for it.
                Fate::Pending => return Begun::Blocked,
                Fate::Open if link.child != NodeIdx::NONE => {
                    self.world.enter(&mut cursor, node, link.mv);
                    node = link.child;
                }
                _ => {
                    self.world.enter(&mut cursor, node, link.mv);
                    if let Some(outcome) = self.world.end(&cursor) {
                        self.close(path, Proof::of(outcome, self.last_mover(path)), 0);
                        return Begun::Known;
                    }
                    // What an evaluator would say of it is of no interest.
                    if self.settings.solver && self.world.winning_move(&cursor).is_some() {
                        self.close(path, Proof::Loss, 1);
                        return Begun::Known;
                    }
                    self.mark(edge, Fate::Pending);
                    self.lend(path);
                    return Begun::Leaf(ticket, cursor);
                }
            }
        }
    }

    /// The move to go down by; `None` if no move may be chosen.
    fn select(&mut self, node: NodeIdx) -> Option<EdgeIdx> {
        let MctsSettings { c_puct, virtual_value, .. } = self.settings;
        self.tree.select(node, SelectionRule { c_puct, virtual_value }, &self.blocked, &mut self.random)
    }

    /// Answers a leaf with its moves and their win probabilities; returns the new node.
    pub(crate) fn answer(&mut self, ticket: Ticket, moves: &[(Move, f32)]) -> NodeIdx {
        // With the estimate the path stays as it is, and the answer takes its place.
        let estimated = !self.alone && self.virtual_rule == VirtualRule::Estimate;
        let path = if estimated { self.path_of(ticket) } else { self.take_back(ticket) };
        let node = self.expand(path.len() as u32, moves);
        let best = moves.iter().map(|&(_, value)| value).fold(0.0, f32::max);
        if let Some(step) = path.last() {
            let link = self.tree.link_mut(step.edge);
            link.child = node;
            link.fate = Fate::Open;
        }
        // The new node's mover gets 2p - 1, the player who moved there the opposite.
        let value = 1.0 - 2.0 * best;
        if estimated {
            self.replace_estimate(&path, value);
        } else {
            self.back_up(&path, value);
        }
        self.give_back(ticket, path);
        node
    }

    /// Answers a leaf with the end of the game by the evaluator's word: a value, and no proof.
    pub(crate) fn answer_end(&mut self, ticket: Ticket, outcome: Outcome) {
        let path = self.take_back(ticket);
        if let Some(step) = path.last() {
            self.mark(step.edge, Fate::Ended(Proof::of(outcome, self.last_mover(&path))));
            self.back_up(&path, 0.0);
        }
        self.give_back(ticket, path);
    }

    /// Answers a leaf with a hallucination: its move is dead, nothing is backed up.
    pub(crate) fn answer_dead(&mut self, ticket: Ticket) {
        let path = self.take_back(ticket);
        if let Some(step) = path.last() {
            self.mark(step.edge, Fate::Dead);
            self.settle_up(&path);
        }
        self.give_back(ticket, path);
    }

    /// Takes a leaf back without an answer: its path is as it was.
    pub(crate) fn give_up(&mut self, ticket: Ticket) {
        let path = self.take_back(ticket);
        if let Some(step) = path.last() {
            self.mark(step.edge, Fate::Open);
        }
        self.give_back(ticket, path);
    }

    /// The path of a ticket as it is.
    fn path_of(&mut self, Ticket(ticket): Ticket) -> Vec<Step> {
        std::mem::take(&mut self.paths[ticket])
    }

    /// The path of a ticket, its virtual counts returned.
    fn take_back(&mut self, ticket: Ticket) -> Vec<Step> {
        let path = self.path_of(ticket);
        if self.alone {
            return path;
        }
        if self.virtual_rule == VirtualRule::Estimate {
            self.estimate(&path, false);
            return path;
        }
        for (step, depth) in path.iter().zip(1..) {
            let count = self.virtual_rule.count(depth, path.len());
            self.tree.stat_mut(step.edge).virtual_visits -= count;
            self.tree.node_mut(step.node).virtual_visits -= count;
        }
        path
    }

    /// Backs a simulation in flight up with the evaluator's own value of its last move, or takes that back.
    ///
    /// No move of the path was proven when it was chosen, so that all carry the same value with alternating signs.
    fn estimate(&mut self, path: &[Step], add: bool) {
        let Some(last) = path.last() else { return };
        let mut value = f64::from(self.tree.link(last.edge).value);
        for step in path.iter().rev() {
            let (link, stat) = (*self.tree.link(step.edge), self.tree.stat_mut(step.edge));
            stat.visits = if add { stat.visits + 1 } else { stat.visits - 1 };
            let visits = f64::from(stat.visits);
            let node = self.tree.node_mut(step.node);
            node.visits = if add { node.visits + 1 } else { node.visits - 1 };
            if link.child != NodeIdx::NONE {
                let child = self.tree.node_mut(link.child);
                child.sum += if add { value } else { -value };
                let mean = (child.sum / visits) as f32;
                if link.fate == Fate::Open {
                    self.tree.stat_mut(step.edge).score = mean;
                }
            }
            value = -value;
        }
    }

    fn give_back(&mut self, Ticket(ticket): Ticket, path: Vec<Step>) {
        self.paths[ticket] = path;
        self.free.push(ticket);
    }

    fn lend(&mut self, path: &[Step]) {
        if self.alone {
            return;
        }
        if self.virtual_rule == VirtualRule::Estimate {
            return self.estimate(path, true);
        }
        for (step, depth) in path.iter().zip(1..) {
            let count = self.virtual_rule.count(depth, path.len());
            self.tree.stat_mut(step.edge).virtual_visits += count;
            self.tree.node_mut(step.node).virtual_visits += count;
        }
    }

    /// Adds a node at a depth, priors by equation 1.
    fn expand(&mut self, depth: u32, moves: &[(Move, f32)]) -> NodeIdx {
        let rule = PriorRule {
            tau: self.settings.tau.at(self.world.ply() + depth),
            k: usize::from(self.settings.top_k),
            epsilon: self.settings.epsilon,
        };
        self.values.clear();
        self.values.extend(moves.iter().map(|&(_, value)| value));
        rule.fill(&self.values, &mut self.priors);
        let first_score = |value: f32| self.settings.first_score(2.0 * value - 1.0);
        self.tree.add_node(moves.iter().zip(&self.priors).map(|(&(mv, value), &prior)| NewEdge {
            mv,
            value: 2.0 * value - 1.0,
            prior,
            score: first_score(value),
        }))
    }

    /// The last move of the path leads to a result for whoever makes it by the rules, that many plies from there.
    fn close(&mut self, path: &[Step], proof: Proof, plies: u8) {
        if let Some(step) = path.last() {
            self.mark(step.edge, Fate::Proven(proof, plies));
            self.settle_up(path);
            self.back_up(path, 0.0);
        }
    }

    /// Who made the last move of a path.
    fn last_mover(&self, path: &[Step]) -> Side {
        let root = self.world.side_to_move();
        if path.len() % 2 == 1 { root } else { root.other() }
    }

    /// Sets what has become of a move that has no node yet, or none that matters any more, and what selection may see of it.
    fn mark(&mut self, edge: EdgeIdx, fate: Fate) {
        let link = self.tree.link_mut(edge);
        link.fate = fate;
        let value = link.value;
        self.tree.stat_mut(edge).score = match fate {
            Fate::Proven(Proof::Loss, _) if self.settings.solver => f32::NEG_INFINITY,
            Fate::Proven(proof, _) | Fate::Ended(proof) => proof.value().unwrap_or(0.0),
            Fate::Open => self.settings.first_score(value),
            Fate::Pending if self.settings.collision == Collision::Elsewhere => f32::NEG_INFINITY,
            Fate::Pending if self.virtual_rule == VirtualRule::Estimate => value,
            Fate::Pending => self.settings.first_score(value),
            Fate::Dead => f32::NEG_INFINITY,
        };
    }

    /// Carries news about the last move of a path as far up as it settles anything.
    fn settle_up(&mut self, path: &[Step]) {
        for (index, step) in path.iter().enumerate().rev() {
            if self.tree.node(step.node).proof != Proof::Unknown {
                return;
            }
            let Some((proof, plies)) = self.tree.settle(step.node, self.settings.solver) else { return };
            self.tree.node_mut(step.node).proof = proof;
            if let Some(above) = index.checked_sub(1) {
                let fate = match proof {
                    Proof::Dead => Fate::Dead,
                    known => Fate::Proven(known.flipped(), plies),
                };
                self.mark(path[above].edge, fate);
            }
        }
    }

    /// Adds one visit to every move of the path (algorithm 5). `value` is for the player who made the last move; where
    /// a move is proven or ends the game, its exact value takes over from there up.
    fn back_up(&mut self, path: &[Step], mut value: f32) {
        self.depths.add(path.len());
        for step in path.iter().rev() {
            self.tree.node_mut(step.node).visits += 1;
            let link = *self.tree.link(step.edge);
            if let Fate::Proven(proof, _) | Fate::Ended(proof) = link.fate {
                value = proof.value().unwrap_or(value);
            }
            let stat = self.tree.stat_mut(step.edge);
            stat.visits += 1;
            let visits = f64::from(stat.visits);
            if link.child != NodeIdx::NONE {
                let child = self.tree.node_mut(link.child);
                child.sum += f64::from(value);
                let mean = (child.sum / visits) as f32;
                if link.fate == Fate::Open {
                    self.tree.stat_mut(step.edge).score = mean;
                }
            }
            value = -value;
        }
    }

    /// The same for a simulation that was backed up with an estimate: what [`Simulator::estimate`] and
    /// [`Simulator::back_up`] would do one after the other, in one walk.
    fn replace_estimate(&mut self, path: &[Step], mut value: f32) {
        self.depths.add(path.len());
        let Some(last) = path.last() else { return };
        let mut estimate = f64::from(self.tree.link(last.edge).value);
        for (step, above_leaf) in path.iter().rev().zip(0..) {
            let link = *self.tree.link(step.edge);
            if let Fate::Proven(proof, _) | Fate::Ended(proof) = link.fate {
                value = proof.value().unwrap_or(value);
            }
            let visits = f64::from(self.tree.stat(step.edge).visits);
            let child = self.tree.node_mut(link.child);
            // The leaf had no node to estimate.
            if above_leaf > 0 {
                child.sum -= estimate;
            }
            child.sum += f64::from(value);
            let mean = (child.sum / visits) as f32;
            if link.fate == Fate::Open {
                self.tree.stat_mut(step.edge).score = mean;
            }
            value = -value;
            estimate = -estimate;
        }
    }

    fn replay(&self, path: &[Step]) -> W::Cursor {
        let mut cursor = self.world.start();
        for step in path {
            self.world.enter(&mut cursor, step.node, self.tree.link(step.edge).mv);
        }
        cursor
    }
}

#[cfg(test)]
mod tests;
