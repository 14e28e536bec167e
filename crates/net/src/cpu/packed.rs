//! Weights rearranged once for many products: panels of 16 outputs, so that a tile of rows and outputs stays in registers.
//!
//! A decoder's parameters do not change, so the rearranging is free, and unlike in a general matrix product nothing is packed again for
//! every call: a single row (sequential decoding) is as well served as a thousand.
//!
//! Storage is as small as it can be without changing a bit: parameters that are exact in bf16, as those of small checkpoints are, are
//! kept in bf16, since a single row costs as much as reading the weights.

use super::scalar::fma;
use crate::decoder::Precision;

/// Outputs a panel: two vectors of AVX2.
const WIDE: usize = 16;
/// Rows a tile: with two vectors each that is 12 of the 16 registers.
const TALL: usize = 6;
/// Rows from which a narrow panel is widened once instead of at every use.
const WIDEN_FROM: usize = 5 * TALL;

/// A linear layer without bias, `[outputs, inputs]`, in panels `[panel][input][16]`.
pub(crate) struct Packed {
    inputs: usize,
    outputs: usize,
    weights: Storage,
}

enum Storage {
    Full(Vec<f32>),
    /// The upper half of each f32.
    Half(Vec<Bf16>),
    /// Whole numbers, and a factor for each output.
    Int8(Vec<i8>, Vec<f32>),
}

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct PackedScratch {
    /// Rows in groups of six: `[group][input][6]`, the last group with what is left.
    rows: Vec<f32>,
    /// One widened panel, `[input][16]`.
    panel: Vec<f32>,
}

impl Packed {
    /// Rearranges a row-major `[outputs, inputs]` matrix.
    pub(crate) fn new(matrix: &[f32], inputs: usize, outputs: usize, precision: Precision) -> Self {
        assert_eq!(matrix.len(), inputs * outputs, "a matrix must have its size");
        let exact = || matrix.iter().all(|x| x.to_bits() & 0xffff == 0);
        let weights = match precision {
            Precision::Int8 => {
                let scales: Vec<f32> = matrix.chunks_exact(inputs).map(int8_scale).collect();
                let at = |o: usize, i: usize| (matrix[o * inputs + i] / scales[o]).round() as i8;
                Storage::Int8(panels(inputs, outputs, 0, at), scales)
            }
            Precision::Exact if exact() => {
                let at = |o: usize, i: usize| Bf16((matrix[o * inputs + i].to_bits() >> 16) as u16);
                Storage::Half(panels(inputs, outputs, Bf16(0), at))
            }
            Precision::Exact => Storage::Full(panels(inputs, outputs, 0.0, |o, i| matrix[o * inputs + i])),
        };
        Self { inputs, outputs, weights }
    }

    /// Width of an output row.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Bytes of the weights, which is what a single row costs.
    pub(crate) fn n_bytes(&self) -> usize {
        match &self.weights {
            Storage::Full(weights) => weights.len() * 4,
            Storage::Half(weights) => weights.len() * 2,
            Storage::Int8(weights, scales) => weights.len() + scales.len() * 4,
        }
    }

    /// `out` of outputs `first..first + width` for rows `x` `[n, inputs]`; `first` is a multiple of 16.
    pub(crate) fn forward(&self, x: &[f32], out: Out<'_>, scratch: &mut PackedScratch) {
        pack_rows(&mut scratch.rows, x, self.inputs);
        let n = x.len() / self.inputs;
        match &self.weights {
            Storage::Full(weights) => self.panels(weights, n, out, scratch),
            Storage::Half(weights) => self.panels(weights, n, out, scratch),
            Storage::Int8(weights, _) => self.panels(weights, n, out, scratch),
        }
    }

