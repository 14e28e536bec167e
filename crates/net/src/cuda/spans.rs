//! Short sequences: attention takes each as a whole, forward and backward in one launch each instead of three over tiles.

use super::gpu::SharedMemory;
use crate::config::TransformerConfig;

/// Tokens of a tile; `SIDE` in `attention_short.cu`.
const SIDE: usize = 16;

/// Bytes of the gradients of a tile's scores.
const SLOT: usize = SIDE * SIDE * 2;

/// Most kinds of launch.
pub(super) const MAX_CLASSES: usize = 4;

/// Spans of a launch are filled up to a multiple of this, so that few graphs are needed.
const STEP: usize = 64;

/// A launch of its own pays when it fills the GPU so many times; sequences too few for that join those of the next class.
const WAVES: usize = 6;

/// Words of a span: first token, tokens, first view, unused tokens.
pub(super) const SPAN: usize = 4;

/// Words of the view of a tile of queries: tiles of keys some see (and where the first slot is), tiles all see.
pub(super) const VIEW: usize = 2;

/// Entry points of the forward and the backward pass, and the tiles their blocks have room for.
const KERNELS: [([&str; 2], usize); 3] = [
    (["attention_fwd_8", "attention_bwd_8"], 8),
    (["attention_fwd_10", "attention_bwd_10"], 10),
    (["attention_fwd_16", "attention_bwd_16"], 16),
];

/// Those that are compiled for a shape: none where the gradients of two tiles of keys do not fit into registers.
fn served(config: &TransformerConfig) -> impl Iterator<Item = ([&'static str; 2], usize)> + use<> {
    let columns = config.head_dim();
    KERNELS.into_iter().filter(move |(_, n_tiles)| columns <= 32 || (columns <= 64 && *n_tiles != 10))
}

/// Entry points for this shape.
pub(super) fn kernels(config: &TransformerConfig) -> impl Iterator<Item = &'static str> + use<> {
    served(config).flat_map(|kernel| kernel.0)
}

/// One kind of launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Entry points of the forward and the backward pass.
    pub(super) names: [&'static str; 2],
    /// Tiles of 16 tokens a sequence may have.
    pub(super) n_tiles: usize,
    /// Tiles of scores that half its queries may see.
    pub(super) n_slots: usize,
    /// Sequences that are worth a launch.
    pub(super) n_worth: usize,
}

impl Class {
    /// The kinds of launch that serve a shape on a device, the smallest first.
    pub(super) fn all(config: &TransformerConfig, memory: SharedMemory, n_sms: usize) -> Vec<Self> {
        let mut classes = Vec::new();
        for (names, n_tiles) in served(config) {
            let class = Self { names, n_tiles, n_slots: 0, n_worth: 0 };
            // As many blocks of a multiprocessor as registers allow (`SPAN_BLOCKS`), if there is shared memory for a causal mask.
            let blocks = if config.head_dim() > 32 { 8 } else { 16 } / (n_tiles / 2);
            let (causal, full) = (n_tiles * (n_tiles + 1) / 4 + 1, n_tiles * n_tiles / 2);
            let with = |blocks: usize| {
                let room = (memory.of_multiprocessor / blocks).saturating_sub(memory.reserved);
                let free = room.min(memory.of_block).checked_sub(class.shared(config))?;
                let n_worth = WAVES * blocks * n_sms / config.n_heads;
                Some(Self { n_slots: full.min(free / SLOT), n_worth, ..class })
            };
            classes.extend((1..=blocks).rev().filter_map(with).find(|class| class.n_slots >= causal));
            // The longest may also see everything.
            let longest = with(1).filter(|class| class.n_slots == full && n_tiles == 16);
            classes.extend(longest.filter(|class| classes.last() != Some(class)));
        }
        classes
    }

    /// Dynamic shared memory of a block of the forward pass in bytes.
    pub(super) fn shared_forward(&self, config: &TransformerConfig) -> usize {
        self.n_tiles * SIDE * (3 * config.head_dim() * 2 + 4) + self.n_tiles * 8
    }

    /// Dynamic shared memory of a block of the backward pass in bytes.
    pub(super) fn shared(&self, config: &TransformerConfig) -> usize {
        let rows = self.n_tiles * SIDE;
        let gains = if config.qk_norm { self.n_tiles * config.head_dim() * 4 } else { 0 };
        rows * (4 * config.head_dim() * 2 + 8 + 4) + self.n_tiles * 8 + gains + self.n_slots * SLOT
    }

    /// Threads of a block: as many as rows.
    pub(super) fn threads(&self) -> usize {
        self.n_tiles * SIDE
    }
}

/// What the tiles of a sequence see, and how many tiles of scores half of them needs.
pub(super) struct Views {
    words: Vec<[u32; VIEW]>,
    n_slots: usize,
}

