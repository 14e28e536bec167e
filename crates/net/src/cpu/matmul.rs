//! Matrix products: a checked wrapper of `gemm`, and with `tile512` the only place with unsafe code.
#![allow(unsafe_code)]

use gemm::Parallelism;

/// A matrix to read, with strides, so that a transposed or embedded matrix needs no copy.
#[derive(Clone, Copy)]
pub(crate) struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Mat<'a> {
    /// Row-major without gaps.
    pub(crate) fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Row-major with `row_stride` elements from row to row.
    pub(crate) fn strided(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        let mat = Self { data, rows, columns, row_stride, column_stride: 1 };
        mat.check();
        mat
    }

    /// The transposed matrix.
    pub(crate) fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    fn check(&self) {
        if self.rows > 0 && self.columns > 0 {
            let last = (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride;
            assert!(last < self.data.len(), "a matrix reaches beyond its buffer");
        }
    }
}

/// A row-major matrix to write.
pub(crate) struct MatMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a> MatMut<'a> {
    /// Row-major without gaps.
    pub(crate) fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Row-major with `row_stride` elements from row to row.
    pub(crate) fn strided(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(row_stride >= columns, "rows of an output must not overlap");
        if rows > 0 && columns > 0 {
            assert!((rows - 1) * row_stride + columns <= data.len(), "a matrix reaches beyond its buffer");
        }
        Self { data, rows, columns, row_stride }
    }
}

/// What becomes of the old values of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Replaced.
    Set,
    /// Added to.
    Add,
}

/// Whether a product may use all threads; callers that are parallel themselves say no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// This thread only.
    One,
    /// The pool.
    All,
}

/// `out = a b` or `out += a b`.
pub(crate) fn matmul(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, store: Store, threads: Threads) {
    assert!(a.rows == out.rows && b.columns == out.columns && a.columns == b.rows, "matrix shapes differ");
    let (m, n, k) = (out.rows, out.columns, a.columns);
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        if store == Store::Set {
            for row in out.data.chunks_mut(out.row_stride).take(m) {
                row[..n].fill(0.0);
            }
        }
        return;
    }
    // Below some 100,000 products waking another thread costs more than it saves.
    let parallelism = match threads {
        Threads::All if m * n * k > 100_000 => Parallelism::Rayon(rayon::current_num_threads()),
        _ => Parallelism::None,
    };
    let add = store == Store::Add;
    // SAFETY: `Mat` and `MatMut` checked on construction that every index their shape and strides can reach lies in their
    // slice (and `t` only swaps the axes); `out` is borrowed mutably, so it overlaps neither `a` nor `b`, and its rows
    // do not overlap one another. Shapes agree by the assertion above. Strides are far below `isize::MAX`, since they
    // index a slice.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.data.as_mut_ptr(),
            1,
            out.row_stride as isize,
            add,
            a.data.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0f32,
            1.0f32,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// A linear layer without bias over `n` rows, `[n, inputs]` to `[n, outputs]`, weights `[outputs, inputs]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    /// Width of an input row.
    pub(crate) inputs: usize,
    /// Width of an output row.
    pub(crate) outputs: usize,
    /// Who works on it.
    pub(crate) threads: Threads,
}

impl Linear {
    /// A layer whose products use all threads.
    pub(crate) fn new(inputs: usize, outputs: usize) -> Self {
        Self { inputs, outputs, threads: Threads::All }
    }

    /// `y = x w^T`, or `y += x w^T`.
    pub(crate) fn forward(self, y: &mut [f32], x: &[f32], w: &[f32], store: Store) {
        let n = x.len() / self.inputs;
        let out = MatMut::new(y, n, self.outputs);
        let w = Mat::new(w, self.outputs, self.inputs);
        matmul(out, Mat::new(x, n, self.inputs), w.t(), store, self.threads);
    }

    /// `dx = dy w`, or `dx += dy w`.
    pub(crate) fn backward_input(self, dx: &mut [f32], dy: &[f32], w: &[f32], store: Store) {
        let n = dy.len() / self.outputs;
        let out = MatMut::new(dx, n, self.inputs);
        let w = Mat::new(w, self.outputs, self.inputs);
        matmul(out, Mat::new(dy, n, self.outputs), w, store, self.threads);
    }

    /// `dw += dy^T x`.
    pub(crate) fn backward_weight(self, dw: &mut [f32], dy: &[f32], x: &[f32]) {
        let n = dy.len() / self.outputs;
        let out = MatMut::new(dw, self.outputs, self.inputs);
        let dy = Mat::new(dy, n, self.outputs);
        matmul(out, dy.t(), Mat::new(x, n, self.inputs), Store::Add, self.threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
        let at = |i: usize| (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum();
        (0..m * n).map(at).collect()
    }

    #[test]
    fn products_with_strides_and_transposes() {
        let (m, n, k) = (5, 7, 3);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.3).cos()).collect();
        let expected = naive(&a, &b, m, n, k);
        let mut out = vec![1.0; m * (n + 2)];
        matmul(
            MatMut::strided(&mut out, m, n, n + 2),
            Mat::new(&a, m, k),
            Mat::new(&b, k, n),
            Store::Add,
            Threads::All,
        );
        for i in 0..m {
            for j in 0..n {
                assert!((out[i * (n + 2) + j] - 1.0 - expected[i * n + j]).abs() < 1e-5);
            }
            assert!(i + 1 == m || out[i * (n + 2) + n] == 1.0, "the gap between rows is untouched");
        }
        let mut transposed_b = vec![0.0; n * k];
        (0..k * n).for_each(|i| transposed_b[i % n * k + i / n] = b[i]);
        let mut y = vec![9.0; m * n];
        Linear::new(k, n).forward(&mut y, &a, &transposed_b, Store::Set);
        y.iter().zip(&expected).for_each(|(y, e)| assert!((y - e).abs() < 1e-5));
    }

    #[test]
    #[should_panic(expected = "beyond its buffer")]
    fn a_short_buffer_is_caught() {
        Mat::new(&[0.0; 5], 2, 3);
    }

    #[test]
    fn linear_gradients() {
        use crate::check::{Check, numbers};
        let layer = Linear::new(6, 5);
        let (x, w, dy) = (numbers(4 * 6, 1), numbers(30, 2), numbers(20, 3));
        let loss = |x: &[f32], w: &[f32]| {
            let mut y = vec![0.0; 20];
            layer.forward(&mut y, x, w, Store::Set);
            crate::check::weighted(&y, &dy)
        };
        let (mut dx, mut dw) = (vec![0.0; 24], vec![0.0; 30]);
        layer.backward_input(&mut dx, &dy, &w, Store::Set);
        layer.backward_weight(&mut dw, &dy, &x);
        Check::default().gradient(&x, &dx, |x| loss(x, &w));
        Check::default().gradient(&w, &dw, |w| loss(&x, w));
    }
}
