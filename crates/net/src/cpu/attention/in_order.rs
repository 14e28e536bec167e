//! Attention of new tokens over a cache, in which a row comes out the same, to the last bit, whatever shares the pass.
//!
//! Every sum runs over the keys that a query sees, in their order: scores over the dimensions of a head, weights in 16 lanes by the
//! rank of a key among those seen, values key after key. Keys that only other queries of a tile see have weight zero, which changes no
//! sum. So it makes no difference how many queries share a pass, nor whether what they see is one range of keys or two.
//!
//! Keys are cached in panels of 16, and values in rows of whole vectors, so that nothing is rearranged for a pass, and one query is served
//! by the same tiles as many.

use super::{Keys, Mask, clear_hidden};
use crate::cpu::tile512::{F32Operands, F32Products, TileOut, WIDE};

/// Queries a group: one pass over keys and values serves them all.
const GROUP: usize = 12;

/// Queries of one head and the cache that they read.
#[derive(Clone, Copy)]
pub(crate) struct CachedHead<'a> {
    /// `[n_queries, head_dim]`.
    pub(crate) queries: &'a [f32],
    /// `[panel][head_dim][16]`, a panel for 16 keys.
    pub(crate) keys: &'a [f32],
    /// `[key][width]`, the width being `head_dim` in whole vectors of 16; what is beyond `head_dim` is zero.
    pub(crate) values: &'a [f32],
    /// Width of the head.
    pub(crate) head_dim: usize,
    /// The mask of the queries.
    pub(crate) mask: Mask<'a>,
}

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct InOrderMemory {
    /// Scores and then weights of a group, `[query][column]`.
    scores: Vec<f32>,
    /// Sums of values of a group, `[query][width]`.
    sums: Vec<f32>,
}

/// Attention of one head: `out` `[n_queries, head_dim]`.
pub(crate) fn forward(
    head: CachedHead<'_>,
    out: &mut [f32],
    products: F32Products,
    memory: &mut InOrderMemory,
) {
    let d = head.head_dim;
    let (width, scale) = (d.next_multiple_of(WIDE), 1.0 / (d as f32).sqrt());
    let InOrderMemory { scores, sums } = memory;
    for (group, out) in out.chunks_mut(GROUP * d).enumerate() {
        let (first, n) = (group * GROUP, out.len() / d);
        let columns = Columns::new(head.mask.block(first..first + n));
        let stride = columns.len();
        scores.resize(n * stride, 0.0);
        sums.resize(n * width, 0.0);
        for part in columns.parts() {
            let operands = F32Operands {
                rows: &head.queries[first * d..],
                row_stride: d,
                panels: &head.keys[part.panel * d * WIDE..],
                panel_stride: d * WIDE,
                step: WIDE,
                n: d,
            };
            let out = TileOut { data: &mut scores[part.panel_column..], stride, add: false };
            products.products((n, part.n_panels), operands, out);
        }
        let mut inverse = [0.0; GROUP];
        for (i, row) in scores.chunks_exact_mut(stride).enumerate() {
            let [one, other] = columns.of(head.mask.visible(first + i));
            clear_hidden(row, one.clone(), other.clone());
            let (before, from) = row.split_at_mut(other.start);
            inverse[i] = 1.0 / products.soften_joined(&mut before[one], &mut from[..other.len()], scale);
        }
        sums.fill(0.0);
        for part in columns.parts() {
            let operands = F32Operands {
                rows: &scores[part.column..],
                row_stride: stride,
                panels: &head.values[part.key * width..],
                panel_stride: WIDE,
                step: width,
                n: part.n_keys,
            };
            products.products((n, width / WIDE), operands, TileOut { data: sums, stride: width, add: true });
        }
        for ((out, sums), inverse) in out.chunks_exact_mut(d).zip(sums.chunks_exact(width)).zip(inverse) {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * inverse);
        }
    }
}

/// The columns of a group's scores: whole panels of the keys that any query of it sees.
struct Columns {
    keys: Keys,
}

/// A range of keys.
struct Part {
    /// The first panel, its column, and how many there are.
    panel: usize,
    panel_column: usize,
    n_panels: usize,
    /// The first key, its column, and how many there are.
    key: usize,
    column: usize,
    n_keys: usize,
}

