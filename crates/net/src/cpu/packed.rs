//! Weights rearranged once for many products: panels of 16 outputs, so that a tile of rows and outputs stays in registers.
//!
//! A decoder's parameters do not change, so the rearranging is free, and unlike in a general matrix product nothing is packed again for
//! every call: a single row (sequential decoding) is as well served as a thousand.
//!
//! Storage is as small as it can be without changing a bit: parameters that are exact in bf16, as those of small checkpoints are, are
//! kept in bf16, since a single row costs as much as reading the weights. Where the precision allows it and the processor has an instruction
//! for it, rows are rounded too and multiplied as they are stored ([`narrow`](super::narrow)); else all products are in f32 ([`plain`]).

mod plain;

use super::narrow::{NarrowScratch, Product, bf16};
use super::tile512::{Bf16Products, Int8Products, MatrixUnit, ScaledInt8Products, WIDE};
use crate::decoder::Precision;
use plain::{Bf16, PlainScratch, Scaled};

/// Numbers of bf16 a word.
const HALVES: usize = 2;
/// Numbers of 8 bits a word.
const BYTES: usize = 4;

/// A linear layer without bias, `[outputs, inputs]`, in panels of 16 outputs.
pub(crate) struct PackedMatrix {
    inputs: usize,
    outputs: usize,
    weights: Storage,
    unit: Option<MatrixUnit>,
}

/// What this processor has.
#[derive(Clone, Copy, Default)]
struct Instructions {
    bf16: Option<Bf16Products>,
    int8: Option<Int8Products>,
    unit: Option<MatrixUnit>,
}

impl Instructions {
    fn detect() -> Self {
        Self { bf16: Bf16Products::detect(), int8: Int8Products::detect(), unit: MatrixUnit::detect() }
    }
}

/// Panels for products in f32, `[panel][input][16]`, and words for narrow ones, `[panel][word][16]`.
enum Storage {
    Full(Vec<f32>),
    /// The upper half of each f32.
    Half(Vec<Bf16>),
    HalfWords(Vec<u32>, Bf16Products),
    /// Whole numbers, and a factor for each output.
    Int8(Vec<i8>, Vec<f32>),
    Int8Words(Int8Words, Int8Products),
}

/// Whole numbers of 8 bits, four a word.
struct Int8Words {
    words: Vec<u32>,
    /// What a unit stands for, by output.
    scales: Vec<f32>,
    /// What 128 in every input comes to, by output: rows are that much higher than they are.
    offsets: Vec<i32>,
}

/// Memory of one thread.
#[derive(Default)]
pub(crate) struct PackedScratch {
    plain: PlainScratch,
    narrow: NarrowScratch,
}

impl PackedMatrix {
    /// Rearranges a row-major `[outputs, inputs]` matrix.
    pub(crate) fn new(matrix: &[f32], inputs: usize, outputs: usize, precision: Precision) -> Self {
        Self::with(matrix, (inputs, outputs), precision, Instructions::detect())
    }

