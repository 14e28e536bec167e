//! A batch as one block of words, ready for one upload.

use crate::batch::{Batch, LossRows};
use crate::config::PickedBy;
use std::ops::Range;

use super::pages::Held;
use super::spans::{Class, MAX_CLASSES, SPAN, Spans, VIEW};
use crate::error::NetError;

/// Rows of an attention tile; `TILE` in `attention.cu`.
pub(super) const TILE: usize = 64;

/// Words of the header: counts and settings of the step, `C_*` in `prelude.cu`.
const HEADER: usize = 16;

/// Where each array lies in the block, in words. Arrays start at multiples of 64 words.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    /// Tokens the block has room for.
    pub(super) max_tokens: usize,
    /// Rows it has room for.
    pub(super) max_rows: usize,
    /// Target entries it has room for.
    pub(super) max_targets: usize,
    /// Attention tiles it has room for.
    pub(super) max_tiles: usize,
    pub(super) tokens: usize,
    pub(super) positions: usize,
    pub(super) prefix_end: usize,
    pub(super) branch_start: usize,
    /// Token indices sorted by id, for the gradient of the embedding.
    pub(super) order: usize,
    /// Rows of a learned table, where there is one.
    pub(super) picks: Option<Picks>,
    /// First loss row of each token, -1 for none.
    pub(super) first_row: usize,
    /// Four words a tile.
    pub(super) tiles: usize,
    /// Four words a tile.
    pub(super) stats: usize,
    /// Short sequences, and what their tiles see.
    pub(super) spans: usize,
    pub(super) views: usize,
    pub(super) rows: usize,
    /// Next loss row of the same token, -1 for none.
    pub(super) next_row: usize,
    pub(super) weights: usize,
    pub(super) target_starts: usize,
    /// Id and probability in turn; last, so that an upload stops where they end.
    pub(super) targets: usize,
    /// Words of the whole block.
    pub(super) words: usize,
}

/// Where the rows of a learned table lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picks {
    pub(super) by: PickedBy,
    /// The row of each token.
    pub(super) rows: usize,
    /// Token indices sorted by row, for the gradient of the table.
    pub(super) order: usize,
}

impl Fields {
    /// Room for so many tokens, loss rows and target entries; `learned` says what picks rows of a learned table.
    pub(super) fn new(
        max_tokens: usize,
        max_rows: usize,
        max_targets: usize,
        learned: Option<PickedBy>,
    ) -> Self {
        // Sequences are rarely shorter than 8 tokens; a batch of many that are is refused.
        let max_tiles = max_tokens / TILE + max_tokens / 8 + 2;
        Self::with_tiles(max_tokens, max_rows, max_targets, max_tiles, learned)
    }

    /// The part of this room that a pass without targets of its own takes: what it does not use need not travel. Passes of about
    /// the same size have the same fields.
    pub(super) fn of_pass(&self, n_tokens: usize, n_rows: usize, n_sequences: usize) -> Self {
        // Every sequence ends in a tile of its own, and so does what is unused.
        let n_tiles = (n_tokens / TILE + n_sequences + 2).next_power_of_two().min(self.max_tiles);
        Self::with_tiles(n_tokens, n_rows, self.max_targets, n_tiles, self.picks.map(|picks| picks.by))
    }

    fn with_tiles(
        max_tokens: usize,
        max_rows: usize,
        max_targets: usize,
        max_tiles: usize,
        learned: Option<PickedBy>,
    ) -> Self {
        let (max_spans, max_views) = Spans::room(max_tiles, max_tokens);
        let mut words = 0usize;
        let mut take = |n: usize| {
            let at = words;
            words += n.next_multiple_of(64);
            at
        };
        take(HEADER);
        let (tokens, positions) = (take(max_tokens), take(max_tokens));
        Self {
            max_tokens,
            max_rows,
            max_targets,
            max_tiles,
            tokens,
            positions,
            prefix_end: take(max_tokens),
            branch_start: take(max_tokens),
            order: take(max_tokens),
            picks: learned.map(|by| {
                let rows = if by == PickedBy::Position { positions } else { take(max_tokens) };
                Picks { by, rows, order: take(max_tokens) }
            }),
            first_row: take(max_tokens),
            tiles: take(4 * max_tiles),
            stats: take(4 * max_tiles),
            spans: take(SPAN * max_spans),
            views: take(VIEW * max_views),
            rows: take(max_rows),
            next_row: take(max_rows),
            weights: take(max_rows),
            target_starts: take(max_rows + 1),
            targets: take(2 * max_targets),
            words,
        }
    }

