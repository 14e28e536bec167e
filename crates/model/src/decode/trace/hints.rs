//! What is known of a list before it is written.

use mavis_game::Move;
use mavis_lang::{
    Token, Top, moves,
    trace::{Due, TraceProgress},
    value::value_token,
};
use mavis_value::{Bucket, Scoring};

/// Guesses for the node in hand. They need not be right, as every one is checked.
#[derive(Default)]
pub(super) struct Hints {
    /// Which node they are about: the number of nodes when its list began.
    node: usize,
    /// Where its list begins among the tokens.
    list_at: Option<usize>,
    /// The moves still to list, the likeliest next one first.
    order: Vec<Move>,
    /// The value of each move as if it were listed next: the one to be written, and the mean.
    values: Vec<(Move, Bucket, f32)>,
    /// Guesses that proved right and all that were checked: moves of lists, values, choices by value.
    checked: [(f32, f32); 3],
}

/// The kinds of guess.
fn kind(due: Due) -> Option<usize> {
    match due {
        Due::Listed => Some(0),
        Due::Value(_) => Some(1),
        Due::Best | Due::Child => Some(2),
        Due::Token(_) | Due::Unknown => None,
    }
}

impl Hints {
    /// How likely a guess of this kind is right, by those of this trace so far; two of three before there are any.
    pub(super) fn trust(&self, due: Due) -> f32 {
        let (right, all) = kind(due).map_or((0.0, 0.0), |kind| self.checked[kind]);
        (right + 2.0) / (all + 3.0)
    }

    /// Counts a guess that was checked.
    pub(super) fn learn(&mut self, due: Due, is_right: bool) {
        if let Some(kind) = kind(due) {
            let (right, all) = &mut self.checked[kind];
            *right += f32::from(u8::from(is_right));
            *all += 1.0;
        }
    }

    /// Whether values of the node in hand are known.
    pub(super) fn know(&self, progress: &TraceProgress) -> bool {
        self.node == progress.nodes().len() && !self.values.is_empty()
    }

    /// Takes the logits of the place where a move is listed.
    pub(super) fn order(&mut self, progress: &TraceProgress, logits: &[f32]) {
        let rules = progress.shape().rules;
        let logit = |mv: Move| {
            let token = moves::token_of(rules, mv).map_or(usize::MAX, usize::from);
            logits.get(token).copied().unwrap_or(f32::NEG_INFINITY)
        };
        let mut order: Vec<(Move, f32)> = progress.unlisted().map(|mv| (mv, logit(mv))).collect();
        order.sort_by(|one, other| other.1.total_cmp(&one.1));
        self.turn_to(progress);
        self.order = order.into_iter().map(|(mv, _)| mv).collect();
        if progress.opens_list() {
            self.list_at = Some(progress.tokens().len());
        }
    }

    /// Takes the logits after each of some moves that may be listed next.
    pub(super) fn values<'a>(
        &mut self,
        progress: &TraceProgress,
        scoring: Scoring,
        rows: impl Iterator<Item = (Move, &'a [f32])>,
    ) {
        self.turn_to(progress);
        self.values.extend(rows.map(|(mv, logits)| {
            let (bucket, mean) = super::written_value(logits, scoring);
            (mv, bucket, mean)
        }));
    }

    fn turn_to(&mut self, progress: &TraceProgress) {
        if self.node != progress.nodes().len() {
            self.node = progress.nodes().len();
            self.list_at = None;
            self.values.clear();
        }
    }

    /// The place where the list of the node in hand begins, and the moves that it probably lists beside those it has.
    pub(super) fn likely(&self, progress: &TraceProgress) -> Option<(usize, Vec<Move>)> {
        let list_at = self.list_at.filter(|_| self.node == progress.nodes().len())?;
        let unlisted: Vec<Move> = progress.unlisted().collect();
        let n_missing = match progress.shape().top {
            Top::Best(k) => usize::from(k).saturating_sub(progress.current().moves.len() + 1),
            Top::All => unlisted.len(),
        };
        // Not all that look likely are listed.
        let likely = self.order.iter().copied().filter(|mv| unlisted.contains(mv));
        let likely: Vec<Move> = likely.take(n_missing + n_missing / 2).collect();
        (!likely.is_empty()).then_some((list_at, likely))
    }

    /// A guess at what is due.
    pub(super) fn guess(&self, progress: &TraceProgress, due: Due) -> Option<Token> {
        if self.node != progress.nodes().len() {
            return None;
        }
        let node = progress.current();
        let mv = match due {
            Due::Token(token) => return Some(token),
            Due::Value(mv) => return self.value(mv).map(|(_, bucket, _)| value_token(*bucket)),
            Due::Listed => {
                let unlisted: Vec<Move> = progress.unlisted().collect();
                self.order.iter().copied().find(|mv| unlisted.contains(mv))?
            }
            Due::Best | Due::Child => {
                let is_free =
                    |mv: &Move| due == Due::Best || !node.children.iter().any(|(other, _)| other == mv);
                // Among equal values the best action comes first, then the finer value decides.
                let rank = |&(mv, bucket): &(Move, Bucket)| {
                    (bucket, node.best == Some(mv), self.value(mv).map_or(0.0, |(_, _, mean)| *mean))
                };
                let free = node.moves.iter().filter(|(mv, _)| is_free(mv));
                let highest = free.reduce(|best, next| if rank(next) > rank(best) { next } else { best });
                highest.map(|(mv, _)| *mv)?
            }
            Due::Unknown => return None,
        };
        moves::token_of(progress.shape().rules, mv)
    }

    fn value(&self, mv: Move) -> Option<&(Move, Bucket, f32)> {
        self.values.iter().find(|(other, ..)| *other == mv)
    }
}
