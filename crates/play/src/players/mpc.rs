//! MPC-MC, a stronger player made of weaker ones (paper 003).
//!
//! At each move every legal move is tried: a nominal opponent replies to it, and an evaluator judges the position that
//! results. The move whose position is judged best is played. Both are any players; each call starts from nothing, so
//! that neither a hash nor a tree is carried over. All calls of a move run at once over a pool ([`pool`]); what each may
//! spend is split from the move's limit ([`budget`]).

mod branch;
mod budget;
mod explore;
mod pool;
mod settings;
mod worth;

pub use pool::Maker;
pub use settings::{MpcSettings, Steps};

use super::greedy::without_opinion;
use crate::{Analysis, Choice, MoveAnalysis, Player, PlayerError, Thought, Turn};
use branch::Branch;
use budget::Budget;
use explore::Explorer;
use mavis_game::{Game as _, Position, Rules};
use pool::{Makers, Pool, Seat};
use std::{cmp::Ordering, sync::Arc, time::Instant};
use worth::Worth;

/// Plays the move after whose predicted reply the evaluator likes the position best.
pub struct MpcPlayer {
    name: String,
    settings: MpcSettings,
    pool: Pool,
    seed: u64,
}

impl MpcPlayer {
    /// A player over an evaluator and a nominal opponent, which is the evaluator itself where none is given.
    ///
    /// # Errors
    /// When a player cannot be made, or the evaluator gives no values.
    pub fn new(
        settings: MpcSettings,
        evaluator: Maker,
        opponent: Option<Maker>,
        seed: u64,
    ) -> Result<Self, String> {
        let judge = evaluator(0).map_err(|reason| format!("evaluator: {reason}"))?;
        if !judge.evaluates() {
            return Err(format!("the evaluator '{}' gives no value of a position", judge.name()));
        }
        let opponent = opponent.filter(|_| settings.steps != Steps::Half);
        let replier = opponent
            .as_ref()
            .map(|make| make(0).map_err(|reason| format!("opponent: {reason}")))
            .transpose()?;
        let name = name(&settings, &judge.name(), replier.as_ref().map(|player| player.name()));
        let seat = Seat { evaluator: Some(judge), opponent: replier };
        let pool = Pool::start(settings.threads, Makers { evaluator, opponent }, seat)?;
        Ok(Self { name, settings, pool, seed })
    }
}

impl Player for MpcPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        self.pool.ready_for(rules)
    }

    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        let budget = Budget::new(&turn.limit, &self.settings.per_call, Instant::now());
        self.pool.begin().map_err(PlayerError::Failed)?;
        let mut branches = first_step(&self.settings, turn);
        let n_moves = branches.len();
        let mut explorer = Explorer {
            pool: &mut self.pool,
            budget,
            cancel: &turn.cancel,
            start: Arc::new(turn.start.clone()),
            played: turn.moves,
            root: turn.position.side_to_move(),
            seed: self.seed,
            n_calls: 0,
            nodes: 0,
            failure: None,
            cut_short: false,
        };
        let n_later = match self.settings.steps {
            Steps::Two => 2 * self.settings.width.min(n_moves) * n_moves,
            Steps::Half | Steps::One => 0,
        };
        let mut reporter = Reporter { position: turn.position, best: None, sink: turn.sink };
        explorer.explore(&mut branches, n_later, &mut |branch, nodes| reporter.report(branch, nodes))?;
        let own = branches.pop_if(|branch| branch.moves.is_empty());
        // A stable sort: equals stay in the order of the rules.
        branches.sort_by(|a, b| compare(b, a));
        if self.settings.steps == Steps::Two {
            second_step(self.settings.width, &mut explorer, &mut branches)?;
        }
        let Explorer { nodes, failure, cut_short, .. } = explorer;
        let fallback = own.as_ref().and_then(|own| fortify(&mut branches, own, turn));
        let moves = branches.iter().filter_map(opinion).collect();
        let Some(mut analysis) = Analysis::of_moves(moves, nodes) else {
            return match (cut_short, failure) {
                (false, Some(reason)) => Err(PlayerError::Failed(reason)),
                (_, reason) => without_opinion(turn, &reason.unwrap_or("no evaluation in time".to_owned())),
            };
        };
        analysis.choice.thought.depth = branches.first().map_or(0, depth);
        analysis.choice.thought.note = fallback.or_else(|| {
            let n_open = branches.iter().filter(|branch| branch.next.is_some()).count();
            (n_open > 0).then(|| format!("time was up with {n_open} of {} moves not judged", branches.len()))
        });
        analysis.report(&turn.limit, turn.sink);
        Ok(analysis)
    }
}

/// Every legal move, and after them the root itself where the evaluator's own move is wanted.
fn first_step(settings: &MpcSettings, turn: &Turn<'_>) -> Vec<Branch> {
    let root = Branch::root(turn.position.clone());
    let side = turn.position.side_to_move();
    let replies = settings.steps != Steps::Half;
    let allowed = turn.position.legal_moves().into_iter().filter(|&mv| turn.limit.allows(mv));
    let mut branches: Vec<Branch> = allowed.map(|mv| root.child(mv, side, replies)).collect();
    if settings.fortified {
        branches.push(root);
    }
    branches
}