    /// Writes a batch into `block`, tokens filled up to `n_tokens` with ones that nobody sees.
    ///
    /// # Errors
    /// When it does not fit.
    pub(super) fn pack(
        &self,
        block: &mut [u32],
        batch: &Batch,
        rows: &LossRows,
        job: &Job<'_>,
    ) -> Result<PackedSizes, NetError> {
        self.pack_tokens(block, batch, rows.len(), job)?;
        fits("targets of a batch on the device", rows.target_ids.len(), self.max_targets)?;
        if job.gradient {
            sort_by_id(&batch.tokens, job.n_tokens, &mut block[self.order..self.order + job.n_tokens]);
            if let Some(Picks { by, order, .. }) = self.picks {
                sort_by_id(batch.picks(by), job.n_tokens, &mut block[order..order + job.n_tokens]);
            }
        }
        self.link_rows(block, rows, job.n_tokens);
        let (n_tiles, n_walked, n_spans) = self.tile(block, batch, job)?;
        for (row, weight) in rows.weights.iter().enumerate() {
            block[self.weights + row] = weight.to_bits();
        }
        let starts = if rows.target_starts.is_empty() { &[0][..] } else { &rows.target_starts };
        block[self.target_starts..self.target_starts + starts.len()].copy_from_slice(starts);
        let entries = rows.target_ids.iter().zip(&rows.target_probs);
        for (to, (id, prob)) in block[self.targets..].chunks_exact_mut(2).zip(entries) {
            to[0] = *id;
            to[1] = prob.to_bits();
        }
        let (n, n_rows) = (batch.len(), rows.len());
        let loss_scale = if n_rows == 0 { 0.0 } else { 1.0 / rows.normalizer() };
        block[..HEADER].fill(0);
        block[..6].copy_from_slice(&[
            n as u32,
            n_rows as u32,
            n_tiles as u32,
            job.learning_rate.to_bits(),
            loss_scale.to_bits(),
            n_walked as u32,
        ]);
        let words = self.targets + 2 * rows.target_ids.len();
        Ok(PackedSizes { n_rows, n_tiles, n_walked, n_spans, words })
    }

    /// Writes a batch that extends caches, which are already grown by it: as [`pack`](Self::pack), but tiles count from the start of their
    /// cache, and pages and the tokens' places in them take fields that only training uses.
    ///
    /// # Errors
    /// When it does not fit.
    pub(super) fn pack_paged(
        &self,
        block: &mut [u32],
        batch: &Batch,
        rows: &[u32],
        caches: &[&Held],
        job: &Job<'_>,
    ) -> Result<PackedSizes, NetError> {
        self.pack_tokens(block, batch, rows.len(), job)?;
        block[self.rows..self.rows + rows.len()].copy_from_slice(rows);
        let (mut n_tiles, mut n_pages) = (0, 0);
        for (sequence, held) in caches.iter().enumerate() {
            let range = batch.sequence(sequence);
            let cached = held.len - range.len();
            let tiles = range.len().div_ceil(TILE);
            fits("attention tiles of a batch on the device", n_tiles + tiles, self.max_tiles)?;
            fits("pages of a pass", n_pages + held.pages.len(), 2 * self.max_targets)?;
            let places = &mut block[self.first_row..][range.clone()];
            for (place, at) in places.iter_mut().zip(cached..) {
                *place = held.pages[at / TILE] * TILE as u32 + (at % TILE) as u32;
            }
            for begin in range.clone().step_by(TILE) {
                let end = (begin + TILE).min(range.end);
                // Two's complement: the cache's first token may lie before the batch.
                let first = (range.start as i32 - cached as i32) as u32;
                let tile = [first, held.len as u32, (cached + begin - range.start) as u32, n_pages as u32];
                let stats = stats(&batch.prefix_end[begin..end], &batch.branch_start[begin..end]);
                block[self.tiles + 4 * n_tiles..][..4].copy_from_slice(&tile);
                block[self.stats + 4 * n_tiles..][..4].copy_from_slice(&stats);
                n_tiles += 1;
            }
            block[self.targets + n_pages..][..held.pages.len()].copy_from_slice(&held.pages);
            n_pages += held.pages.len();
        }
        let n_rows = rows.len();
        block[..HEADER].fill(0);
        block[..3].copy_from_slice(&[batch.len() as u32, n_rows as u32, n_tiles as u32]);
        let words = self.targets + n_pages;
        Ok(PackedSizes { n_rows, n_tiles, n_walked: 0, n_spans: Default::default(), words })
    }

