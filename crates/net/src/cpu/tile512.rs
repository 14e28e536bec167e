//! Products by AVX-512: beside `matmul` the only place with unsafe code.
//!
//! Weights and activations come as words of 32 bits with two numbers of bf16 or four of 8 bits each, low ones first. One instruction multiplies
//! 16 words and adds the products of each to a sum of its own: twice the work of a multiplication of 16 floats in bf16, four times in 8 bits.
//! A [`Bf16Products`] or [`Int8Products`] can only be constructed after a CPU feature check, so its methods are safe to call.
//!
//! [`F32Products`] are those of attention, in f32 and in plain code where there is no AVX-512.
//!
//! Every sum of a tile runs over the words in their order, whatever the size of the tile, so a row does not depend on those beside it.
#![allow(unsafe_code)]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "no value of a proof exists there"))]

mod f32_products;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use f32_products::{F32Operands, F32Products};

/// Outputs a panel: the lanes of a vector of 512 bits.
pub(crate) const WIDE: usize = 16;

/// A kind of product that this processor has.
pub(crate) trait Products: Copy {
    /// `R` rows of words, one after another, times `P` panels `[word][16]`, one after another.
    ///
    /// # Panics
    /// When rows and panels do not have the same number of words, or the output is too short.
    fn tile<const R: usize, const P: usize>(self, operands: Operands<'_>, out: TileOut<'_>);
}

/// What is multiplied.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    /// `[R][word]`.
    pub(crate) rows: &'a [u32],
    /// `[P][word][16]`.
    pub(crate) panels: &'a [u32],
    /// Which row is the first, and which panel; only factors depend on it.
    pub(crate) place: (usize, usize),
}

/// Where the sums go.
pub(crate) struct TileOut<'a> {
    /// From the first output of the first row on.
    pub(crate) data: &'a mut [f32],
    /// From row to row.
    pub(crate) stride: usize,
    /// Add to what is there.
    pub(crate) add: bool,
}

/// Products of bf16 numbers, summed in f32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bf16Products(Proof);

/// The instruction for products of unsigned 8-bit numbers (rows) with signed ones (panels), summed in i32 without saturation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int8Products(Proof);

/// [`Int8Products`] and what their sums stand for.
#[derive(Clone, Copy)]
pub(crate) struct ScaledInt8Products<'a> {
    /// The instruction.
    pub(crate) products: Int8Products,
    /// What a unit of each row stands for.
    pub(crate) row_scales: &'a [f32],
    /// What a unit of each output stands for, whole panels.
    pub(crate) scales: &'a [f32],
    /// By how much the sum of each output is too high, whole panels.
    pub(crate) offsets: &'a [i32],
}

/// Values exist only where the instructions may.
#[cfg(target_arch = "x86_64")]
type Proof = ();
#[cfg(not(target_arch = "x86_64"))]
type Proof = std::convert::Infallible;

impl Bf16Products {
    /// The instruction, if this processor has it.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let found = x86::has_bf16().then_some(Self(()));
        #[cfg(not(target_arch = "x86_64"))]
        let found = None;
        found
    }
}

impl Int8Products {
    /// The instruction, if this processor has it.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let found = x86::has_int8().then_some(Self(()));
        #[cfg(not(target_arch = "x86_64"))]
        let found = None;
        found
    }
}

impl Products for Bf16Products {
    #[inline]
    fn tile<const R: usize, const P: usize>(self, operands: Operands<'_>, out: TileOut<'_>) {
        operands.check::<R, P>(&out);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `self` exists only if `detect` found the instruction, and `check` has asserted the lengths.
        unsafe {
            x86::bf16_tile::<R, P>(operands, out);
        }
        #[cfg(not(target_arch = "x86_64"))]
        match self.0 {}
    }
}

impl Products for ScaledInt8Products<'_> {
    #[inline]
    fn tile<const R: usize, const P: usize>(self, operands: Operands<'_>, out: TileOut<'_>) {
        operands.check::<R, P>(&out);
        let Self { products: Int8Products(proof), row_scales, scales, offsets } = self;
        let (row, panel) = operands.place;
        let factors = Factors {
            rows: &row_scales[row..row + R],
            outputs: &scales[panel * WIDE..(panel + P) * WIDE],
            offsets: &offsets[panel * WIDE..(panel + P) * WIDE],
        };
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `proof` exists only if `detect` found the instruction; `check` has asserted the lengths, and the factors were cut
        // to theirs.
        unsafe {
            let () = proof;
            x86::int8_tile::<R, P>(operands, factors, out);
        }
        #[cfg(not(target_arch = "x86_64"))]
        match (factors, proof).1 {}
    }
}

/// The factors of one tile: `[R]`, `[P * 16]` and `[P * 16]`.
struct Factors<'a> {
    rows: &'a [f32],
    outputs: &'a [f32],
    offsets: &'a [i32],
}

impl Operands<'_> {
    /// Asserts that every index a tile of this size can reach is there.
    #[inline]
    fn check<const R: usize, const P: usize>(&self, out: &TileOut<'_>) {
        const { assert!(R > 0 && P > 0, "a tile has rows and panels") };
        let n_words = self.rows.len() / R;
        assert!(
            self.rows.len() == R * n_words && self.panels.len() == P * n_words * WIDE,
            "rows and panels must have the same words"
        );
        assert!(out.data.len() >= (R - 1) * out.stride + P * WIDE, "the output is too short for its tile");
    }
}

#[cfg(test)]
mod tests;