impl Views {
    /// Of a sequence of up to 16 tiles.
    fn new(prefix_end: &[u32], branch_start: &[u32]) -> Self {
        let lowest = |n: usize| (1u32 << n) - 1;
        let whole = lowest(prefix_end.len() / SIDE);
        let mut n_slots = [0, 0];
        let mut words = Vec::with_capacity(prefix_end.len().div_ceil(SIDE));
        for (tile, (ends, starts)) in prefix_end.chunks(SIDE).zip(branch_start.chunks(SIDE)).enumerate() {
            let (mut some, mut all) = (0, whole);
            for (i, (&end, &start)) in (tile * SIDE..).zip(ends.iter().zip(starts)) {
                let (end, start) = (end as usize, (start as usize).min(i + 1));
                let branch = lowest((i + 1).div_ceil(SIDE)) & !lowest(start / SIDE);
                some |= lowest(end.div_ceil(SIDE)) | if start <= i { branch } else { 0 };
                // A tile may be seen partly as prefix and partly as branch.
                let joint = u32::from(start <= end && i + 1 >= (end / SIDE + 1) * SIDE) << (end / SIDE);
                let branch = lowest((i + 1) / SIDE) & !lowest(start.div_ceil(SIDE));
                all &= lowest(end / SIDE) | branch | joint;
            }
            let half = &mut n_slots[usize::from(matches!(tile % 4, 1 | 2))];
            words.push([some | (*half as u32) << 16, all]);
            *half += some.count_ones() as usize;
        }
        Self { words, n_slots: n_slots[0].max(n_slots[1]) }
    }
}

/// The short sequences of a batch, by kind of launch.
pub(super) struct Spans<'a> {
    classes: &'a [Class],
    lists: [Vec<(usize, [u32; SPAN])>; MAX_CLASSES],
    views: Vec<[u32; VIEW]>,
}

impl<'a> Spans<'a> {
    /// None yet.
    pub(super) fn new(classes: &'a [Class]) -> Self {
        Self { classes, lists: Default::default(), views: Vec::new() }
    }

    /// Takes a sequence that begins at `start`, if it is short enough for one of the classes.
    pub(super) fn take(&mut self, start: usize, prefix_end: &[u32], branch_start: &[u32]) -> bool {
        let (len, n_tiles) = (prefix_end.len(), prefix_end.len().div_ceil(SIDE));
        if len == 0 || self.classes.iter().all(|class| n_tiles > class.n_tiles) {
            return false;
        }
        let views = Views::new(prefix_end, branch_start);
        let fits = |class: &Class| n_tiles <= class.n_tiles && views.n_slots <= class.n_slots;
        let Some(class) = self.classes.iter().take(MAX_CLASSES).position(fits) else { return false };
        let span = [start as u32, len as u32, self.views.len() as u32, 0];
        self.lists[class].push((views.n_slots, span));
        self.views.extend(views.words);
        true
    }

    /// Takes unused tokens, whose gradients are zero.
    pub(super) fn clear(&mut self, start: usize, n: usize) {
        let class = self.lists.iter().position(|list| !list.is_empty()).unwrap_or(0);
        self.lists[class].push((0, [start as u32, 0, 0, n as u32]));
    }

    /// Merges launches that are not worth it with the next that there is. Each class has room for what the one before it takes.
    fn merge(&mut self) {
        for (i, class) in self.classes.iter().enumerate().take(MAX_CLASSES) {
            let next = (i + 1..MAX_CLASSES).find(|next| !self.lists[*next].is_empty());
            if let Some(next) = next.filter(|_| self.lists[i].len() < class.n_worth) {
                let list = std::mem::take(&mut self.lists[i]);
                self.lists[next].extend(list);
            }
        }
    }

    /// Writes spans and views; says how many spans each launch has, empty ones at its end included.
    pub(super) fn write(mut self, spans: &mut [u32], views: &mut [u32]) -> [usize; MAX_CLASSES] {
        self.merge();
        views.chunks_exact_mut(VIEW).zip(&self.views).for_each(|(to, view)| to.copy_from_slice(view));
        let mut at = 0;
        self.lists.each_mut().map(|list| {
            // The longest first, so that the short ones fill up the end of the launch.
            list.sort_by_key(|(n_slots, _)| std::cmp::Reverse(*n_slots));
            let n = list.len().next_multiple_of(STEP);
            let to = &mut spans[at * SPAN..(at + n) * SPAN];
            to.fill(0);
            to.chunks_exact_mut(SPAN).zip(list).for_each(|(to, (_, span))| to.copy_from_slice(span));
            at += n;
            n
        })
    }