    /// Writes the tokens of a batch, filled up to those of the job with ones that nobody sees.
    fn pack_tokens(
        &self,
        block: &mut [u32],
        batch: &Batch,
        n_rows: usize,
        job: &Job<'_>,
    ) -> Result<(), NetError> {
        let n = batch.len();
        fits("tokens of a batch on the device", n, self.max_tokens.min(job.n_tokens))?;
        fits("loss rows of a batch on the device", n_rows, self.max_rows)?;
        if let Some(&position) =
            batch.positions.iter().find(|position| **position as usize >= job.max_positions)
        {
            fits("rotary positions", position as usize + 1, job.max_positions)?;
        }
        let picks = self.picks.map(|Picks { by, rows, .. }| (rows, batch.picks(by)));
        let arrays = [
            (self.tokens, &batch.tokens[..]),
            (self.positions, &batch.positions),
            (self.prefix_end, &batch.prefix_end),
            (self.branch_start, &batch.branch_start),
        ];
        for (at, values) in arrays.into_iter().chain(picks) {
            block[at..at + n].copy_from_slice(values);
            block[at + n..at + job.n_tokens].fill(0);
        }
        Ok(())
    }

    /// Lists the rows of each token.
    fn link_rows(&self, block: &mut [u32], rows: &LossRows, n_tokens: usize) {
        const NONE: u32 = u32::MAX;
        block[self.first_row..self.first_row + n_tokens].fill(NONE);
        for (row, &token) in rows.rows.iter().enumerate() {
            block[self.rows + row] = token;
            block[self.next_row + row] = block[self.first_row + token as usize];
            block[self.first_row + token as usize] = row as u32;
        }
    }

    /// Cuts sequences into tiles and sums up what each sees; unused tokens get tiles of length zero. Long sequences come first, then what is unused, then
    /// the short ones, which are spans too. Says how many tiles there are, how many of them are to be walked for gradients, and how many spans.
    fn tile(
        &self,
        block: &mut [u32],
        batch: &Batch,
        job: &Job<'_>,
    ) -> Result<(usize, usize, [usize; MAX_CLASSES]), NetError> {
        let (mut spans, mut tiles) = (Spans::new(job.classes), Vec::new());
        let cut = |tiles: &mut Vec<[[u32; 4]; 2]>, range: Range<usize>| {
            let first = tiles.len() as u32;
            for begin in range.clone().step_by(TILE) {
                let end = (begin + TILE).min(range.end);
                let stats = stats(&batch.prefix_end[begin..end], &batch.branch_start[begin..end]);
                let row = (begin - range.start) as u32;
                tiles.push([[range.start as u32, range.len() as u32, row, first], stats]);
            }
        };
        let mut short = Vec::new();
        for range in (0..batch.n_sequences()).map(|sequence| batch.sequence(sequence)) {
            let (ends, starts) = (&batch.prefix_end[range.clone()], &batch.branch_start[range.clone()]);
            if spans.take(range.start, ends, starts) {
                short.push(range);
            } else {
                cut(&mut tiles, range);
            }
        }
        let mut n_walked = tiles.len();
        for begin in (batch.len()..job.n_tokens).step_by(TILE) {
            let n = (job.n_tokens - begin).min(TILE);
            tiles.push([[begin as u32, 0, 0, n as u32], [0; 4]]);
            if job.classes.is_empty() {
                n_walked += 1;
            } else {
                spans.clear(begin, n);
            }
        }
        short.into_iter().for_each(|range| cut(&mut tiles, range));
        let (n_tiles, room) = (tiles.len(), self.max_tiles);
        if n_tiles > room {
            let what = "attention tiles of a batch on the device";
            return Err(NetError::Length { what, expected: room, got: n_tiles });
        }
        for (index, [tile, stats]) in tiles.iter().enumerate() {
            block[self.tiles + 4 * index..][..4].copy_from_slice(tile);
            block[self.stats + 4 * index..][..4].copy_from_slice(stats);
        }
        let (before, views) = block.split_at_mut(self.views);
        Ok((n_tiles, n_walked, spans.write(&mut before[self.spans..], views)))
    }
}

fn fits(what: &'static str, got: usize, room: usize) -> Result<(), NetError> {
    if got > room { Err(NetError::Length { what, expected: room, got }) } else { Ok(()) }
}

