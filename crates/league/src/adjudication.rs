//! Ends of games beside the rules, each switched on by the configuration and recorded as the reason.

mod solver;
mod syzygy;

pub use solver::{SolverJudge, standard_judges};
pub use syzygy::SyzygyJudge;

use crate::wire::{AdjudicationConfig, DrawRule, EarlyRule, ResignRule};
use mavis_game::{Game, Outcome, Position, Side};
use mavis_play::{Limit, MoveRecord, Player, PlayerError, Termination, Thought, Turn, Verdict};
use mavis_search::Cancel;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Someone who knows how a position ends under perfect play: a solver, endgame tables.
pub trait ExactJudge<G: Game = Position>: Send + Sync {
    /// The result with best play by both sides; `None` where it is not known.
    fn outcome(&self, position: &G) -> Option<Outcome>;

    /// Whether it knows any positions of a game.
    fn judges(&self, rules: G::Rules) -> bool {
        let _ = rules;
        true
    }
}

/// Exact judges by the name that a configuration uses.
pub type Judges<G = Position> = BTreeMap<String, Arc<dyn ExactJudge<G>>>;

/// Centipawns of a thought: its own, or its win probability through the inverse of paper 001's formula.
#[must_use]
pub fn centipawns(centipawns: Option<i32>, value: Option<f32>) -> Option<i32> {
    // p = 1 / (1 + exp(-0.00368208 cp)); the ends are kept finite.
    centipawns.or_else(|| {
        let p = f64::from(value?).clamp(1e-6, 1.0 - 1e-6);
        Some(((p / (1.0 - p)).ln() / 0.003_682_08).round() as i32)
    })
}

/// Watches one game and ends it where a rule says so.
pub(crate) struct Adjudicator<'a, G: Game> {
    rules: &'a AdjudicationConfig,
    exact: Option<(Arc<dyn ExactJudge<G>>, u32)>,
    early_judge: Option<(&'a mut dyn Player<G>, Limit)>,
    cancel: Cancel,
    /// Who makes the next move.
    to_move: Side,
    /// The last evaluation of each side, from the first side's point of view.
    last: [Option<i32>; 2],
    /// Plies in a row without an evaluation beyond the draw rule's.
    quiet_plies: u32,
    /// Moves in a row in which each side saw itself lost.
    lost_moves: [u32; 2],
    /// Why the early judge will not judge again; the game is cancelled then.
    pub(crate) broken: Option<String>,
}

impl<'a, G: Game> Adjudicator<'a, G> {
    pub(crate) fn new(rules: &'a AdjudicationConfig, judges: &Judges<G>, start: &G) -> Self {
        let exact = rules
            .exact
            .as_ref()
            .and_then(|exact| judges.get(&exact.judge).map(|judge| (Arc::clone(judge), exact.from_ply)));
        Self {
            rules,
            exact,
            early_judge: None,
            cancel: Cancel::new(),
            to_move: start.side_to_move(),
            last: [None; 2],
            quiet_plies: 0,
            lost_moves: [0; 2],
            broken: None,
        }
    }

    /// Lets a player judge early ends instead of the two who play.
    pub(crate) fn with_early_judge(
        mut self,
        judge: &'a mut dyn Player<G>,
        limit: Limit,
        cancel: Cancel,
    ) -> Self {
        self.early_judge = Some((judge, limit));
        self.cancel = cancel;
        self
    }

    /// Called after each move with the position it led to.
    pub(crate) fn moved(&mut self, made: &MoveRecord, position: &G) -> Option<Verdict> {
        let side = self.to_move;
        self.to_move = position.side_to_move();
        let own = centipawns(made.thought.centipawns, made.thought.value);
        self.last[side.index()] = own.map(|cp| if side == Side::First { cp } else { -cp });
        self.by_exact(position)
            .or_else(|| self.by_early(position))
            .or_else(|| self.rules.resign.as_ref().and_then(|rule| self.by_resign(rule, side, own)))
            .or_else(|| self.rules.draw.as_ref().and_then(|rule| self.by_draw(rule, own, position)))
    }