    /// Most spans of a batch with so many tiles, and most views of one with so many tokens besides.
    pub(super) fn room(max_tiles: usize, max_tokens: usize) -> (usize, usize) {
        (max_tiles + MAX_CLASSES * STEP, max_tiles + max_tokens / SIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Batch, LossRows};
    use crate::cuda::check::random_batch;

    const H200: SharedMemory =
        SharedMemory { of_block: 227 * 1024, of_multiprocessor: 228 * 1024, reserved: 1024 };

    fn batch() -> Batch {
        let (mut batch, LossRows { .. }) = random_batch(2000, 256, 100, 3);
        batch.push_prompted(&[1; 250], 20);
        // A tile that is seen partly as prefix and partly as branch.
        batch.push_prompted(&[1; 40], 40);
        batch.push_branch(&[2; 60], 40, 40, 0);
        batch
    }

    #[test]
    fn views_say_what_tokens_see() {
        let batch = batch();
        for range in (0..batch.n_sequences()).map(|sequence| batch.sequence(sequence)) {
            let (ends, starts) = (&batch.prefix_end[range.clone()], &batch.branch_start[range]);
            let (len, views) = (ends.len(), Views::new(ends, starts));
            let sees =
                |i: usize, j: usize| j < len && (j < ends[i] as usize || (starts[i] as usize <= j && j <= i));
            let mut n_slots = [0; 2];
            for (q, [some, all]) in views.words.iter().enumerate() {
                let half = &mut n_slots[usize::from([1, 2].contains(&(q % 4)))];
                assert_eq!(some >> 16, *half);
                for k in 0..16 {
                    let queries = || q * SIDE..(q * SIDE + SIDE).min(len);
                    let keys = || k * SIDE..k * SIDE + SIDE;
                    assert_eq!(some >> k & 1 == 1, queries().any(|i| keys().any(|j| sees(i, j))));
                    assert_eq!(all >> k & 1 == 1, queries().all(|i| keys().all(|j| sees(i, j))), "{q} {k}");
                    *half += some >> k & 1;
                }
            }
            assert_eq!(views.n_slots, n_slots[0].max(n_slots[1]) as usize);
        }
    }

    #[test]
    fn blocks_fit_and_serve_causal_sequences() {
        for (n_heads, qk_norm) in [(8, false), (8, true), (4, true), (2, false)] {
            let config = TransformerConfig { d_model: 256, n_heads, qk_norm, ..TransformerConfig::tiny() };
            let classes = Class::all(&config, H200, 132);
            assert!(classes.len() <= MAX_CLASSES);
            // A class takes what those before it take.
            assert!(
                classes.is_sorted_by_key(|class| class.n_tiles)
                    && classes.is_sorted_by_key(|class| class.n_slots)
            );
            assert_eq!(classes.is_empty(), n_heads == 2);
            for class in &classes {
                assert!(class.shared(&config) <= H200.of_block);
                assert!(class.n_slots <= class.n_tiles * class.n_tiles / 2);
            }
            let last = classes.last().map(|class| class.n_slots);
            assert!(classes.is_empty() || last == Some(128), "{classes:?}");
            let narrow = SharedMemory { of_block: 40 * 1024, of_multiprocessor: 40 * 1024, reserved: 1024 };
            assert!(Class::all(&config, narrow, 132).iter().all(|class| class.shared(&config) <= 40 * 1024));
        }
    }

    #[test]
    fn every_sequence_is_taken_once() {
        let config = TransformerConfig { d_model: 256, n_heads: 8, ..TransformerConfig::tiny() };
        let (classes, batch) = (Class::all(&config, H200, 132), batch());
        let (mut spans, mut words, mut views) = (Spans::new(&classes), vec![7; 4 * 600], vec![7; 2 * 400]);
        for range in (0..batch.n_sequences()).map(|sequence| batch.sequence(sequence)) {
            let (ends, starts) = (&batch.prefix_end[range.clone()], &batch.branch_start[range.clone()]);
            assert!(spans.take(range.start, ends, starts));
        }
        assert!(!spans.take(0, &[0; 257], &[0; 257]));
        spans.clear(batch.len(), 30);
        let n = spans.write(&mut words, &mut views);
        assert!(n.iter().all(|n| n % STEP == 0));
        let mut covered = vec![0; batch.len() + 30];
        for span in words.chunks_exact(SPAN).take(n.iter().sum()) {
            let (start, n) = (span[0] as usize, (span[1] + span[3]) as usize);
            covered[start..start + n].iter_mut().for_each(|n| *n += 1);
        }
        assert_eq!(covered, vec![1; batch.len() + 30]);
    }

    #[test]
    fn few_sequences_join_those_of_the_next_class() {
        let config = TransformerConfig { d_model: 256, n_heads: 8, ..TransformerConfig::tiny() };
        let classes = Class::all(&config, H200, 132);
        let launches = |lens: &[(usize, usize)]| {
            let mut spans = Spans::new(&classes);
            for &(n, len) in lens {
                (0..n).for_each(|_| assert!(spans.take(0, &vec![0; len], &vec![0; len])));
            }
            spans.clear(0, 1);
            spans.write(&mut vec![0; 4 * 2000], &mut vec![0; 2 * 9000])
        };
        assert_eq!(launches(&[(300, 79)]), [320, 0, 0, 0]);
        assert_eq!(launches(&[(300, 79), (100, 160)]), [0, 448, 0, 0]);
        assert_eq!(launches(&[(500, 79), (100, 160)]), [512, 128, 0, 0]);
        assert_eq!(launches(&[(30, 100), (50, 150), (100, 250)]), [0, 0, 192, 0]);
        assert_eq!(launches(&[]), [64, 0, 0, 0]);
    }
}
