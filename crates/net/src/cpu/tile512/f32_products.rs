//! Products in f32 of rows with panels that lie anywhere in memory.

use super::{TileOut, WIDE};
use crate::cpu::scalar::{self, fma};

/// Products of f32 numbers: by AVX-512 if this processor has it, else by plain loops, with the same results in builds with FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F32Products {
    /// Whether the instructions were found.
    has_avx512: bool,
}

/// What is multiplied: term `i` of row `r` is at `r * row_stride + i`, that of lane `l` of panel `p` at `p * panel_stride + i * step + l`.
#[derive(Clone, Copy)]
pub(crate) struct F32Operands<'a> {
    pub(crate) rows: &'a [f32],
    pub(crate) row_stride: usize,
    pub(crate) panels: &'a [f32],
    pub(crate) panel_stride: usize,
    pub(crate) step: usize,
    /// Terms of a sum.
    pub(crate) n: usize,
}

impl F32Products {
    /// The instructions that this processor has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_avx512 = super::x86::has_f32();
        #[cfg(not(target_arch = "x86_64"))]
        let has_avx512 = false;
        Self { has_avx512 }
    }

    /// Plain loops, as on a processor without the instructions.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { has_avx512: false }
    }

    /// All products of `n_rows` rows with `n_panels` panels. With `add` the sums continue from what is there, term by term.
    ///
    /// # Panics
    /// When the operands or the output are too short.
    pub(crate) fn products(
        self,
        (n_rows, n_panels): (usize, usize),
        operands: F32Operands<'_>,
        mut out: TileOut<'_>,
    ) {
        let mut row = 0;
        while row < n_rows {
            let rest = operands.row(row);
            let mut out = out.from(row * out.stride);
            // Twelve rows and two panels, or six and four, are 24 of the 32 registers of AVX-512; six and one are 12 of the 16 of AVX2.
            row += match (n_rows - row, self.has_avx512) {
                (12.., true) => self.broad::<12, 2>(n_panels, rest, &mut out),
                (6.., true) => self.broad::<6, 4>(n_panels, rest, &mut out),
                (5, true) => self.broad::<5, 4>(n_panels, rest, &mut out),
                (4, true) => self.broad::<4, 4>(n_panels, rest, &mut out),
                (3, true) => self.broad::<3, 4>(n_panels, rest, &mut out),
                (2, true) => self.broad::<2, 4>(n_panels, rest, &mut out),
                (_, true) => self.broad::<1, 4>(n_panels, rest, &mut out),
                (6.., false) => self.broad::<6, 1>(n_panels, rest, &mut out),
                (4.., false) => self.broad::<4, 1>(n_panels, rest, &mut out),
                (2.., false) => self.broad::<2, 2>(n_panels, rest, &mut out),
                (_, false) => self.broad::<1, 4>(n_panels, rest, &mut out),
            };
        }
    }

    /// [`scalar::soften_joined`].
    pub(crate) fn soften_joined(self, first: &mut [f32], second: &mut [f32], scale: f32) -> f32 {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx512 {
            // SAFETY: `detect` found the instruction.
            return unsafe { super::x86::soften_joined(first, second, scale) };
        }
        scalar::soften_joined(first, second, scale)
    }

    /// `R` rows with all panels, `P` at once as far as there are so many; returns `R`.
    #[inline]
    fn broad<const R: usize, const P: usize>(
        self,
        n_panels: usize,
        operands: F32Operands<'_>,
        out: &mut TileOut<'_>,
    ) -> usize {
        let mut panel = 0;
        while panel < n_panels {
            let (rest, out) = (operands.panel(panel), out.from(panel * WIDE));
            if panel + P <= n_panels {
                self.tile::<R, P>(rest, out);
                panel += P;
            } else if P > 2 && panel + 2 <= n_panels {
                self.tile::<R, 2>(rest, out);
                panel += 2;
            } else {
                self.tile::<R, 1>(rest, out);
                panel += 1;
            }
        }
        R
    }

    #[inline]
    fn tile<const R: usize, const P: usize>(self, operands: F32Operands<'_>, out: TileOut<'_>) {
        operands.check::<R, P>(&out);
        #[cfg(target_arch = "x86_64")]
        if self.has_avx512 {
            // SAFETY: `detect` found the instruction, and `check` has asserted the lengths.
            return unsafe { super::x86::f32_tile::<R, P>(operands, out) };
        }
        plain_tile::<R, P>(operands, out);
    }
}

