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
    /// The best of the children decided so far.
    Child,
    /// The best action of the root, or the highest value of its complete list.
    List,
    /// The highest value of a list that breaks off.
    PartOfList,
}

impl Source {
    /// The source in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Played => "its last line",
            Self::Decision => "the decision at the root",
            Self::Child => "the best decision so far",
            Self::List | Self::PartOfList => "the best listed move",
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
    let value = |mv: Move| {
        let decision = decided.filter(|decision| decision.selected == Some(mv));
        let listed = root.moves.iter().find(|(other, _)| *other == mv).map(|(_, value)| *value);
        decision
            .map(|decision| decision.value.win_probability())
            .or_else(|| tree::searched(progress, 0, mv))
            .or(listed.map(mavis_value::Bucket::win_probability))
    };
    let found = |mv: Option<Move>, source| {
        mv.filter(|&mv| allowed(mv)).map(|mv| Chosen { mv, value: value(mv), source })
    };
    let children = root.children.iter().filter_map(|&(mv, _)| {
        let value = tree::searched(progress, 0, mv).filter(|_| allowed(mv))?;
        Some((mv, value))
    });
    let best_child = children.reduce(|best, next| if next.1 > best.1 { next } else { best });
    let listed = root.moves.iter().copied().filter(|(mv, _)| allowed(*mv));
    let highest = listed.reduce(|best, next| if next.1 > best.1 { next } else { best });
    found(progress.played(), Source::Played)
        .or_else(|| found(decided.and_then(|decision| decision.selected), Source::Decision))
        .or_else(|| found(best_child.map(|(mv, _)| mv), Source::Child))
        .or_else(|| found(root.best, Source::List))
        .or_else(|| {
            let source = if root.best.is_some() { Source::List } else { Source::PartOfList };
            found(highest.map(|(mv, _)| mv), source)
        })
}
