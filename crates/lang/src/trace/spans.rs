//! The places of the parts of a trace, for losses.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    example::ListSpan,
    vocab::{self, Token},
};

/// What the tokens of a response are, as indices into the whole trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceSpans {
    /// Evaluated and finished positions, the root included.
    pub n_nodes: usize,
    /// The lists of moves with their values; the token that closes each belongs to it.
    pub lists: Vec<ListSpan>,
    /// Best actions, and the move that is played at the end.
    pub best: Vec<usize>,
    /// The lines of the search: which node is evaluated, which are expanded, what is compared and selected.
    pub search: Vec<usize>,
    /// Everything else of evaluations: headers, inputs, states, line ends, ends of games.
    pub text: Vec<usize>,
}

/// Sorts the tokens of a trace from `response` on, where its prompt ends; every one of them is in exactly one part.
#[must_use]
pub fn trace_spans(tokens: &[Token], response: usize) -> TraceSpans {
    let mut spans = TraceSpans { n_nodes: 1, ..TraceSpans::default() };
    let is_value = |at: usize| tokens.get(at).is_some_and(|&token| vocab::VALUES.place(token).is_some());
    // The prompt ends within the evaluation of the root.
    let (mut searching, mut evaluating) = (false, false);
    let mut at = response;
    while let Some(&token) = tokens.get(at) {
        match token {
            vocab::EVALUATE => {
                (searching, evaluating) = (true, true);
                spans.n_nodes += 1;
            }
            vocab::EXPAND | vocab::DECIDE => searching = true,
            vocab::PLAY => searching = false,
            _ => {}
        }
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        if searching {
            spans.search.push(at);
        } else if is_value(at + 1) {
            let n_moves = (0..).take_while(|idx| is_value(at + 2 * idx + 1)).count();
            let list = ListSpan { start: at, n_moves, in_turn: false };
            spans.lists.push(list);
            at = list.end();
        } else if matches!(before, Some(&(vocab::BEST_ACTION | vocab::PLAY))) {
            spans.best.push(at);
        } else {
            spans.text.push(at);
        }
        if evaluating && token == vocab::NODE_END {
            (searching, evaluating) = (false, false);
        }
        at += 1;
    }
    spans
}
