//! Tiles of rows and outputs in f32, by loops that the compiler turns into vector code on any machine.

use super::WIDE;
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

/// How weights are stored: in words with those of one or more inputs.
pub(super) trait Weight {
    /// What panels consist of.
    type Word: Copy;
    /// Inputs a word.
    const INPUTS: usize;
    /// The weight of one of them.
    fn widen(word: Self::Word, input: usize) -> f32;
}

/// One f32 a word.
pub(super) struct Full;

/// Two numbers of bf16 a word.
pub(super) struct Half;

/// Four whole numbers of 8 bits a word.
pub(super) struct Int8;

impl Weight for Full {
    type Word = f32;
    const INPUTS: usize = 1;
    #[inline(always)]
    fn widen(word: f32, _: usize) -> f32 {
        word
    }
}

impl Weight for Half {
    type Word = u32;
    const INPUTS: usize = 2;
    #[inline(always)]
    fn widen(word: u32, input: usize) -> f32 {
        f32::from_bits(if input == 0 { word << 16 } else { word & 0xffff_0000 })
    }
}

impl Weight for Int8 {
    type Word = u32;
    const INPUTS: usize = 4;
    #[inline(always)]
    fn widen(word: u32, input: usize) -> f32 {
        // Up to the top and down again, which brings the sign along.
        ((word << (24 - 8 * input)).cast_signed() >> 24) as f32
    }
}

/// All rows `x` `[n, inputs]` times all panels `[panel][word][16]`; `put` gets the sums of a row and a panel, `(row, panel)`.
pub(super) fn products<W: Weight>(
    x: &[f32],
    inputs: usize,
    panels: &[W::Word],
    scratch: &mut PlainScratch,
    mut put: impl FnMut(usize, usize, [f32; WIDE]),
) {
    let n_words = inputs.div_ceil(W::INPUTS);
    let n = x.len() / inputs;
    let PlainScratch { rows, panel: wide } = scratch;
    pack_rows(rows, x, inputs, n_words * W::INPUTS);
    let size = n_words * WIDE;
    if n == 1 {
        // Four panels at once: enough independent sums to hide the latency of the additions.
        for (group, four) in panels.chunks(4 * size).enumerate() {
            if four.len() == 4 * size {
                let tile = row_tile::<W>(rows, four);
                tile.into_iter().enumerate().for_each(|(i, lane)| put(0, 4 * group + i, lane));
            } else {
                for (i, panel) in four.chunks_exact(size).enumerate() {
                    let [lane] = tile::<1, W>(rows, panel);
                    put(0, 4 * group + i, lane);
                }
            }
        }
        return;
    }
    for (panel_idx, panel) in panels.chunks_exact(size).enumerate() {
        let put = |row: usize, lane| put(row, panel_idx, lane);
        if W::INPUTS > 1 && n >= WIDEN_FROM {
            wide.clear();
            for words in panel.chunks_exact(WIDE) {
                for input in 0..W::INPUTS {
                    wide.extend(words.iter().map(|word| W::widen(*word, input)));
                }
            }
            one_panel::<Full>(rows, wide, n_words * W::INPUTS, put);
        } else {
            one_panel::<W>(rows, panel, n_words * W::INPUTS, put);
        }
    }
}

/// All rows against one panel.
fn one_panel<W: Weight>(
    rows: &[f32],
    panel: &[W::Word],
    inputs: usize,
    mut put: impl FnMut(usize, [f32; WIDE]),
) {
    for (group, rows) in rows.chunks(TALL * inputs).enumerate() {
        let mut put = |i: usize, lane| put(group * TALL + i, lane);
        match rows.len() / inputs {
            1 => tile::<1, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
            2 => tile::<2, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
            3 => tile::<3, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
            4 => tile::<4, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
            5 => tile::<5, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
            _ => tile::<TALL, W>(rows, panel).into_iter().enumerate().for_each(|(i, lane)| put(i, lane)),
        }
    }
}

/// `R` rows, interleaved, times 16 outputs.
#[inline(always)]
fn tile<const R: usize, W: Weight>(rows: &[f32], panel: &[W::Word]) -> [[f32; WIDE]; R] {
    let mut sums = [[0.0f32; WIDE]; R];
    for (a, b) in rows.chunks_exact(R * W::INPUTS).zip(panel.chunks_exact(WIDE)) {
        for input in 0..W::INPUTS {
            for r in 0..R {
                for c in 0..WIDE {
                    sums[r][c] = fma(a[input * R + r], W::widen(b[c], input), sums[r][c]);
                }
            }
        }
    }
    sums
}

/// One row times four panels.
#[inline(always)]
fn row_tile<W: Weight>(row: &[f32], four: &[W::Word]) -> [[f32; WIDE]; 4] {
    let size = four.len() / 4;
    let (low, high) = four.split_at(2 * size);
    let ((first, second), (third, fourth)) = (low.split_at(size), high.split_at(size));
    let mut sums = [[0.0f32; WIDE]; 4];
    let panels = first
        .chunks_exact(WIDE)
        .zip(second.chunks_exact(WIDE))
        .zip(third.chunks_exact(WIDE).zip(fourth.chunks_exact(WIDE)));
    for (a, ((b0, b1), (b2, b3))) in row.chunks_exact(W::INPUTS).zip(panels) {
        for (input, a) in a.iter().enumerate() {
            for c in 0..WIDE {
                sums[0][c] = fma(*a, W::widen(b0[c], input), sums[0][c]);
                sums[1][c] = fma(*a, W::widen(b1[c], input), sums[1][c]);
                sums[2][c] = fma(*a, W::widen(b2[c], input), sums[2][c]);
                sums[3][c] = fma(*a, W::widen(b3[c], input), sums[3][c]);
            }
        }
    }
    sums
}

/// Interleaves rows in groups of six, with zeros up to `padded` inputs.
fn pack_rows(out: &mut Vec<f32>, x: &[f32], inputs: usize, padded: usize) {
    out.clear();
    for group in x.chunks(TALL * inputs) {
        let n = group.len() / inputs;
        let start = out.len();
        if n == 1 {
            out.extend_from_slice(group);
            out.resize(start + padded, 0.0);
            continue;
        }
        out.resize(start + n * padded, 0.0);
        for (r, row) in group.chunks_exact(inputs).enumerate() {
            for (slot, x) in out[start..].chunks_exact_mut(n).zip(row) {
                slot[r] = *x;
            }
        }
    }
}