    /// The same with the instructions that there are.
    fn with(
        matrix: &[f32],
        (inputs, outputs): (usize, usize),
        precision: Precision,
        instructions: Instructions,
    ) -> Self {
        assert_eq!(matrix.len(), inputs * outputs, "a matrix must have its size");
        let shape = (inputs, outputs);
        let half = |o: usize, i: usize| bf16(matrix[o * inputs + i]) >> 16;
        let is_exact = || matrix.iter().all(|x| x.to_bits() & 0xffff == 0);
        let weights = match (precision, instructions.bf16, instructions.int8) {
            (Precision::Bf16, Some(products), _) => {
                Storage::HalfWords(words::<HALVES>(shape, half), products)
            }
            (Precision::Int8, _, Some(products)) => {
                Storage::Int8Words(Int8Words::new(matrix, shape), products)
            }
            (Precision::Int8, _, None) => {
                let scales: Vec<f32> = matrix.chunks_exact(inputs).map(int8_scale).collect();
                let at = |o: usize, i: usize| (matrix[o * inputs + i] / scales[o]).round() as i8;
                Storage::Int8(panels(inputs, outputs, at), scales)
            }
            (Precision::Exact, ..) if !is_exact() => {
                Storage::Full(panels(inputs, outputs, |o, i| matrix[o * inputs + i]))
            }
            _ => Storage::Half(panels(inputs, outputs, |o, i| Bf16(half(o, i) as u16))),
        };
        Self { inputs, outputs, weights, unit: instructions.unit }
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
            Storage::HalfWords(words, _) => words.len() * 4,
            Storage::Int8(weights, scales) => weights.len() + scales.len() * 4,
            Storage::Int8Words(weights, _) => {
                (weights.words.len() + weights.scales.len() + weights.offsets.len()) * 4
            }
        }
    }

    /// `out` of outputs `first..first + width` for rows `x` `[n, inputs]`; `first` is a multiple of 16.
    pub(crate) fn forward(&self, x: &[f32], mut out: Out<'_>, scratch: &mut PackedScratch) {
        let PackedScratch { plain, narrow } = scratch;
        let inputs = self.inputs;
        match &self.weights {
            Storage::Full(weights) => {
                let panels = out.part(weights, inputs);
                plain::products(x, inputs, panels, Scaled { out: &mut out, scales: None }, plain);
            }
            Storage::Half(weights) => {
                let panels = out.part(weights, inputs);
                plain::products(x, inputs, panels, Scaled { out: &mut out, scales: None }, plain);
            }
            Storage::Int8(weights, scales) => {
                let panels = out.part(weights, inputs);
                plain::products(x, inputs, panels, Scaled { out: &mut out, scales: Some(scales) }, plain);
            }
            Storage::HalfWords(words, products) => {
                narrow.round_to_bf16(x, inputs);
                let n_words = inputs.div_ceil(HALVES);
                let product = Product { dot: *products, n_words, panels: out.part(words, n_words), out };
                product.run(&mut narrow.words, self.unit);
            }
            Storage::Int8Words(weights, products) => {
                narrow.round_to_int8(x, inputs);
                let n_words = inputs.div_ceil(BYTES);
                let dot = ScaledInt8Products {
                    products: *products,
                    row_scales: &narrow.scales,
                    scales: &weights.scales,
                    offsets: &weights.offsets,
                };
                let product = Product { dot, n_words, panels: out.part(&weights.words, n_words), out };
                product.run(&mut narrow.words, self.unit);
            }
        }
    }
}

impl Int8Words {
    fn new(matrix: &[f32], (inputs, outputs): (usize, usize)) -> Self {
        let mut scales: Vec<f32> = matrix.chunks_exact(inputs).map(int8_scale).collect();
        let at = |o: usize, i: usize| (matrix[o * inputs + i] / scales[o]).round() as i8;
        let offset = |o: usize| (0..inputs).map(|i| 128 * i32::from(at(o, i))).sum();
        let mut offsets: Vec<i32> = (0..outputs).map(offset).collect();
        let words = words::<BYTES>((inputs, outputs), |o, i| u32::from(at(o, i).cast_unsigned()));
        // As long as the panels, so that none ends early.
        scales.resize(outputs.next_multiple_of(WIDE), 0.0);
        offsets.resize(outputs.next_multiple_of(WIDE), 0);
        Self { words, scales, offsets }
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

impl Out<'_> {
    /// The panels of the outputs that are wanted, each `[n_inputs][16]`.
    fn part<'a, T>(&self, panels: &'a [T], n_inputs: usize) -> &'a [T] {
        let size = n_inputs * WIDE;
        &panels[self.first / WIDE * size..][..self.width.div_ceil(WIDE) * size]
    }

    /// Stores or adds what there is room for of 16 outputs.
    #[inline(always)]
    pub(crate) fn store(&mut self, row: usize, panel: usize, lane: [f32; WIDE]) {
        let column = panel * WIDE;
        let count = (self.width - column).min(WIDE);
        let to = &mut self.data[row * self.width + column..][..count];
        // A whole panel has a length the compiler knows, which spares a call for every few values.
        match (<&mut [f32; WIDE]>::try_from(&mut *to), self.add) {
            (Ok(to), true) => to.iter_mut().zip(lane).for_each(|(to, x)| *to += x),
            (Ok(to), false) => *to = lane,
            (Err(_), true) => to.iter_mut().zip(lane).for_each(|(to, x)| *to += x),
            (Err(_), false) => to.iter_mut().zip(lane).for_each(|(to, x)| *to = x),
        }
    }
}

