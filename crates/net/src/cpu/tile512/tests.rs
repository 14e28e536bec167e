#![allow(clippy::print_stderr, reason = "what could not be tested is said")]

use super::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROWS: usize = 6;
const PANELS: usize = 4;

/// Random words, and the products of a row and an output of them.
struct Case {
    n_words: usize,
    rows: Vec<u32>,
    panels: Vec<u32>,
}

impl Case {
    fn new(n_words: usize, word: impl Fn(u32) -> u32) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(n_words as u64);
        let rows = (0..ROWS * n_words).map(|_| word(rng.next_u32())).collect();
        let panels = (0..PANELS * n_words * WIDE).map(|_| word(rng.next_u32())).collect();
        Self { n_words, rows, panels }
    }

    fn words(&self, row: usize, panel: usize, lane: usize) -> impl Iterator<Item = (u32, u32)> {
        let n = self.n_words;
        (0..n).map(move |i| (self.rows[row * n + i], self.panels[(panel * n + i) * WIDE + lane]))
    }

    /// One tile, set and then added, with a gap between rows that stays as it is.
    fn tile<const R: usize, const P: usize>(
        &self,
        dot: impl Products,
        expected: &dyn Fn(usize, usize, usize) -> (f64, f64),
    ) {
        let stride = P * WIDE + 3;
        let mut data = vec![7.0; R * stride];
        let (rows, panels) = (&self.rows[..R * self.n_words], &self.panels[..P * self.n_words * WIDE]);
        for add in [false, true] {
            let operands = Operands { rows, panels, place: (0, 0) };
            dot.tile::<R, P>(operands, TileOut { data: &mut data, stride, add });
        }
        for (i, got) in data.iter().enumerate() {
            let (row, column) = (i / stride, i % stride);
            if column >= P * WIDE {
                assert_eq!(*got, 7.0, "the gap between rows is untouched");
                continue;
            }
            let (sum, bound) = expected(row, column / WIDE, column % WIDE);
            assert!((f64::from(*got) - 2.0 * sum).abs() <= 2.0 * bound, "{R} x {P}, {i}: {got} {sum}");
        }
    }

    fn all_tiles(&self, dot: impl Products, expected: &dyn Fn(usize, usize, usize) -> (f64, f64)) {
        self.tile::<1, 1>(dot, expected);
        self.tile::<2, 1>(dot, expected);
        self.tile::<3, 1>(dot, expected);
        self.tile::<4, 1>(dot, expected);
        self.tile::<5, 1>(dot, expected);
        self.tile::<6, 1>(dot, expected);
        self.tile::<1, 4>(dot, expected);
        self.tile::<2, 4>(dot, expected);
        self.tile::<3, 4>(dot, expected);
        self.tile::<4, 4>(dot, expected);
        self.tile::<5, 4>(dot, expected);
        self.tile::<6, 4>(dot, expected);
    }
}

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 7, 16, 33, 176];

#[test]
fn bf16_tiles_are_sums_of_two_products_a_word() {
    let Some(dot) = Bf16Products::detect() else {
        eprintln!("this processor does not multiply bf16: nothing to compare, plain code serves");
        return;
    };
    let half = |word: u32, j: u32| f64::from(f32::from_bits((word >> (16 * j)) << 16));
    for n_words in LENGTHS {
        // Sizes from 1/2 to 2 with either sign.
        let case = Case::new(n_words, |random| random & 0x80ff_80ff | 0x3f00_3f00);
        case.all_tiles(dot, &|row, panel, lane| {
            let products =
                case.words(row, panel, lane).flat_map(|(a, b)| [0, 1].map(|j| half(a, j) * half(b, j)));
            let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            (sum, size * 1e-6)
        });
    }
}