/// Greatest and least `prefix_end`, least and greatest `branch_start`.
pub(super) fn stats(prefix_end: &[u32], branch_start: &[u32]) -> [u32; 4] {
    let (mut out, mut first) = ([0, 0, 0, 0], true);
    for (&prefix, &branch) in prefix_end.iter().zip(branch_start) {
        if first {
            (out, first) = ([prefix, prefix, branch, branch], false);
        }
        out = [out[0].max(prefix), out[1].min(prefix), out[2].min(branch), out[3].max(branch)];
    }
    out
}

/// Token indices `0..n`, by id (tokens past the end count as id 0): a counting sort.
fn sort_by_id(tokens: &[u32], n: usize, order: &mut [u32]) {
    let n_ids = tokens.iter().max().map_or(1, |id| *id as usize + 1);
    let mut next = vec![0u32; n_ids + 1];
    for &id in tokens {
        next[id as usize + 1] += 1;
    }
    next[1] += (n - tokens.len()) as u32;
    for id in 0..n_ids {
        next[id + 1] += next[id];
    }
    let padding = std::iter::repeat_n(0, n - tokens.len());
    for (index, id) in tokens.iter().copied().chain(padding).enumerate() {
        let place = &mut next[id as usize];
        order[*place as usize] = index as u32;
        *place += 1;
    }
}

