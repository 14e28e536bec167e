//! Small dense matrices; a league has tens of players, so nothing larger is worth a dependency.

use std::ops::{Index, IndexMut};

/// A square matrix in row order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Matrix {
    n: usize,
    cells: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(n: usize) -> Self {
        Self { n, cells: vec![0.0; n * n] }
    }

    /// `a' M b`.
    pub(crate) fn form(&self, a: &[f64], b: &[f64]) -> f64 {
        let row = |i: usize| (0..self.n).map(|j| self[(i, j)] * b[j]).sum::<f64>();
        (0..self.n).filter(|&i| a[i] != 0.0).map(|i| a[i] * row(i)).sum()
    }

    /// The product of two matrices of one size.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let n = self.n;
        let mut product = Self::zero(n);
        for i in 0..n {
            for k in 0..n {
                let left = self[(i, k)];
                for j in 0..n {
                    product[(i, j)] += left * other[(k, j)];
                }
            }
        }
        product
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.cells[row * self.n + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.cells[row * self.n + column]
    }
}

/// The lower factor `L` of a positive definite matrix, `M = L L'`.
pub(crate) struct Cholesky(Matrix);

impl Cholesky {
    /// `None` when the matrix is not positive definite.
    pub(crate) fn of(matrix: &Matrix) -> Option<Self> {
        let n = matrix.n;
        let mut factor = Matrix::zero(n);
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| factor[(i, k)] * factor[(j, k)]).sum();
                let rest = matrix[(i, j)] - dot;
                if i == j {
                    if rest.is_nan() || rest <= 0.0 {
                        return None;
                    }
                    factor[(i, i)] = rest.sqrt();
                } else {
                    factor[(i, j)] = rest / factor[(j, j)];
                }
            }
        }
        Some(Self(factor))
    }

    /// The solution `x` of `M x = b`.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let factor = &self.0;
        let n = factor.n;
        let mut x = b.to_vec();
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| factor[(i, k)] * x[k]).sum();
            x[i] = (x[i] - dot) / factor[(i, i)];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| factor[(k, i)] * x[k]).sum();
            x[i] = (x[i] - dot) / factor[(i, i)];
        }
        x
    }

    pub(crate) fn inverse(&self) -> Matrix {
        let n = self.0.n;
        let mut inverse = Matrix::zero(n);
        let mut unit = vec![0.0; n];
        for j in 0..n {
            unit[j] = 1.0;
            for (i, value) in self.solve(&unit).into_iter().enumerate() {
                inverse[(i, j)] = value;
            }
            unit[j] = 0.0;
        }
        inverse
    }
}

/// The solution of a general small system by elimination with row exchange; `None` when it is singular.
pub(crate) fn solve(mut matrix: Matrix, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = matrix.n;
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| matrix[(a, column)].abs().total_cmp(&matrix[(b, column)].abs()))
            .filter(|&row| matrix[(row, column)].abs() > 1e-12)?;
        for k in 0..n {
            matrix.cells.swap(column * n + k, pivot * n + k);
        }
        right.swap(column, pivot);
        for row in column + 1..n {
            let factor = matrix[(row, column)] / matrix[(column, column)];
            for k in column..n {
                let upper = matrix[(column, k)];
                matrix[(row, k)] -= factor * upper;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let dot: f64 = (row + 1..n).map(|k| matrix[(row, k)] * right[k]).sum();
        right[row] = (right[row] - dot) / matrix[(row, row)];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Matrix {
        let mut matrix = Matrix::zero(3);
        for (i, row) in [[4.0, 2.0, 0.6], [2.0, 5.0, 1.5], [0.6, 1.5, 3.8]].iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                matrix[(i, j)] = value;
            }
        }
        matrix
    }

    #[test]
    fn inverse_times_matrix_is_identity() {
        let matrix = example();
        let product = Cholesky::of(&matrix).expect("positive definite").inverse().times(&matrix);
        for i in 0..3 {
            for j in 0..3 {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product[(i, j)] - expected).abs() < 1e-12, "{i} {j}");
            }
        }
    }

    #[test]
    fn both_solvers_agree_and_singular_is_refused() {
        let right = vec![1.0, -2.0, 0.5];
        let a = Cholesky::of(&example()).expect("positive definite").solve(&right);
        let b = solve(example(), right).expect("regular");
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12));
        assert!(Cholesky::of(&Matrix::zero(2)).is_none());
        assert!(solve(Matrix::zero(2), vec![1.0, 1.0]).is_none());
    }
}