#[test]
fn int8_tiles_are_sums_of_four_products_a_word() {
    let Some(products) = Int8Products::detect() else {
        eprintln!("this processor does not multiply 8-bit numbers: nothing to compare, plain code serves");
        return;
    };
    let row_scales: Vec<f32> = (0..ROWS).map(|row| 0.5 + row as f32).collect();
    let scales: Vec<f32> = (0..PANELS * WIDE).map(|output| 0.01 + output as f32 / 64.0).collect();
    let offsets: Vec<i32> = (0..PANELS * WIDE).map(|output| output as i32 * 1000 - 7).collect();
    let dot = ScaledInt8Products { products, row_scales: &row_scales, scales: &scales, offsets: &offsets };
    for n_words in LENGTHS {
        let case = Case::new(n_words, |random| random);
        case.all_tiles(dot, &|row, panel, lane| {
            let output = panel * WIDE + lane;
            let sum =
                f64::from(case.words(row, panel, lane).map(int8_product).sum::<i32>() - offsets[output]);
            let value = sum * f64::from(row_scales[row]) * f64::from(scales[output]);
            (value, value.abs() * 1e-6)
        });
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(dot) = Bf16Products::detect() else { return };
    let refused = |n_rows: usize, n_panels: usize, n_out: usize| {
        let (rows, panels, mut data) = (vec![0; n_rows], vec![0; n_panels], vec![0.0; n_out]);
        let run = move || {
            let operands = Operands { rows: &rows, panels: &panels, place: (0, 0) };
            dot.tile::<2, 1>(operands, TileOut { data: &mut data, stride: 20, add: false });
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
    };
    assert!(!refused(6, 48, 36));
    assert!(refused(6, 48, 35) && refused(6, 47, 36) && refused(5, 48, 36) && refused(7, 48, 36));
}

/// What the manual says that the instructions of the matrix unit do, in the order in which they do it.
pub(super) fn unit_sums(kind: Narrow, operands: UnitOperands<'_>, out: &mut UnitSums) {
    let UnitOperands { rows, panels, n_words } = operands;
    for (row, words) in rows.chunks_exact(n_words).enumerate() {
        for (p, panel) in panels.iter().enumerate() {
            for lane in 0..WIDE {
                let pairs: Vec<(u32, u32)> =
                    (0..n_words).map(|i| (words[i], panel[i * WIDE + lane])).collect();
                out[row / SIDE][p][row % SIDE][lane] = match kind {
                    Narrow::Bf16 => bf16_sum(&pairs).to_bits(),
                    Narrow::Int8 => pairs.iter().copied().map(int8_product).sum::<i32>().cast_unsigned(),
                };
            }
        }
    }
}

/// The low and the high numbers of sixteen words are summed apart and then added to what earlier words came to.
fn bf16_sum(pairs: &[(u32, u32)]) -> f32 {
    let half = |word: u32, j: u32| f32::from_bits((word >> (16 * j)) << 16);
    let turn = |pairs: &[(u32, u32)]| {
        let [low, high] =
            [0, 1].map(|j| pairs.iter().fold(0.0_f32, |sum, &(a, b)| half(a, j).mul_add(half(b, j), sum)));
        low + high
    };
    pairs.chunks_exact(WIDE).fold(0.0, |sum, pairs| sum + turn(pairs))
}

fn int8_product((a, b): (u32, u32)) -> i32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| i32::from(a) * i32::from(b.cast_signed())).sum()
}

#[test]
fn the_matrix_unit_does_what_the_manual_says() {
    let Some(unit) = MatrixUnit::detect() else {
        eprintln!("this processor has no matrix unit, or may not use it: only what surrounds it is tested");
        return;
    };
    let check = || {
        for (kind, word) in [
            // 1 or 1.5 with either sign: no order of their sums rounds.
            (Narrow::Bf16, (|random| random & 0x8040_8040 | 0x3f80_3f80) as fn(u32) -> u32),
            (Narrow::Int8, |random| random),
        ] {
            for (n_words, n_rows) in [(16, 16), (16, 32), (48, 16), (176, 32)] {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(n_words as u64);
                let mut words = |n: usize| -> Vec<u32> { (0..n).map(|_| word(rng.next_u32())).collect() };
                let (rows, one, other) =
                    (words(n_rows * n_words), words(n_words * WIDE), words(n_words * WIDE));
                let operands = UnitOperands { rows: &rows, panels: [&one, &other], n_words };
                let [mut got, mut expected] = [UnitSums::default(); 2];
                unit.sums(kind, operands, &mut got);
                unit_sums(kind, operands, &mut expected);
                assert!(
                    got[..n_rows / SIDE] == expected[..n_rows / SIDE],
                    "{kind:?}, {n_words} words, {n_rows} rows"
                );
            }
        }
    };
    // Shapes and tiles belong to a thread.
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(check)));
}

#[test]
fn what_does_not_fit_the_matrix_unit_is_refused() {
    let refused = |n_rows: usize, panels: [usize; 2], n_words: usize| {
        let (rows, one, other) = (vec![0; n_rows], vec![0; panels[0]], vec![0; panels[1]]);
        let run = move || {
            let operands = UnitOperands { rows: &rows, panels: [&one, &other], n_words };
            MatrixUnit::EMULATED.sums(Narrow::Int8, operands, &mut UnitSums::default());
        };
        std::panic::catch_unwind(run).is_err()
    };
    assert!(!refused(256, [256, 256], 16) && !refused(512, [256, 256], 16));
    assert!(refused(255, [256, 256], 16) && refused(768, [256, 256], 16) && refused(256, [256, 255], 16));
    assert!(refused(128, [128, 128], 8) && refused(0, [0, 0], 0));
}