    fn panels<W: Weight>(&self, weights: &[W], n: usize, mut out: Out<'_>, scratch: &mut PackedScratch) {
        let size = self.inputs * WIDE;
        let n_panels = out.width.div_ceil(WIDE);
        let weights = &weights[out.first / WIDE * size..][..n_panels * size];
        if n == 1 {
            // Four panels at once: enough independent sums to hide the latency of the additions.
            for (group, four) in weights.chunks(4 * size).enumerate() {
                let column = group * 4 * WIDE;
                if four.len() == 4 * size {
                    let tile = row_tile(&scratch.rows, four);
                    for (i, lane) in tile.into_iter().enumerate() {
                        self.store(&mut out, 0, column + i * WIDE, lane);
                    }
                } else {
                    for (i, panel) in four.chunks_exact(size).enumerate() {
                        let [lane] = tile::<1, W>(&scratch.rows, panel);
                        self.store(&mut out, 0, column + i * WIDE, lane);
                    }
                }
            }
            return;
        }
        let PackedScratch { rows, panel: wide } = scratch;
        for (panel_idx, panel) in weights.chunks_exact(size).enumerate() {
            let column = panel_idx * WIDE;
            if !W::IS_WIDE && n >= WIDEN_FROM {
                wide.clear();
                wide.extend(panel.iter().map(|w| w.widen()));
                self.panel(rows, wide, n, &mut out, column);
            } else {
                self.panel(rows, panel, n, &mut out, column);
            }
        }
    }

    /// All rows against one panel.
    fn panel<W: Weight>(&self, rows: &[f32], panel: &[W], n: usize, out: &mut Out<'_>, column: usize) {
        for (group, rows) in rows.chunks(TALL * self.inputs).enumerate() {
            let first = group * TALL;
            match n - first {
                1 => self.tile_out::<1, W>(rows, panel, out, first, column),
                2 => self.tile_out::<2, W>(rows, panel, out, first, column),
                3 => self.tile_out::<3, W>(rows, panel, out, first, column),
                4 => self.tile_out::<4, W>(rows, panel, out, first, column),
                5 => self.tile_out::<5, W>(rows, panel, out, first, column),
                _ => self.tile_out::<TALL, W>(rows, panel, out, first, column),
            }
        }
    }

    #[inline(always)]
    fn tile_out<const R: usize, W: Weight>(
        &self,
        rows: &[f32],
        panel: &[W],
        out: &mut Out<'_>,
        row: usize,
        column: usize,
    ) {
        for (i, lane) in tile::<R, W>(rows, panel).into_iter().enumerate() {
            self.store(out, row + i, column, lane);
        }
    }

    #[inline(always)]
    fn store(&self, out: &mut Out<'_>, row: usize, column: usize, mut lane: [f32; WIDE]) {
        let count = (out.width - column).min(WIDE);
        if let Storage::Int8(_, scales) = &self.weights {
            let scales = &scales[out.first + column..][..count];
            lane.iter_mut().zip(scales).for_each(|(x, scale)| *x *= scale);
        }
        let to = &mut out.data[row * out.width + column..][..count];
        // A whole panel has a length the compiler knows, which spares a call for every few values.
        match (<&mut [f32; WIDE]>::try_from(&mut *to), out.add) {
            (Ok(to), true) => to.iter_mut().zip(lane).for_each(|(to, x)| *to += x),
            (Ok(to), false) => *to = lane,
            (Err(_), true) => to.iter_mut().zip(lane).for_each(|(to, x)| *to += x),
            (Err(_), false) => to.iter_mut().zip(lane).for_each(|(to, x)| *to = x),
        }
    }
}

/// Where a product goes.
pub(crate) struct Out<'a> {
    /// `[n, width]`.
    pub(crate) data: &'a mut [f32],
    /// First output, a multiple of 16.
    pub(crate) first: usize,
    /// Number of outputs.
    pub(crate) width: usize,
    /// Add to what is there.
    pub(crate) add: bool,
}

/// A stored weight.
trait Weight: Copy + Send + Sync {
    /// Whether it is f32 already.
    const IS_WIDE: bool;
    /// Its value.
    fn widen(self) -> f32;
}

/// The upper half of an f32.
#[derive(Clone, Copy)]
struct Bf16(u16);