impl<'a> F32Operands<'a> {
    /// From a row on.
    fn row(self, row: usize) -> Self {
        Self { rows: &self.rows[row * self.row_stride..], ..self }
    }

    /// From a panel on.
    fn panel(self, panel: usize) -> Self {
        Self { panels: &self.panels[panel * self.panel_stride..], ..self }
    }

    /// Asserts that every index a tile of this size can reach is there.
    #[inline]
    fn check<const R: usize, const P: usize>(&self, out: &TileOut<'_>) {
        const { assert!(R > 0 && P > 0, "a tile has rows and panels") };
        if let Some(last) = self.n.checked_sub(1) {
            assert!(self.rows.len() > (R - 1) * self.row_stride + last, "the rows are too short");
            assert!(
                self.panels.len() >= (P - 1) * self.panel_stride + last * self.step + WIDE,
                "the panels are too short"
            );
        }
        assert!(out.data.len() >= (R - 1) * out.stride + P * WIDE, "the output is too short for its tile");
    }
}

impl TileOut<'_> {
    /// From an element on.
    #[inline]
    fn from(&mut self, first: usize) -> TileOut<'_> {
        TileOut { data: &mut self.data[first..], stride: self.stride, add: self.add }
    }
}

/// A tile in vector code for any machine.
#[inline]
fn plain_tile<const R: usize, const P: usize>(operands: F32Operands<'_>, out: TileOut<'_>) {
    let F32Operands { rows, row_stride, panels, panel_stride, step, n } = operands;
    let mut sums = [[[0.0f32; WIDE]; P]; R];
    if out.add {
        for (r, sums) in sums.iter_mut().enumerate() {
            for (p, sum) in sums.iter_mut().enumerate() {
                sum.copy_from_slice(&out.data[r * out.stride + p * WIDE..][..WIDE]);
            }
        }
    }
    let rows: [&[f32]; R] = std::array::from_fn(|r| &rows[r * row_stride..][..n]);
    for i in 0..n {
        let terms: [&[f32]; P] = std::array::from_fn(|p| &panels[p * panel_stride + i * step..][..WIDE]);
        for r in 0..R {
            for p in 0..P {
                for lane in 0..WIDE {
                    sums[r][p][lane] = fma(rows[r][i], terms[p][lane], sums[r][p][lane]);
                }
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (p, sum) in sums.iter().enumerate() {
            out.data[r * out.stride + p * WIDE..][..WIDE].copy_from_slice(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::numbers;

    /// Sums of every number of rows and panels, in two parts, bit for bit those of a plain loop.
    #[test]
    fn sums_run_in_order_whatever_the_size() {
        let (n, row_stride) = (29, 31);
        let rows = numbers(30 * row_stride, 1);
        for (n_panels, panel_stride, step) in [(5, n * WIDE, WIDE), (3, WIDE, 3 * WIDE)] {
            let panels = numbers(n_panels * n * WIDE, 2);
            for products in [F32Products::detect(), F32Products::plain()] {
                for n_rows in [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 18, 29] {
                    let stride = n_panels * WIDE + 3;
                    let mut data = vec![7.0; n_rows * stride];
                    for part in [0..n / 2, n / 2..n] {
                        let operands = F32Operands {
                            rows: &rows[part.start..],
                            row_stride,
                            panels: &panels[part.start * step..],
                            panel_stride,
                            step,
                            n: part.len(),
                        };
                        let out = TileOut { data: &mut data, stride, add: part.start > 0 };
                        products.products((n_rows, n_panels), operands, out);
                    }
                    for (at, got) in data.iter().enumerate() {
                        let (r, column) = (at / stride, at % stride);
                        let (p, lane) = (column / WIDE, column % WIDE);
                        let term =
                            |i: usize| (rows[r * row_stride + i], panels[p * panel_stride + i * step + lane]);
                        let expected = match p < n_panels {
                            true => (0..n).map(term).fold(0.0, |sum, (a, b)| fma(a, b, sum)),
                            false => 7.0,
                        };
                        assert_eq!(got.to_bits(), expected.to_bits(), "{n_rows} rows, ({r}, {column})");
                    }
                }
            }
        }
    }
}