/// What a batch is packed for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    /// Tokens the kernels will run over.
    pub(super) n_tokens: usize,
    /// Learning rate of the update that follows.
    pub(super) learning_rate: f32,
    /// Rows of the table of rotations.
    pub(super) max_positions: usize,
    /// A backward pass follows.
    pub(super) gradient: bool,
    /// How it takes short sequences.
    pub(super) classes: &'a [Class],
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedSizes {
    /// Loss rows.
    pub(super) n_rows: usize,
    /// Attention tiles, those of unused tokens included.
    pub(super) n_tiles: usize,
    /// Tiles whose gradients come tile by tile: the first ones, of the long sequences.
    pub(super) n_walked: usize,
    /// Short sequences of each class, rounded up.
    pub(super) n_spans: [usize; MAX_CLASSES],
    /// Words that have to travel.
    pub(super) words: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(batch: &Batch, rows: &LossRows, n_tokens: usize) -> (Fields, Vec<u32>, PackedSizes) {
        let fields = Fields::new(256, 64, 128, Some(PickedBy::Position));
        let mut block = vec![7; fields.words];
        let job = Job { n_tokens, learning_rate: 0.5, max_positions: 512, gradient: true, classes: &[] };
        let packed = fields.pack(&mut block, batch, rows, &job).unwrap();
        (fields, block, packed)
    }

    #[test]
    fn tiles_cover_every_token_once() {
        let mut batch = Batch::default();
        batch.push_prompted(&[3; 70], 70);
        batch.push_branch(&[4], 70, 70, 0);
        batch.push_causal(&[5; 30]);
        let (fields, block, packed) = packed(&batch, &LossRows::default(), 200);
        let mut covered = vec![0; 200];
        for tile in block[fields.tiles..].chunks_exact(4).take(packed.n_tiles) {
            let (start, len, row) = (tile[0] as usize, tile[1] as usize, tile[2] as usize);
            let n = if len == 0 { tile[3] as usize } else { (len - row).min(TILE) };
            covered[start + row..start + row + n].iter_mut().for_each(|c| *c += 1);
        }
        assert_eq!(covered, vec![1; 200]);
        assert_eq!(block[fields.tiles..][..12], [0, 71, 0, 0, 0, 71, 64, 0, 71, 30, 0, 2]);
        assert_eq!(block[fields.stats..][..12], [70, 70, 0, 0, 70, 70, 0, 70, 0, 0, 0, 0]);
        assert_eq!(block[..3], [101, 0, packed.n_tiles as u32]);
    }

    #[test]
    fn order_sorts_by_id_and_rows_are_linked() {
        let mut batch = Batch::default();
        batch.push_causal(&[9, 2, 9, 0, 2]);
        let mut rows = LossRows::default();
        rows.push_hard(1, 1.0, 0, 3);
        rows.push_soft(4, 2.0, 0, &[(1, 0.25), (2, 0.75)]);
        rows.push_hard(1, 1.0, 0, 5);
        let (fields, block, packed) = packed(&batch, &rows, 8);
        assert_eq!(block[fields.order..][..8], [3, 5, 6, 7, 1, 4, 0, 2]);
        assert_eq!(block[fields.picks.unwrap().order..][..8], [0, 5, 6, 7, 1, 2, 3, 4]);
        let none = u32::MAX;
        assert_eq!(block[fields.first_row..][..8], [none, 2, none, none, 1, none, none, none]);
        assert_eq!(block[fields.next_row..][..3], [none, none, 0]);
        assert_eq!(block[fields.target_starts..][..4], [0, 1, 3, 4]);
        assert_eq!(block[fields.targets..][2..4], [1, 0.25f32.to_bits()]);
        assert_eq!(f32::from_bits(block[4]), 0.25);
        assert_eq!(packed.words, fields.targets + 8);
    }

    #[test]
    fn tiles_of_caches_count_from_their_start_and_tokens_have_places_in_pages() {
        let mut batch = Batch::default();
        // After 60 cached tokens ten more, which reach the second page; a branch off 130; a new sequence.
        batch.begin();
        batch.push_run(0..10, 60, 0, 0);
        batch.begin();
        batch.push_branch(&[7], 130, 130, 130);
        batch.push_causal(&[5; 70]);
        let held = |len, pages: &[u32]| Held { len, pages: pages.to_vec() };
        let caches = [held(70, &[4, 9]), held(131, &[1, 0, 6]), held(70, &[3, 8])];
        let caches = caches.iter().collect::<Vec<_>>();
        let fields = Fields::new(256, 64, 128, None);
        let mut block = vec![7; fields.words];
        let job =
            Job { n_tokens: 128, learning_rate: 0.0, max_positions: 512, gradient: false, classes: &[] };
        let packed = fields.pack_paged(&mut block, &batch, &[9, 10], &caches, &job).unwrap();
        assert_eq!((packed.n_rows, packed.n_tiles, packed.words), (2, 4, fields.targets + 7));
        assert_eq!(block[..6], [81, 2, 4, 0, 0, 0]);
        assert_eq!(block[fields.rows..][..2], [9, 10]);
        assert_eq!(block[fields.tokens + 80..][..4], [5, 0, 0, 0]);
        let before = |n: i32| (-n) as u32;
        let tiles = [before(60), 70, 60, 0, before(120), 131, 130, 2, 11, 70, 0, 5, 11, 70, 64, 5];
        assert_eq!(block[fields.tiles..][..16], tiles);
        assert_eq!(block[fields.stats..][..8], [0, 0, 0, 0, 130, 130, 130, 130]);
        assert_eq!(block[fields.targets..][..7], [4, 9, 1, 0, 6, 3, 8]);
        let places = &block[fields.first_row..][..81];
        assert_eq!(places[..6], [4 * 64 + 60, 4 * 64 + 61, 4 * 64 + 62, 4 * 64 + 63, 9 * 64, 9 * 64 + 1]);
        assert_eq!((places[10], places[11], places[80]), (6 * 64 + 2, 3 * 64, 8 * 64 + 5));
        let few = Fields { max_tiles: 3, ..fields };
        let error = few.pack_paged(&mut block, &batch, &[], &caches, &job).unwrap_err();
        assert_eq!(error.to_string(), "attention tiles of a batch on the device: expected 3 elements, got 4");
    }

    #[test]
    fn a_pass_takes_the_part_of_the_room_that_it_needs() {
        let room = Fields::new(32_768, 16_384, 2048, None);
        for (n_sequences, len, n_tokens) in [(1, 1, 64), (12, 110, 2048), (300, 1, 512), (64, 65, 8192)] {
            let mut batch = Batch::default();
            (0..n_sequences).for_each(|_| batch.push_causal(&vec![3; len]));
            let fields = room.of_pass(n_tokens, 256, n_sequences);
            let mut block = vec![0; fields.words];
            let job = Job { n_tokens, learning_rate: 0.0, max_positions: 512, gradient: false, classes: &[] };
            let packed = fields.pack(&mut block, &batch, &LossRows::default(), &job).unwrap();
            assert!(packed.n_tiles <= fields.max_tiles && fields.max_targets == room.max_targets);
            assert!(packed.words * 3 < room.targets, "{} of {} words", packed.words, room.targets);
        }
        let whole = room.of_pass(room.max_tokens, room.max_rows, 100_000);
        assert_eq!((whole.words, whole.max_tiles), (room.words, room.max_tiles));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut batch = Batch::default();
        batch.push_causal(&[1; 300]);
        let fields = Fields::new(256, 64, 128, None);
        let mut block = vec![0; fields.words];
        let job = Job { n_tokens: 256, learning_rate: 0.0, max_positions: 512, gradient: true, classes: &[] };
        let error = fields.pack(&mut block, &batch, &LossRows::default(), &job).unwrap_err();
        assert_eq!(error.to_string(), "tokens of a batch on the device: expected 256 elements, got 300");
    }
}