/// Panels of words that hold the weights of `N` inputs, low ones first, in as many bits as share a word.
fn words<const N: usize>((inputs, outputs): (usize, usize), at: impl Fn(usize, usize) -> u32) -> Vec<u32> {
    panels(inputs.div_ceil(N), outputs, |o, word| {
        let own = word * N..((word + 1) * N).min(inputs);
        own.enumerate().fold(0, |word, (place, i)| word | at(o, i) << (place * (32 / N)))
    })
}

/// Panels of a matrix given by element, padded with zeros.
fn panels<T: Copy + Default>(columns: usize, outputs: usize, at: impl Fn(usize, usize) -> T) -> Vec<T> {
    let mut panels = Vec::with_capacity(outputs.next_multiple_of(WIDE) * columns);
    for first in (0..outputs).step_by(WIDE) {
        for column in 0..columns {
            let value = |o: usize| if o < outputs { at(o, column) } else { T::default() };
            panels.extend((first..first + WIDE).map(value));
        }
    }
    panels
}

/// The factor that brings numbers into -127..=127; not a number if one of them is not.
pub(crate) fn int8_scale(row: &[f32]) -> f32 {
    // Bits without a sign are in the order of the numbers, and what is not a number comes last.
    let largest = row.iter().fold(0, |max, x| (x.to_bits() & 0x7fff_ffff).max(max));
    if largest > 0 { f32::from_bits(largest) / 127.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::numbers;

    /// Every number of rows and a part of the outputs against plain sums; inputs that do not fill their last word.
    fn check(round: impl Fn(f32) -> f32, precision: Precision, tolerance: f32) {
        let with_unit = |unit| Instructions { unit, ..Instructions::detect() };
        for (inputs, outputs) in [(24, 88), (27, 150), (64, 152)] {
            let matrix: Vec<f32> = numbers(inputs * outputs, 1).into_iter().map(&round).collect();
            for packed in [
                PackedMatrix::new(&matrix, inputs, outputs, precision),
                // As on processors with the matrix unit, without it, and without any of them.
                PackedMatrix::with(
                    &matrix,
                    (inputs, outputs),
                    precision,
                    with_unit(Some(MatrixUnit::EMULATED)),
                ),
                PackedMatrix::with(&matrix, (inputs, outputs), precision, with_unit(None)),
                PackedMatrix::with(&matrix, (inputs, outputs), precision, Instructions::default()),
            ] {
                for n in [1, 2, 3, 4, 5, 6, 7, 13, 20, 31, 50] {
                    check_rows(&packed, &matrix, &numbers(n * inputs, 2), tolerance);
                }
            }
        }
    }

    fn check_rows(packed: &PackedMatrix, matrix: &[f32], x: &[f32], tolerance: f32) {
        let (inputs, n) = (packed.inputs, x.len() / packed.inputs);
        for (first, width) in [(0, packed.outputs), (16, 40)] {
            let mut y = vec![1.0; n * width];
            let out = Out { data: &mut y, first, width, add: true };
            packed.forward(x, out, &mut PackedScratch::default());
            for row in 0..n {
                for column in 0..width {
                    let weights = &matrix[(first + column) * inputs..][..inputs];
                    let exact: f32 = weights.iter().zip(&x[row * inputs..]).map(|(w, x)| w * x).sum();
                    let got = y[row * width + column] - 1.0;
                    assert!((got - exact).abs() < tolerance, "{n} rows, ({row}, {column}): {got} {exact}");
                }
            }
        }
    }

    #[test]
    fn every_storage_and_number_of_rows() {
        check(|x| x, Precision::Exact, 1e-5);
        let bf16 = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
        check(bf16, Precision::Exact, 1e-5);
        check(|x| x, Precision::Bf16, 0.05);
        check(|x| x, Precision::Int8, 0.08);
        let halves = PackedMatrix::new(&vec![0.5; 64 * 16], 64, 16, Precision::Exact);
        assert_eq!(halves.n_bytes(), 2 * 64 * 16, "what is exact in bf16 takes two bytes");
    }

    #[test]
    fn the_matrix_unit_sums_what_vectors_do_and_a_row_is_the_same_whatever_shares_the_pass() {
        let found = Instructions::detect();
        // Inputs for several turns of the unit, an odd number of panels, and a last one that is not whole.
        let (inputs, outputs, n) = (192, 136, 50);
        let whole = |seed: usize, n: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * 37 + seed * 11) % 17) as f32 - 8.0).collect()
        };
        let forward = |unit, precision, matrix: &[f32], x: &[f32]| {
            let instructions = Instructions { unit, ..found };
            let packed = PackedMatrix::with(matrix, (inputs, outputs), precision, instructions);
            let mut y = vec![0.5; x.len() / inputs * outputs];
            let out = Out { data: &mut y, first: 0, width: outputs, add: true };
            packed.forward(x, out, &mut PackedScratch::default());
            y
        };
        for precision in [Precision::Bf16, Precision::Int8] {
            for unit in [Some(MatrixUnit::EMULATED), found.unit] {
                // No order of sums of whole numbers rounds.
                let (matrix, x) = (whole(1, inputs * outputs), whole(2, n * inputs));
                for n in [1, 15, 16, 17, 32, 40, 50] {
                    let [by_unit, by_vectors] =
                        [unit, None].map(|unit| forward(unit, precision, &matrix, &x[..n * inputs]));
                    assert!(by_unit == by_vectors, "{precision:?}, {n} rows by {unit:?}");
                }
                let (matrix, x) = (numbers(inputs * outputs, 1), numbers(n * inputs, 2));
                let together = forward(unit, precision, &matrix, &x);
                for (row, x) in x.chunks_exact(inputs).enumerate() {
                    let alone = forward(unit, precision, &matrix, x);
                    assert!(
                        alone == together[row * outputs..][..outputs],
                        "{precision:?}, row {row} by {unit:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_exact_in_bf16_stays_exact_and_what_is_no_number_is_seen() {
        let whole = |seed: usize, n: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * 37 + seed * 11) % 255) as f32 - 127.0).collect()
        };
        let (matrix, x) = (whole(1, 32 * 64), whole(2, 9 * 32));
        for precision in [Precision::Exact, Precision::Bf16, Precision::Int8] {
            let packed = PackedMatrix::new(&matrix, 32, 64, precision);
            if precision != Precision::Int8 {
                check_rows(&packed, &matrix, &x, 0.5);
            }
            let mut y = vec![0.0; 64];
            let row: Vec<f32> =
                (0..32).map(|i| if i == 5 { f32::from_bits(0xffff_ffff) } else { 1.0 }).collect();
            let out = Out { data: &mut y, first: 0, width: 64, add: false };
            packed.forward(&row, out, &mut PackedScratch::default());
            assert!(y.iter().all(|y| y.is_nan()), "{precision:?} hides what is not a number");
        }
        assert_eq!(bf16(1.0 + 1.0 / 256.0) >> 16, 0x3f80, "half way goes to the even one");
        assert_eq!(bf16(1.0 + 3.0 / 256.0) >> 16, 0x3f82);
        assert_eq!(bf16(f32::INFINITY) >> 16, 0x7f80);
    }
}
