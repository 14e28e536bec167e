//! Traces of internal search as chains with loss on their response.

use super::{PackedBatch, Packer, tag};
use mavis_data::StoredTrace;
use mavis_lang::{trace::trace_spans, value::bucket_of};

impl Packer {
    /// Entries of soft targets that a trace takes at most: lists may hold many moves.
    #[must_use]
    pub fn trace_targets(trace: StoredTrace<'_>) -> usize {
        let lists = trace_spans(trace.tokens, trace.loss_start).lists;
        trace.tokens.len() + lists.iter().map(|list| list.n_moves * (list.n_moves + 1) / 2).sum::<usize>()
    }

    /// Appends a trace as it reads. Every node weighs as much as an example of its own: its list, its values, its best action and
    /// its text as in a chain, and the lines of the search beside them.
    pub fn push_trace(&self, packed: &mut PackedBatch, trace: StoredTrace<'_>) {
        let StoredTrace { tokens, loss_start } = trace;
        // The last token is never read: nothing follows it.
        let text = self.push_tokens(packed, &tokens[..tokens.len().saturating_sub(1)], loss_start);
        let spans = trace_spans(tokens, loss_start);
        packed.n_examples += 1;
        packed.n_further += spans.n_nodes - 1;
        for &list in &spans.lists {
            let value =
                |idx| bucket_of(tokens[list.value_at(idx)]).map_or(0.5, |bucket| bucket.win_probability());
            let values: Vec<f32> = (0..list.n_moves).map(value).collect();
            let best = values.iter().copied().fold(0.0, f32::max);
            self.push_list_rows(packed, tokens, &text, list, &self.focused(&values, best));
        }
        let mut push = |places: &[usize], total: f32, tag: u8| {
            let weight = total / places.len().max(1) as f32;
            for &at in places.iter().filter(|_| weight > 0.0) {
                packed.rows.push_hard(text.row_before(at), weight, tag, u32::from(tokens[at]));
            }
        };
        let n_nodes = spans.n_nodes as f32;
        push(&spans.best, self.loss.best * spans.best.len() as f32, tag::BEST);
        push(&spans.text, self.loss.text * n_nodes, tag::TEXT);
        push(&spans.search, self.loss.search * n_nodes, tag::SEARCH);
    }
}
