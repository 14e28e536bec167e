//! Products by AVX-512: beside `matmul` the only place with unsafe code.
//!
//! Weights and activations come as words of 32 bits with two numbers of bf16 or four of 8 bits each, low ones first. One instruction multiplies
//! 16 words and adds the products of each to a sum of its own: twice the work of a multiplication of 16 floats in bf16, four times in 8 bits.
//! A [`Bf16Products`] or [`Int8Products`] can only be constructed after a CPU feature check, so its methods are safe to call.
//!
//! [`F32Products`] are those of attention, in f32 and in plain code where there is no AVX-512.
//!
//! Every sum of a tile runs over the words in their order, whatever the size of the tile, so a row does not depend on those beside it.
//!
//! A [`MatrixUnit`] does the same with 16 rows at once, sixteen words at a time. It sums bf16 in another order, so a matrix in
//! bf16 is served by it always or never; sums of 8-bit numbers are whole and come out the same.
#![allow(unsafe_code)]
#![cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux")),
    allow(dead_code, reason = "no value of a proof exists there")
)]

mod f32_products;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod unit;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use f32_products::{F32Operands, F32Products};

/// Outputs a panel: the lanes of a vector of 512 bits.
pub(crate) const WIDE: usize = 16;

/// A kind of product that this processor has.
pub(crate) trait Products: Copy {
    /// The numbers it multiplies.
    const NUMBERS: Narrow;

    /// `R` rows of words, one after another, times `P` panels `[word][16]`, one after another.
    ///
    /// # Panics
    /// When rows and panels do not have the same number of words, or the output is too short.
    fn tile<const R: usize, const P: usize>(self, operands: Operands<'_>, out: TileOut<'_>);

    /// What sums of the matrix unit stand for; only factors depend on row and panel.
    fn meaning(self, sums: &[u32; WIDE], place: (usize, usize)) -> [f32; WIDE];
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

/// Rows that the matrix unit takes at once.
pub(crate) const SIDE: usize = 16;

/// The numbers in a word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Narrow {
    /// Two of bf16, products summed in f32.
    Bf16,
    /// Four of 8 bits, unsigned in rows and signed in panels, products summed in i32.
    Int8,
}

/// The matrix unit of a processor, for both kinds of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixUnit(UnitKind);

#[derive(Clone, Copy, Debug)]
enum UnitKind {
    Present(UnitProof),
    /// Plain code in its place, so that tests reach what surrounds it on every machine.
    #[cfg(test)]
    Emulated,
}

/// What the matrix unit multiplies: one or two tiles of rows, and two panels.
#[derive(Clone, Copy)]
pub(crate) struct UnitOperands<'a> {
    /// `[16 or 32][n_words]`.
    pub(crate) rows: &'a [u32],
    /// `[n_words][16]` each, perhaps one twice.
    pub(crate) panels: [&'a [u32]; 2],
    /// A multiple of 16, and not zero.
    pub(crate) n_words: usize,
}

/// Bits of sums: `[row tile][panel][row][16]`.
pub(crate) type UnitSums = [[[[u32; WIDE]; SIDE]; 2]; 2];

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

/// The same for the matrix unit, which needs the kernel's help.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
type UnitProof = ();
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
type UnitProof = std::convert::Infallible;

impl MatrixUnit {
    #[cfg(test)]
    pub(crate) const EMULATED: Self = Self(UnitKind::Emulated);

    /// The unit, if this processor has it and the kernel lets this process use it.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        let found = unit::is_usable().then_some(Self(UnitKind::Present(())));
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        let found = None;
        found
    }

    /// Sums of products, in the second half only if there are rows for it.
    ///
    /// # Panics
    /// When rows and panels do not have the words that they must.
    #[inline]
    pub(crate) fn sums(self, kind: Narrow, operands: UnitOperands<'_>, out: &mut UnitSums) {
        operands.check();
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            // SAFETY: the proof exists only if `detect` found the unit, and `check` has asserted the lengths.
            UnitKind::Present(()) => unsafe { unit::sums(kind, operands, out) },
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            UnitKind::Present(never) => match (kind, out, never).2 {},
            #[cfg(test)]
            UnitKind::Emulated => tests::unit_sums(kind, operands, out),
        }
    }
}

impl UnitOperands<'_> {
    /// Asserts that everything the unit will read is there.
    #[inline]
    fn check(&self) {
        let Self { rows, panels, n_words } = self;
        assert!(*n_words > 0 && n_words % WIDE == 0, "the unit takes sixteen words at a time");
        assert!(
            (rows.len() == SIDE * n_words || rows.len() == 2 * SIDE * n_words)
                && panels.iter().all(|panel| panel.len() == WIDE * n_words),
            "rows and panels must have the same words"
        );
    }
}

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
    const NUMBERS: Narrow = Narrow::Bf16;

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

    #[inline]
    fn meaning(self, sums: &[u32; WIDE], _: (usize, usize)) -> [f32; WIDE] {
        sums.map(f32::from_bits)
    }
}

impl Products for ScaledInt8Products<'_> {
    const NUMBERS: Narrow = Narrow::Int8;

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

    #[inline]
    fn meaning(self, sums: &[u32; WIDE], (row, panel): (usize, usize)) -> [f32; WIDE] {
        let first = panel * WIDE;
        let (scales, offsets) = (&self.scales[first..first + WIDE], &self.offsets[first..first + WIDE]);
        let scale = self.row_scales[row];
        std::array::from_fn(|i| (sums[i].cast_signed() - offsets[i]) as f32 * (scales[i] * scale))
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