/// Looks further into the `width` best branches, which are the first, and sorts them by what it finds there.
fn second_step(
    width: usize,
    explorer: &mut Explorer<'_>,
    branches: &mut [Branch],
) -> Result<(), PlayerError> {
    let root = explorer.root;
    let width = width.min(branches.len());
    let best = &mut branches[..width];
    let (mut children, mut parents) = (Vec::new(), Vec::new());
    for (parent, branch) in best.iter().enumerate() {
        // A forced end that the first step found is certain; a later look with the same limit may miss it.
        let is_open = branch.worth.is_some_and(|worth| worth.mate().is_none());
        let goes_on = is_open && !branch.is_over() && branch.position.side_to_move() == root;
        for mv in branch.position.legal_moves().into_iter().filter(|_| goes_on) {
            children.push(branch.child(mv, root, true));
            parents.push(parent);
        }
    }
    explorer.explore(&mut children, 0, &mut |_, _| {})?;
    for (parent, branch) in best.iter_mut().enumerate() {
        let family = children.iter().zip(&parents).filter(|(_, of)| **of == parent).map(|(child, _)| child);
        // The first of equals, as everywhere.
        if let Some(found) = family.rev().filter(|child| child.worth.is_some()).max_by(|a, b| compare(a, b)) {
            *branch = found.clone();
        }
    }
    best.sort_by(|a, b| compare(b, a));
    Ok(())
}

/// Puts the evaluator's own move first where the evaluator thinks more of its position than the best branch promises.
///
/// The note says so; `None` where nothing changed.
fn fortify(branches: &mut [Branch], own: &Branch, turn: &Turn<'_>) -> Option<String> {
    let (worth, &mv) = (own.worth?, own.expected.first()?);
    let promised = branches.first().and_then(|best| best.worth);
    if promised.is_some_and(|promised| worth.compare(&promised) != Ordering::Greater) {
        return None;
    }
    let at = branches.iter().position(|branch| branch.moves.first() == Some(&mv))?;
    if at == 0 && promised.is_some() {
        // Both want the same move.
        return None;
    }
    branches[..=at].rotate_right(1);
    branches[0].worth = Some(worth);
    Some(format!("fortified: {} is the evaluator's own move", turn.position.move_text(mv)))
}

/// Greater is better for the root; a branch without a value is worse than any.
fn compare(a: &Branch, b: &Branch) -> Ordering {
    match (&a.worth, &b.worth) {
        (Some(a), Some(b)) => a.compare(b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// A branch as what the player thinks of its first move; `None` without a value.
fn opinion(branch: &Branch) -> Option<MoveAnalysis> {
    let worth = branch.worth.as_ref()?;
    let plain = MoveAnalysis::plain(*branch.moves.first()?);
    let value = Some(worth.probability());
    let (centipawns, mate) = (worth.centipawns(), worth.mate());
    Some(MoveAnalysis { value, centipawns, mate, line: branch.line(), ..plain })
}

/// Plies of the line and, beyond it, of the evaluator's search.
fn depth(branch: &Branch) -> u32 {
    branch.moves.len() as u32 + branch.depth
}

/// Reports each root move with its predicted reply and value as they come, and the best so far.
struct Reporter<'a> {
    position: &'a Position,
    best: Option<Worth>,
    sink: &'a mut dyn FnMut(&Thought),
}

impl Reporter<'_> {
    fn report(&mut self, branch: &Branch, nodes: u64) {
        let (Some(worth), false) = (branch.worth, branch.moves.is_empty()) else { return };
        let mut after = self.position.clone();
        let mut texts = branch.moves.iter().map(|&mv| {
            let text = after.move_text(mv);
            after.play_unchecked(mv);
            text
        });
        let value = match (worth.mate(), worth.centipawns()) {
            (Some(moves), _) => format!("mate {moves}"),
            (_, Some(score)) => format!("cp {score}"),
            _ => format!("{:.1} %", 100.0 * worth.probability()),
        };
        let mv = texts.next().unwrap_or_default();
        let reply = texts.next().map_or_else(String::new, |reply| format!(" reply {reply}"));
        let note = Some(format!("{mv}{reply} value {value}"));
        (self.sink)(&Thought { note, ..Thought::default() });
        if self.best.is_none_or(|best| worth.compare(&best) == Ordering::Greater) {
            self.best = Some(worth);
            if let Some(opinion) = opinion(branch) {
                (self.sink)(&Thought { depth: depth(branch), ..opinion.thought(1, nodes) });
            }
        }
    }
}

/// The two players and what differs from a plain one-step lookahead.
fn name(settings: &MpcSettings, evaluator: &str, opponent: Option<String>) -> String {
    let opponent = opponent.filter(|name| name != evaluator).map(|name| format!(" against {name}"));
    let steps = match settings.steps {
        Steps::Half => "half a step".to_owned(),
        Steps::One => "one step".to_owned(),
        Steps::Two => format!("two steps, best {}", settings.width),
    };
    let fortified = if settings.fortified { ", fortified" } else { "" };
    format!("mpc ({evaluator}{}, {steps}{fortified})", opponent.unwrap_or_default())
}
