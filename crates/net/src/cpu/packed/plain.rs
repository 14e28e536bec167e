//! Tiles of rows and outputs in f32, by loops that the compiler turns into vector code on any machine.

use super::{Out, WIDE};
use crate::cpu::scalar::fma;

/// Rows a tile: with two vectors of AVX2 each that is 12 of the 16 registers.
const TALL: usize = 6;
/// Rows from which a narrow panel is widened once instead of at every use.
const WIDEN_FROM: usize = 5 * TALL;

/// Memory of one thread.
#[derive(Default)]
pub(super) struct PlainScratch {
    /// Rows in groups of six: `[group][input][6]`, the last group with what is left.
    rows: Vec<f32>,
    /// One widened panel, `[input][16]`.
    panel: Vec<f32>,
}

/// A stored weight.
pub(super) trait Weight: Copy {
    /// Whether it is f32 already.
    const IS_WIDE: bool;
    /// Its value.
    fn widen(self) -> f32;
}

/// The upper half of an f32.
#[derive(Clone, Copy, Default)]
pub(super) struct Bf16(pub(super) u16);

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

/// All rows `x` `[n, inputs]` times all panels `[panel][input][16]`.
pub(super) fn products<W: Weight>(
    x: &[f32],
    inputs: usize,
    panels: &[W],
    mut to: Scaled<'_, '_>,
    scratch: &mut PlainScratch,
) {
    let n = x.len() / inputs;
    let PlainScratch { rows, panel: wide } = scratch;
    pack_rows(rows, x, inputs);
    let size = inputs * WIDE;
    if n == 1 {
        // Four panels at once: enough independent sums to hide the latency of the additions.
        for (group, four) in panels.chunks(4 * size).enumerate() {
            if four.len() == 4 * size {
                for (i, lane) in row_tile(rows, four).into_iter().enumerate() {
                    to.store(0, 4 * group + i, lane);
                }
            } else {
                for (i, panel) in four.chunks_exact(size).enumerate() {
                    let [lane] = tile::<1, W>(rows, panel);
                    to.store(0, 4 * group + i, lane);
                }
            }
        }
        return;
    }
    for (panel_idx, panel) in panels.chunks_exact(size).enumerate() {
        if !W::IS_WIDE && n >= WIDEN_FROM {
            wide.clear();
            wide.extend(panel.iter().map(|w| w.widen()));
            one_panel(rows, wide, inputs, &mut to, panel_idx);
        } else {
            one_panel(rows, panel, inputs, &mut to, panel_idx);
        }
    }
}

/// Where sums go, and by what they are multiplied.
pub(super) struct Scaled<'a, 'b> {
    pub(super) out: &'a mut Out<'b>,
    /// A factor for each output, if they need any.
    pub(super) scales: Option<&'a [f32]>,
}

impl Scaled<'_, '_> {
    #[inline(always)]
    fn store(&mut self, row: usize, panel: usize, mut lane: [f32; WIDE]) {
        if let Some(scales) = self.scales {
            let scales = &scales[self.out.first + panel * WIDE..];
            lane.iter_mut().zip(scales).for_each(|(x, scale)| *x *= scale);
        }
        self.out.store(row, panel, lane);
    }
}

/// All rows against one panel.
fn one_panel<W: Weight>(rows: &[f32], panel: &[W], inputs: usize, to: &mut Scaled<'_, '_>, panel_idx: usize) {
    for (group, rows) in rows.chunks(TALL * inputs).enumerate() {
        let first = group * TALL;
        match rows.len() / inputs {
            1 => store_tile(to, first, panel_idx, tile::<1, W>(rows, panel)),
            2 => store_tile(to, first, panel_idx, tile::<2, W>(rows, panel)),
            3 => store_tile(to, first, panel_idx, tile::<3, W>(rows, panel)),
            4 => store_tile(to, first, panel_idx, tile::<4, W>(rows, panel)),
            5 => store_tile(to, first, panel_idx, tile::<5, W>(rows, panel)),
            _ => store_tile(to, first, panel_idx, tile::<TALL, W>(rows, panel)),
        }
    }
}

#[inline(always)]
fn store_tile<const R: usize>(
    to: &mut Scaled<'_, '_>,
    first: usize,
    panel_idx: usize,
    tile: [[f32; WIDE]; R],
) {
    for (i, lane) in tile.into_iter().enumerate() {
        to.store(first + i, panel_idx, lane);
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
