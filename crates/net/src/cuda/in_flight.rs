//! The passes that run on GPUs now. A fault of the device is reported at some later call, of any network that shares the context, so its error
//! names every pass that may have caused it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::network::Extent;
use crate::batch::Batch;
use crate::error::NetError;

/// What a pass of a decoder runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassSizes {
    n_tokens: usize,
    n_sequences: usize,
    /// Tokens of the longest sequence, without cached ones.
    longest: usize,
    /// Most branches of a sequence.
    most_branches: usize,
    /// Rows of logits.
    n_rows: usize,
}

impl PassSizes {
    /// Those of a batch with so many wanted rows.
    pub(super) fn new(batch: &Batch, n_rows: usize) -> Self {
        let (mut longest, mut most_branches) = (0, 0);
        for range in (0..batch.n_sequences()).map(|sequence| batch.sequence(sequence)) {
            longest = longest.max(range.len());
            // Tokens of one branch have one start, and no two branches have the same.
            let starts = &batch.branch_start[range];
            let begins = starts.windows(2).filter(|pair| pair[1] > pair[0]).count();
            most_branches = most_branches.max(begins + usize::from(starts.first().is_some_and(|s| *s > 0)));
        }
        let (n_tokens, n_sequences) = (batch.len(), batch.n_sequences());
        Self { n_tokens, n_sequences, longest, most_branches, n_rows }
    }
}

/// How a pass is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// From a recorded graph.
    Graph,
    /// One operation after the other; algorithms of new products are timed before.
    Operations,
}

/// A pass and how it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) sizes: PassSizes,
    /// The sizes it is rounded up to.
    pub(super) extent: Extent,
    pub(super) n_columns: usize,
    /// Keys lie in caches.
    pub(super) paged: bool,
    pub(super) start: Start,
    /// Passes that its decoder finished before.
    pub(super) n_before: u64,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sizes, extent, n_columns, paged, start, n_before } = self;
        write!(
            f,
            "{} pass of {} tokens (run as {}) in {} sequences, longest {}, most branches {}, {} rows (run as {}) of {n_columns} \
             columns, {} tiles, {}, after {n_before} passes of its decoder",
            if *paged { "paged" } else { "flat" },
            sizes.n_tokens,
            extent.n_tokens,
            sizes.n_sequences,
            sizes.longest,
            sizes.most_branches,
            sizes.n_rows,
            extent.n_rows,
            extent.n_tiles,
            match start {
                Start::Graph => "from its graph",
                Start::Operations => "one operation after the other",
            },
        )
    }
}

/// Passes under way; ids tell equal ones apart.
static PASSES: Mutex<Passes> = Mutex::new(Passes { next_id: 0, under_way: Vec::new() });

struct Passes {
    next_id: u64,
    under_way: Vec<(u64, Pass)>,
}

fn passes() -> MutexGuard<'static, Passes> {
    PASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pass that is under way as long as this lives.
pub(super) struct UnderWay(u64);

impl UnderWay {
    /// A pass begins.
    pub(super) fn begin(pass: Pass) -> Self {
        let mut passes = passes();
        let id = passes.next_id;
        passes.next_id += 1;
        passes.under_way.push((id, pass));
        Self(id)
    }

    /// An error of the device with this pass, its products and the passes beside it; other errors as they are.
    pub(super) fn explain(&self, error: NetError, products: impl FnOnce() -> String) -> NetError {
        let NetError::Device(reason) = error else { return error };
        let passes = passes();
        let (own, others): (Vec<_>, Vec<_>) = passes.under_way.iter().partition(|(id, _)| *id == self.0);
        let list =
            |passes: Vec<&(u64, Pass)>| passes.iter().map(|(_, pass)| pass.to_string()).collect::<Vec<_>>();
        let beside = list(others);
        let beside = if beside.is_empty() { "nothing".to_owned() } else { beside.join("; ") };
        let own = list(own).concat();
        NetError::Device(format!("{reason} [in a {own}; its products: {}; beside it: {beside}]", products()))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        passes().under_way.retain(|(id, _)| *id != self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(batch: &Batch, paged: bool) -> Pass {
        let extent =
            Extent { n_tokens: 128, n_tiles: 4, n_rows: 64, n_walked: 4, n_spans: Default::default() };
        let sizes = PassSizes::new(batch, 3);
        Pass { sizes, extent, n_columns: 64, paged, start: Start::Graph, n_before: 7 }
    }

    #[test]
    fn an_error_of_the_device_names_the_passes_under_way() {
        let mut batch = Batch::default();
        batch.push_prompted(&[1; 20], 20);
        batch.push_branch(&[2], 20, 20, 0);
        batch.push_branch(&[3, 4], 20, 20, 0);
        batch.push_branch(&[5], 20, 20, 0);
        batch.push_causal(&[1; 30]);
        let own = UnderWay::begin(pass(&batch, false));
        let other = UnderWay::begin(pass(&batch, true));
        let text = own.explain(NetError::Device("waiting".into()), || "two".into()).to_string();
        let sizes = "pass of 54 tokens (run as 128) in 2 sequences, longest 30, most branches 3, 3 rows (run as 64) of 64 columns, \
                     4 tiles, from its graph, after 7 passes of its decoder";
        assert!(
            text.starts_with(&format!("device: waiting [in a flat {sizes}; its products: two; beside it: ")),
            "{text}"
        );
        assert!(text.contains(&format!("paged {sizes}")) && !text.contains('\n'), "{text}");
        drop(other);
        let text = own.explain(NetError::Device("waiting".into()), || "two".into()).to_string();
        assert!(!text.contains("paged"), "{text}");
        let length = NetError::Length { what: "rows", expected: 1, got: 2 };
        assert_eq!(own.explain(length, String::new).to_string(), "rows: expected 1 elements, got 2");
    }

    #[test]
    fn branches_count_from_the_start_of_a_cache_too() {
        let mut batch = Batch::default();
        batch.begin();
        (0..5).for_each(|_| batch.push_branch(&[1], 90, 90, 90));
        assert_eq!(PassSizes::new(&batch, 5).most_branches, 5);
        assert_eq!(PassSizes::new(&Batch::default(), 0).longest, 0);
    }
}
