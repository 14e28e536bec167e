//! Rows rounded to bf16 or 8 bits, and their products where the processor has an instruction for them.

use super::packed::{Out, int8_scale};
use super::tile512::{Operands, Products, TileOut, WIDE};

/// Rows a tile: with four panels that is 24 of the 32 registers.
const TALL: usize = 6;
/// Panels a tile.
const BROAD: usize = 4;

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct NarrowScratch {
    /// Rounded rows, `[row][word]`.
    words: Vec<u32>,
    /// What a unit of each row stands for, in 8 bits.
    pub(crate) scales: Vec<f32>,
}

impl NarrowScratch {
    /// Rounds rows `[n, inputs]` to bf16.
    pub(crate) fn round_to_bf16(&mut self, x: &[f32], inputs: usize) {
        self.words.clear();
        for row in x.chunks_exact(inputs) {
            let (pairs, last) = row.as_chunks::<2>();
            self.words.extend(pairs.iter().map(|[low, high]| bf16(*low) >> 16 | bf16(*high) & 0xffff_0000));
            self.words.extend(last.iter().map(|x| bf16(*x) >> 16));
        }
    }

    /// Rounds rows `[n, inputs]` to whole numbers from 1 to 255, 128 for zero, with a unit for each row.
    pub(crate) fn round_to_int8(&mut self, x: &[f32], inputs: usize) {
        self.words.clear();
        self.scales.clear();
        for row in x.chunks_exact(inputs) {
            let scale = int8_scale(row);
            self.scales.push(scale);
            let inverse = 1.0 / scale;
            // Adding this rounds to the nearest whole number, which then stands in the lowest byte, 128 higher than it is.
            let byte = |x: f32| (x * inverse + (12_582_912.0 + 128.0)).to_bits() & 0xff;
            let (fours, last) = row.as_chunks::<4>();
            self.words.extend(
                fours.iter().map(|[a, b, c, d]| byte(*a) | byte(*b) << 8 | byte(*c) << 16 | byte(*d) << 24),
            );
            if !last.is_empty() {
                let bytes = last.iter().enumerate().map(|(i, x)| byte(*x) << (8 * i));
                self.words.push(bytes.fold(0, |word, byte| word | byte));
            }
        }
    }

    /// The rounded rows times the panels `[panel][word][16]` of the outputs that are wanted.
    pub(crate) fn products(&self, dot: impl Products, n_words: usize, panels: &[u32], out: Out<'_>) {
        let size = n_words * WIDE;
        let whole = out.width / WIDE;
        let mut panel = 0;
        while panel < out.width.div_ceil(WIDE) {
            let first_panel = out.first / WIDE + panel;
            let part = |n_panels: usize| Part {
                panels: &panels[panel * size..(panel + n_panels) * size],
                first_panel,
            };
            let column = panel * WIDE;
            if panel + BROAD <= whole {
                self.part::<BROAD>(dot, n_words, part(BROAD), &mut out.data[column..], (out.width, out.add));
                panel += BROAD;
            } else if panel < whole {
                self.part::<1>(dot, n_words, part(1), &mut out.data[column..], (out.width, out.add));
                panel += 1;
            } else {
                // The last panel is not whole: what lies beyond the outputs must not reach the next row.
                let n = self.words.len() / n_words;
                let mut spare = vec![0.0; n * WIDE];
                self.part::<1>(dot, n_words, part(1), &mut spare, (WIDE, false));
                for (row, sums) in spare.chunks_exact(WIDE).enumerate() {
                    let to = &mut out.data[row * out.width + column..(row + 1) * out.width];
                    for (to, sum) in to.iter_mut().zip(sums) {
                        *to = if out.add { *to + sum } else { *sum };
                    }
                }
                panel += 1;
            }
        }
    }

    /// All rows against `P` panels.
    fn part<const P: usize>(
        &self,
        dot: impl Products,
        n_words: usize,
        part: Part<'_>,
        data: &mut [f32],
        (stride, add): (usize, bool),
    ) {
        for (group, rows) in self.words.chunks(TALL * n_words).enumerate() {
            let row = group * TALL;
            let operands = Operands { rows, panels: part.panels, place: (row, part.first_panel) };
            let out = TileOut { data: &mut data[row * stride..], stride, add };
            match rows.len() / n_words {
                1 => dot.tile::<1, P>(operands, out),
                2 => dot.tile::<2, P>(operands, out),
                3 => dot.tile::<3, P>(operands, out),
                4 => dot.tile::<4, P>(operands, out),
                5 => dot.tile::<5, P>(operands, out),
                _ => dot.tile::<TALL, P>(operands, out),
            }
        }
    }
}

/// Some panels.
struct Part<'a> {
    panels: &'a [u32],
    /// The number of the first among all of the matrix.
    first_panel: usize,
}

/// The nearest number of bf16, the even one of two, in the upper half; what is below it is not cleared. Not-a-number stays so.
#[inline(always)]
pub(crate) fn bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    // Only what is not a number can wrap.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    if x.is_nan() { 0x7fc0_0000 } else { rounded }
}
