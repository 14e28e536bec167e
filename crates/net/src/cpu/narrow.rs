//! Rows rounded to bf16 or 8 bits, and their products where the processor has an instruction for them.

use super::packed::{Out, int8_scale};
use super::tile512::{MatrixUnit, Narrow, Operands, Products, SIDE, TileOut, UnitOperands, UnitSums, WIDE};

/// Rows a tile: with four panels that is 24 of the 32 registers.
const TALL: usize = 6;
/// Panels a tile.
const BROAD: usize = 4;

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct NarrowScratch {
    /// Rounded rows, `[row][word]`.
    pub(crate) words: Vec<u32>,
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
}

/// A product of rounded rows with the panels `[panel][word][16]` of the outputs that are wanted.
pub(crate) struct Product<'a, D> {
    /// The instruction, and what its sums stand for.
    pub(crate) dot: D,
    /// Words of a row and of a panel.
    pub(crate) n_words: usize,
    pub(crate) panels: &'a [u32],
    pub(crate) out: Out<'a>,
}

impl<D: Products> Product<'_, D> {
    /// By the matrix unit where there is one and the words of a row fill its tiles, which does not depend on the number of rows.
    ///
    /// Sums of 8-bit numbers are whole and so the same either way: few rows, which cost the unit as much as sixteen, are left to vectors.
    pub(crate) fn run(self, words: &mut Vec<u32>, unit: Option<MatrixUnit>) {
        let fits = self.n_words > 0 && self.n_words.is_multiple_of(WIDE);
        let few_in_8_bits = matches!(D::NUMBERS, Narrow::Int8) && words.len() < SIDE * self.n_words;
        match unit {
            Some(unit) if fits && !few_in_8_bits => self.by_unit(words, unit),
            _ => self.by_tiles(words),
        }
    }

    fn by_tiles(mut self, words: &[u32]) {
        let whole = self.out.width / WIDE;
        let mut panel = 0;
        while panel < self.out.width.div_ceil(WIDE) {
            if panel + BROAD <= whole {
                self.column::<BROAD>(words, panel);
                panel += BROAD;
            } else if panel < whole {
                self.column::<1>(words, panel);
                panel += 1;
            } else {
                // The last panel is not whole: what lies beyond the outputs must not reach the next row.
                let mut spare = vec![0.0; words.len() / self.n_words * WIDE];
                let out =
                    Out { data: &mut spare, first: self.out.first + panel * WIDE, width: WIDE, add: false };
                let panels = self.panel(panel);
                Product { dot: self.dot, n_words: self.n_words, panels, out }.column::<1>(words, 0);
                for (row, sums) in spare.as_chunks().0.iter().enumerate() {
                    self.out.store(row, panel, *sums);
                }
                panel += 1;
            }
        }
    }

    /// All rows against `P` panels from one on.
    fn column<const P: usize>(&mut self, words: &[u32], panel: usize) {
        let Self { dot, n_words, panels, out } = self;
        let (n_words, stride, add) = (*n_words, out.width, out.add);
        let panels = &panels[panel * n_words * WIDE..(panel + P) * n_words * WIDE];
        for (group, rows) in words.chunks(TALL * n_words).enumerate() {
            let row = group * TALL;
            let operands = Operands { rows, panels, place: (row, out.first / WIDE + panel) };
            let out = TileOut { data: &mut out.data[row * stride + panel * WIDE..], stride, add };
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

    fn by_unit(mut self, words: &mut Vec<u32>, unit: MatrixUnit) {
        let n_words = self.n_words;
        let n_rows = words.len() / n_words;
        // What fills the last tile is multiplied and not read.
        words.resize(n_rows.next_multiple_of(SIDE) * n_words, 0);
        let n_panels = self.out.width.div_ceil(WIDE);
        let mut sums = UnitSums::default();
        for first in (0..n_panels).step_by(2) {
            let pair = [first, (first + 1).min(n_panels - 1)];
            for (group, rows) in words.chunks(2 * SIDE * n_words).enumerate() {
                unit.sums(
                    D::NUMBERS,
                    UnitOperands { rows, panels: pair.map(|panel| self.panel(panel)), n_words },
                    &mut sums,
                );
                for row in group * 2 * SIDE..((group + 1) * 2 * SIDE).min(n_rows) {
                    let tile = &sums[row / SIDE % 2];
                    for (panel, sums) in (first..n_panels).zip(tile) {
                        let lane = self.dot.meaning(&sums[row % SIDE], (row, self.out.first / WIDE + panel));
                        self.out.store(row, panel, lane);
                    }
                }
            }
        }
    }

    fn panel(&self, panel: usize) -> &[u32] {
        let size = self.n_words * WIDE;
        &self.panels[panel * size..(panel + 1) * size]
    }
}

/// The nearest number of bf16, the even one of two, in the upper half; what is below it is not cleared. Not-a-number stays so.
#[inline(always)]
pub(crate) fn bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    // Only what is not a number can wrap.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    if x.is_nan() { 0x7fc0_0000 } else { rounded }
}
