//! Attention whose weighted sums of values are products in bf16, where the processor multiplies such numbers.
//!
//! Scores stay f32: rounding queries and keys too gained 3 % in speed and doubled the error of a trained model's values.

use super::{Head, Keys, forward_with};
use crate::cpu::narrow::{NarrowScratch, bf16};
use crate::cpu::packed::Out;
use crate::cpu::tile512::{Bf16Products, WIDE};

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct NarrowAttention {
    rounded: NarrowScratch,
    /// Values in panels of dimensions, `[panel][word][16]`; a word has two keys.
    panels: Vec<u32>,
}

/// As [`forward`](super::forward) of a head whose width is a multiple of 16.
pub(crate) fn forward(
    head: Head<'_>,
    out: &mut [f32],
    scores: &mut Vec<f32>,
    (dot, memory): (Bf16Products, &mut NarrowAttention),
) {
    forward_with(head, out, None, scores, |out, weights, keys| {
        let width = keys.len();
        memory.rounded.round_to_bf16(weights, width);
        value_panels(&mut memory.panels, head, keys);
        let out = Out { data: out, first: 0, width: head.head_dim, add: false };
        memory.rounded.products(dot, width.div_ceil(2), &memory.panels, out);
    });
}

fn value_panels(panels: &mut Vec<u32>, head: Head<'_>, keys: Keys) {
    let (d, n_words) = (head.head_dim, keys.len().div_ceil(2));
    panels.clear();
    panels.resize(n_words * d, 0);
    let [first, second] = keys.ranges().map(|(first, count)| &head.values[first * d..(first + count) * d]);
    let mut values = first.chunks_exact(d).chain(second.chunks_exact(d));
    let mut word = 0;
    while let Some(low) = values.next() {
        let high = values.next();
        for (panel, low) in low.chunks_exact(WIDE).enumerate() {
            let words = &mut panels[(panel * n_words + word) * WIDE..][..WIDE];
            match high {
                Some(high) => {
                    let high = &high[panel * WIDE..][..WIDE];
                    for ((word, low), high) in words.iter_mut().zip(low).zip(high) {
                        *word = bf16(*low) >> 16 | bf16(*high) & 0xffff_0000;
                    }
                }
                None => words.iter_mut().zip(low).for_each(|(word, low)| *word = bf16(*low) >> 16),
            }
        }
        word += 1;
    }
}