impl Columns {
    fn new(keys: Keys) -> Self {
        // Two ranges that share a panel are one.
        let is_one = keys.prefix.div_ceil(WIDE) > keys.start / WIDE;
        Self { keys: if is_one { Keys { prefix: 0, start: 0, end: keys.end } } else { keys } }
    }

    /// How many.
    fn len(&self) -> usize {
        self.keys.end.next_multiple_of(WIDE) - self.shift()
    }

    /// By how much the column of a key of the second range is less than its index.
    fn shift(&self) -> usize {
        self.keys.start / WIDE * WIDE - self.keys.prefix.next_multiple_of(WIDE)
    }

    /// The columns that one query sees. One whose keys are one range from zero makes its group's one range too.
    #[inline]
    fn of(&self, seen: Keys) -> [std::ops::Range<usize>; 2] {
        let shift = self.shift();
        [0..seen.prefix, seen.start - shift..seen.end - shift]
    }

    /// The ranges, those without keys left out.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let shift = self.shift();
        let part = |key: usize, end: usize, shift: usize| Part {
            panel: key / WIDE,
            panel_column: key / WIDE * WIDE - shift,
            n_panels: end.div_ceil(WIDE) - key / WIDE,
            key,
            column: key - shift,
            n_keys: end - key,
        };
        let Keys { prefix, start, end } = self.keys;
        [part(0, prefix, 0), part(start, end, shift)].into_iter().filter(|part| part.n_keys > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{masks, naive};
    use super::super::{Head, Mask};
    use super::*;
    use crate::check::numbers;

    /// A cache of keys and values `[n, d]`.
    fn cached(keys: &[f32], values: &[f32], d: usize) -> (Vec<f32>, Vec<f32>) {
        let (n, width) = (keys.len() / d, d.next_multiple_of(WIDE));
        let mut panels = vec![9.0; n.next_multiple_of(WIDE) * d];
        let mut rows = vec![0.0; n * width];
        for key in 0..n {
            for c in 0..d {
                panels[(key / WIDE * d + c) * WIDE + key % WIDE] = keys[key * d + c];
                rows[key * width + c] = values[key * d + c];
            }
        }
        (panels, rows)
    }

    #[test]
    fn every_mask_agrees_with_the_definition_and_every_query_with_itself_alone() {
        for (case, (prefix_end, branch_start, first)) in masks().into_iter().enumerate() {
            let d = [32, 16, 24][case % 3];
            let n = prefix_end.len();
            let queries: Vec<f32> = numbers(n * d, 1).iter().map(|x| x * 3.0).collect();
            let (keys, values) = (numbers((first + n) * d, 2), numbers((first + n) * d, 3));
            let mask = Mask { prefix_end: &prefix_end, branch_start: &branch_start, first };
            let expected = naive(Head { queries: &queries, keys: &keys, values: &values, head_dim: d, mask });
            let (panels, rows) = cached(&keys, &values, d);
            let head = CachedHead { queries: &queries, keys: &panels, values: &rows, head_dim: d, mask };
            let mut all = vec![0.0; n * d];
            forward(head, &mut all, F32Products::detect(), &mut InOrderMemory::default());
            for (i, (got, expected)) in all.iter().zip(expected).enumerate() {
                assert!((f64::from(*got) - expected).abs() < 1e-5, "mask {case}, {i}: {got} {expected}");
            }
            let mut plain = vec![0.0; n * d];
            forward(head, &mut plain, F32Products::plain(), &mut InOrderMemory::default());
            assert_eq!(all, plain, "mask {case} without the instructions");
            for i in 0..n {
                // Alone, and behind nothing but the keys that it sees.
                let seen = mask.visible(i);
                let pick = |from: &[f32]| -> Vec<f32> {
                    let parts = seen.ranges().map(|(first, count)| &from[first * d..(first + count) * d]);
                    parts.concat()
                };
                let (panels, rows) = cached(&pick(&keys), &pick(&values), d);
                let mask = Mask { prefix_end: &[0], branch_start: &[0], first: seen.len() - 1 };
                let queries = &queries[i * d..(i + 1) * d];
                let head = CachedHead { queries, keys: &panels, values: &rows, head_dim: d, mask };
                let mut one = vec![0.0; d];
                forward(head, &mut one, F32Products::detect(), &mut InOrderMemory::default());
                assert_eq!(one, all[i * d..(i + 1) * d], "mask {case}, query {i}");
            }
        }
    }
}
