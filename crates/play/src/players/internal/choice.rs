//! Which move to play by a trace, finished or not.

use super::tree;
use mavis_game::Move;
use mavis_lang::trace::TraceProgress;

/// Where a move comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The last line.
    Played,
    /// The decision at the root.
    Decision,
    /// The best move by what is known once a child is decided: its search, or its value in the root's list where there is none yet.
    Child,
    /// The best action of the root, or the highest value of its list.
    List,
}

impl Source {
    /// The source in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Played => "its last line",
            Self::Decision => "the decision at the root",
            Self::Child => "the best decision so far",
            Self::List => "the best listed move",
        }
    }

    /// Whether the trace was followed to its end.
    #[must_use]
    pub fn is_played(self) -> bool {
        self == Self::Played
    }
}

/// A move with its reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chosen {
    /// The move.
    pub mv: Move,
    /// Its win probability for the player who makes it, where the trace says.
    pub value: Option<f32>,
    /// Where it comes from.
    pub source: Source,
}

/// The move of a trace that may be played: its last line, else the best decision so far, else the best listed move.
#[must_use]
pub fn choose(progress: &TraceProgress, allowed: impl Fn(Move) -> bool) -> Option<Chosen> {
    let root = &progress.nodes()[0];
    let decided = root.decision.as_ref();
    // A child that is not decided yet keeps its listed value: one that came to little must not win because it was the first.
    let known = |mv: Move| {
        let listed = root.moves.iter().find(|(other, _)| *other == mv);
        tree::searched(progress, 0, mv).or(listed.map(|(_, value)| value.win_probability()))
    };
    let value = |mv: Move| {
        let decision = decided.filter(|decision| decision.selected == Some(mv));
        decision.map(|decision| decision.value.win_probability()).or_else(|| known(mv))
    };
    let found = |mv: Option<Move>, source| {
        mv.filter(|&mv| allowed(mv)).map(|mv| Chosen { mv, value: value(mv), source })
    };
    let best_of = |known: &mut dyn Iterator<Item = (Move, f32)>| {
        let known = known.filter(|(mv, _)| allowed(*mv));
        known.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(mv, _)| mv)
    };
    let has_decided = root.children.iter().any(|(mv, _)| tree::searched(progress, 0, *mv).is_some());
    let child = best_of(&mut root.children.iter().filter_map(|&(mv, _)| Some((mv, known(mv)?))))
        .filter(|_| has_decided);
    let highest = best_of(&mut root.moves.iter().map(|&(mv, value)| (mv, value.win_probability())));
    found(progress.played(), Source::Played)
        .or_else(|| found(decided.and_then(|decision| decision.selected), Source::Decision))
        .or_else(|| found(child, Source::Child))
        .or_else(|| found(root.best, Source::List))
        .or_else(|| found(highest, Source::List))
}