impl Weight for f32 {
    const IS_WIDE: bool = true;
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

impl Weight for Bf16 {
    const IS_WIDE: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Weight for i8 {
    const IS_WIDE: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from(self)
    }
}

/// `R` rows, interleaved, times 16 outputs.
#[inline(always)]
fn tile<const R: usize, W: Weight>(rows: &[f32], panel: &[W]) -> [[f32; WIDE]; R] {
    let mut sums = [[0.0f32; WIDE]; R];
    for (a, b) in rows.chunks_exact(R).zip(panel.chunks_exact(WIDE)) {
        for r in 0..R {
            for c in 0..WIDE {
                sums[r][c] = fma(a[r], b[c].widen(), sums[r][c]);
            }
        }
    }
    sums
}

/// One row times four panels.
#[inline(always)]
fn row_tile<W: Weight>(row: &[f32], four: &[W]) -> [[f32; WIDE]; 4] {
    let size = four.len() / 4;
    let (low, high) = four.split_at(2 * size);
    let ((first, second), (third, fourth)) = (low.split_at(size), high.split_at(size));
    let mut sums = [[0.0f32; WIDE]; 4];
    let panels = first
        .chunks_exact(WIDE)
        .zip(second.chunks_exact(WIDE))
        .zip(third.chunks_exact(WIDE).zip(fourth.chunks_exact(WIDE)));
    for (a, ((b0, b1), (b2, b3))) in row.iter().zip(panels) {
        for c in 0..WIDE {
            sums[0][c] = fma(*a, b0[c].widen(), sums[0][c]);
            sums[1][c] = fma(*a, b1[c].widen(), sums[1][c]);
            sums[2][c] = fma(*a, b2[c].widen(), sums[2][c]);
            sums[3][c] = fma(*a, b3[c].widen(), sums[3][c]);
        }
    }
    sums
}

/// Interleaves rows in groups of six.
fn pack_rows(out: &mut Vec<f32>, x: &[f32], inputs: usize) {
    out.clear();
    for group in x.chunks(TALL * inputs) {
        let n = group.len() / inputs;
        if n == 1 {
            out.extend_from_slice(group);
            continue;
        }
        let start = out.len();
        out.resize(start + group.len(), 0.0);
        for (r, row) in group.chunks_exact(inputs).enumerate() {
            for (slot, x) in out[start..].chunks_exact_mut(n).zip(row) {
                slot[r] = *x;
            }
        }
    }
}

/// Panels of a matrix given by element, padded with `zero`.
fn panels<W: Copy>(inputs: usize, outputs: usize, zero: W, at: impl Fn(usize, usize) -> W) -> Vec<W> {
    let mut panels = Vec::with_capacity(outputs.next_multiple_of(WIDE) * inputs);
    for first in (0..outputs).step_by(WIDE) {
        for input in 0..inputs {
            panels.extend((first..first + WIDE).map(|o| if o < outputs { at(o, input) } else { zero }));
        }
    }
    panels
}

/// The factor that brings a row of weights into -127..=127.
fn int8_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0.0f32, |max, x| max.max(x.abs()));
    if largest > 0.0 { largest / 127.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::numbers;

    fn check(round: impl Fn(f32) -> f32, precision: Precision, tolerance: f32) {
        let (inputs, outputs) = (24, 88);
        let matrix: Vec<f32> = numbers(inputs * outputs, 1).into_iter().map(round).collect();
        let packed = Packed::new(&matrix, inputs, outputs, precision);
        for n in [1, 2, 3, 5, 6, 7, 13, 20, 31] {
            let x = numbers(n * inputs, 2);
            for (first, width) in [(0, outputs), (16, 40)] {
                let mut y = vec![1.0; n * width];
                let out = Out { data: &mut y, first, width, add: true };
                packed.forward(&x, out, &mut PackedScratch::default());
                for row in 0..n {
                    for column in 0..width {
                        let weights = &matrix[(first + column) * inputs..][..inputs];
                        let exact: f32 = weights.iter().zip(&x[row * inputs..]).map(|(w, x)| w * x).sum();
                        let got = y[row * width + column] - 1.0;
                        assert!(
                            (got - exact).abs() < tolerance,
                            "{n} rows, ({row}, {column}): {got} {exact}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_storage_and_number_of_rows() {
        check(|x| x, Precision::Exact, 1e-5);
        let bf16 = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
        check(bf16, Precision::Exact, 1e-5);
        check(|x| x, Precision::Int8, 0.05);
        let halves = Packed::new(&vec![0.5; 64 * 16], 64, 16, Precision::Exact);
        assert_eq!(halves.n_bytes(), 2 * 64 * 16, "what is exact in bf16 takes two bytes");
    }
}
