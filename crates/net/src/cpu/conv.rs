//! 3x3 convolution with zero borders, channels last, by gathering neighbors into rows and one matrix product.

use super::matmul::{Linear, Store, Threads};

/// A convolution over boards of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conv3x3 {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Channels in and out.
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl Conv3x3 {
    /// `y = conv(x) + bias`: `[n, height, width, inputs]` to `[.., outputs]`, weights `[outputs, 3, 3, inputs]`.
    pub(crate) fn forward(
        self,
        y: &mut [f32],
        x: &[f32],
        parameters: Parameters<'_>,
        columns: &mut Vec<f32>,
    ) {
        self.gather(columns, x);
        self.linear().forward(y, columns, parameters.weight, Store::Set);
        add_bias(y, parameters.bias);
    }

    /// `d_weight +=`, `d_bias +=`, and with `dx`, the gradient of the input is set.
    pub(crate) fn backward(
        self,
        dx: Option<&mut [f32]>,
        gradients: Gradients<'_>,
        dy: &[f32],
        (x, weight): (&[f32], &[f32]),
        columns: &mut Vec<f32>,
    ) {
        self.gather(columns, x);
        self.linear().backward_weight(gradients.weight, dy, columns);
        add_rows(gradients.bias, dy);
        if let Some(dx) = dx {
            self.linear().backward_input(columns, dy, weight, Store::Set);
            self.scatter(dx, columns);
        }
    }

    fn linear(self) -> Linear {
        Linear { inputs: 9 * self.inputs, outputs: self.outputs, threads: Threads::One }
    }

    /// The nine neighbors of every cell as one row: `[n * height * width, 9 * inputs]`.
    fn gather(self, columns: &mut Vec<f32>, x: &[f32]) {
        let cells = x.len() / self.inputs;
        columns.clear();
        columns.resize(cells * 9 * self.inputs, 0.0);
        for (cell, row) in columns.chunks_exact_mut(9 * self.inputs).enumerate() {
            for (slot, from) in self.neighbors(cell) {
                row[slot * self.inputs..(slot + 1) * self.inputs]
                    .copy_from_slice(&x[from * self.inputs..(from + 1) * self.inputs]);
            }
        }
    }

    /// The way back: adds every row to the nine cells it came from.
    fn scatter(self, dx: &mut [f32], columns: &[f32]) {
        dx.fill(0.0);
        for (cell, row) in columns.chunks_exact(9 * self.inputs).enumerate() {
            for (slot, to) in self.neighbors(cell) {
                let to = &mut dx[to * self.inputs..(to + 1) * self.inputs];
                let from = &row[slot * self.inputs..(slot + 1) * self.inputs];
                to.iter_mut().zip(from).for_each(|(to, x)| *to += x);
            }
        }
    }

    /// The neighbors of a cell that are on its board: `(0..9, cell)`.
    #[inline]
    fn neighbors(self, cell: usize) -> impl Iterator<Item = (usize, usize)> {
        let (y, x) = (cell / self.width % self.height, cell % self.width);
        (0..9).filter_map(move |slot| {
            let (dy, dx) = (slot / 3, slot % 3);
            let inside = (1..=self.height).contains(&(y + dy)) && (1..=self.width).contains(&(x + dx));
            inside.then(|| (slot, cell + dy * self.width + dx - self.width - 1))
        })
    }
}

/// Weights and bias of a layer.
#[derive(Clone, Copy)]
pub(crate) struct Parameters<'a> {
    pub(crate) weight: &'a [f32],
    pub(crate) bias: &'a [f32],
}

/// Their gradients.
pub(crate) struct Gradients<'a> {
    pub(crate) weight: &'a mut [f32],
    pub(crate) bias: &'a mut [f32],
}

/// Adds a bias to every row.
pub(crate) fn add_bias(y: &mut [f32], bias: &[f32]) {
    for row in y.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
    }
}

/// Adds every row to a sum.
pub(crate) fn add_rows(sum: &mut [f32], rows: &[f32]) {
    for row in rows.chunks_exact(sum.len()) {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    const CONV: Conv3x3 = Conv3x3 { height: 4, width: 5, inputs: 3, outputs: 2 };

    fn run(x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; x.len() / 3 * 2];
        CONV.forward(&mut y, x, Parameters { weight, bias }, &mut Vec::new());
        y
    }

    #[test]
    fn agrees_with_the_definition() {
        let (x, weight, bias) = (numbers(2 * 60, 1), numbers(54, 2), numbers(2, 3));
        let y = run(&x, &weight, &bias);
        for n in 0..2i32 {
            for (row, column, out) in (0..4 * 5 * 2).map(|i| (i / 10, i / 2 % 5, i % 2)) {
                let mut expected = bias[out as usize];
                for (dy, dx, c) in (0..27).map(|i| (i / 9, i / 3 % 3, i % 3)) {
                    let (r, k) = (row + dy - 1, column + dx - 1);
                    if (0..4).contains(&r) && (0..5).contains(&k) {
                        let value = x[(((n * 4 + r) * 5 + k) * 3 + c) as usize];
                        expected += value * weight[(((out * 3 + dy) * 3 + dx) * 3 + c) as usize];
                    }
                }
                let got = y[(((n * 4 + row) * 5 + column) * 2 + out) as usize];
                assert!((got - expected).abs() < 1e-5, "{got} {expected}");
            }
        }
    }

    #[test]
    fn gradients() {
        let (x, weight, bias, dy) = (numbers(120, 1), numbers(54, 2), numbers(2, 3), numbers(80, 4));
        let (mut dx, mut d_weight, mut d_bias) = (vec![9.0; 120], vec![0.0; 54], vec![0.0; 2]);
        let gradients = Gradients { weight: &mut d_weight, bias: &mut d_bias };
        CONV.backward(Some(&mut dx), gradients, &dy, (&x, &weight), &mut Vec::new());
        Check::default().gradient(&x, &dx, |x| weighted(&run(x, &weight, &bias), &dy));
        Check::default().gradient(&weight, &d_weight, |weight| weighted(&run(&x, weight, &bias), &dy));
        Check::default().gradient(&bias, &d_bias, |bias| weighted(&run(&x, &weight, bias), &dy));
    }
}