    fn by_exact(&self, position: &G) -> Option<Verdict> {
        let (judge, from_ply) = self.exact.as_ref()?;
        if position.ply() < *from_ply || position.outcome().is_some() {
            return None;
        }
        let exact = self.rules.exact.as_ref().map_or("", |exact| exact.judge.as_str());
        let name = exact.split(':').next().unwrap_or("");
        judge.outcome(position).map(|outcome| verdict(outcome, format!("{name}: {outcome} with best play")))
    }

    fn by_early(&mut self, position: &G) -> Option<Verdict> {
        let EarlyRule { centipawns: decisive, .. } = self.rules.early.as_ref()?;
        let (evaluations, who) = match &mut self.early_judge {
            Some((judge, limit)) => {
                let cp = match judged(*judge, limit, &self.cancel, position) {
                    Ok(cp) => cp?,
                    Err(reason) => {
                        self.broken = Some(reason);
                        self.cancel.cancel();
                        return None;
                    }
                };
                ([cp; 2], "the judge sees")
            }
            None => ([self.last[0]?, self.last[1]?], "both players see"),
        };
        let outcome = if evaluations.iter().all(|cp| cp >= decisive) {
            Outcome::Win(Side::First)
        } else if evaluations.iter().all(|cp| *cp <= -decisive) {
            Outcome::Win(Side::Second)
        } else {
            return None;
        };
        Some(verdict(outcome, format!("{who} an advantage of {decisive} centipawns or more")))
    }

    fn by_resign(&mut self, rule: &ResignRule, side: Side, own: Option<i32>) -> Option<Verdict> {
        let lost = &mut self.lost_moves[side.index()];
        *lost = if own.is_some_and(|cp| cp <= -rule.centipawns) { *lost + 1 } else { 0 };
        let seen_by_other = || {
            let first_view = self.last[side.other().index()];
            let other_view = first_view.map(|cp| if side == Side::Second { cp } else { -cp });
            other_view.is_some_and(|cp| cp >= rule.centipawns)
        };
        (*lost >= rule.moves.max(1) && (!rule.both || seen_by_other())).then(|| {
            let reason = format!("{} moves in a row at -{} centipawns or worse", rule.moves, rule.centipawns);
            verdict(Outcome::Win(side.other()), reason)
        })
    }

    fn by_draw(&mut self, rule: &DrawRule, own: Option<i32>, position: &G) -> Option<Verdict> {
        let quiet = own.is_some_and(|cp| cp.abs() <= rule.centipawns);
        self.quiet_plies = if quiet { self.quiet_plies + 1 } else { 0 };
        let late = position.ply() / 2 >= rule.from_move;
        (late && self.quiet_plies >= 2 * rule.moves.max(1)).then(|| {
            let reason = format!("{} moves of each side within {} centipawns", rule.moves, rule.centipawns);
            verdict(Outcome::Draw, reason)
        })
    }
}

fn verdict(outcome: Outcome, reason: String) -> Verdict {
    Verdict { outcome, termination: Termination::Adjudication(reason) }
}

/// A judge's evaluation from the first side's point of view; the error is that of a network which failed.
fn judged<G: Game>(
    judge: &mut dyn Player<G>,
    limit: &Limit,
    cancel: &Cancel,
    position: &G,
) -> Result<Option<i32>, String> {
    if position.outcome().is_some() {
        return Ok(None);
    }
    let mut last = Thought::default();
    let mut turn = Turn {
        start: position,
        moves: &[],
        position,
        limit: limit.clone(),
        cancel: cancel.clone(),
        sink: &mut |thought: &Thought| last = thought.clone(),
    };
    let thought = match judge.choose(&mut turn) {
        Ok(choice) => choice.thought,
        Err(PlayerError::Broken(reason)) => return Err(reason),
        Err(_) => last,
    };
    let own = centipawns(thought.centipawns, thought.value);
    Ok(own.map(|own| if position.side_to_move() == Side::First { own } else { -own }))
}
