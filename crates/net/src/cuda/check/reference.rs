//! What the kernels should compute, in plain f64.

/// Reciprocal root mean square of a row.
pub(super) fn rstd(x: &[f64], eps: f64) -> f64 {
    1.0 / (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + eps).sqrt()
}

/// A row less its mean.
pub(super) fn centered(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter().map(|x| x - mean).collect()
}

/// Gradient of a LayerNorm of `x` with the reciprocal standard deviation `r` at hand: `dx`, then gains and biases.
pub(super) fn layer_norm_gradient(dy: &[f64], x: &[f64], gain: &[f64], r: f64) -> (Vec<f64>, Vec<f64>) {
    // It is the RMSNorm of the centered row; the gradient of centering is centering.
    let (dx, dgain) = norm_gradient_with(dy, &centered(x), gain, r);
    (centered(&dx), dgain.into_iter().chain(dy.iter().copied()).collect())
}

/// Gradient of `rmsnorm(x) * gain`: `(dx, dgain)`.
pub(super) fn norm_gradient(dy: &[f64], x: &[f64], gain: &[f64], eps: f64) -> (Vec<f64>, Vec<f64>) {
    let r = rstd(x, eps);
    norm_gradient_with(dy, x, gain, r)
}

/// The same with the reciprocal root mean square at hand.
pub(super) fn norm_gradient_with(dy: &[f64], x: &[f64], gain: &[f64], r: f64) -> (Vec<f64>, Vec<f64>) {
    let hat: Vec<f64> = x.iter().map(|x| x * r).collect();
    let g: Vec<f64> = dy.iter().zip(gain).map(|(d, w)| d * w).collect();
    let mean = g.iter().zip(&hat).map(|(g, h)| g * h).sum::<f64>() / x.len() as f64;
    let dx = g.iter().zip(&hat).map(|(g, h)| (g - h * mean) * r).collect();
    (dx, dy.iter().zip(&hat).map(|(d, h)| d * h).collect())
}

/// Turns pairs `(i, i + half)` by the angles of a table row; backwards when `inverse`.
pub(super) fn rotate(x: &[f64], turns: &[[f32; 2]], inverse: bool) -> Vec<f64> {
    let half = x.len() / 2;
    let mut y = vec![0.0; x.len()];
    for i in 0..half {
        let (cos, sin) = (f64::from(turns[i][0]), f64::from(turns[i][1]));
        let sin = if inverse { -sin } else { sin };
        y[i] = x[i] * cos - x[i + half] * sin;
        y[i + half] = x[i + half] * cos + x[i] * sin;
    }
    y
}

/// One head of one sequence; rows of `width`.
pub(super) struct Head {
    pub(super) q: Vec<Vec<f64>>,
    pub(super) k: Vec<Vec<f64>>,
    pub(super) v: Vec<Vec<f64>>,
    pub(super) prefix_end: Vec<i32>,
    pub(super) branch_start: Vec<i32>,
    pub(super) scale: f64,
}

/// Gradients of a head.
pub(super) struct HeadGradient {
    pub(super) q: Vec<Vec<f64>>,
    pub(super) k: Vec<Vec<f64>>,
    pub(super) v: Vec<Vec<f64>>,
}

impl Head {
    fn sees(&self, query: usize, key: usize) -> bool {
        let (i, j) = (query as i32, key as i32);
        j < self.prefix_end[query] || (self.branch_start[query] <= j && j <= i)
    }

    /// Probabilities of a query over all keys, and the log-sum-exp in base 2.
    fn probabilities(&self, query: usize) -> (Vec<f64>, f64) {
        let scores: Vec<f64> =
            (self.k.iter().enumerate())
                .map(|(j, k)| {
                    if self.sees(query, j) { dot(&self.q[query], k) * self.scale } else { f64::NEG_INFINITY }
                })
                .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
        (scores.iter().map(|s| (s - max).exp() / sum).collect(), (max + sum.ln()) * std::f64::consts::LOG2_E)
    }

    /// Output and log-sum-exp of each query.
    pub(super) fn forward(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let rows = (0..self.q.len()).map(|i| {
            let (p, lse) = self.probabilities(i);
            let mut out = vec![0.0; self.q[0].len()];
            for (p, v) in p.iter().zip(&self.v) {
                out.iter_mut().zip(v).for_each(|(out, v)| *out += p * v);
            }
            (out, lse)
        });
        rows.unzip()
    }

    /// Gradients for `dout`, with delta as the kernels have it.
    pub(super) fn backward(&self, dout: &[Vec<f64>], delta: &[f64]) -> HeadGradient {
        let zero = || vec![vec![0.0; self.q[0].len()]; self.q.len()];
        let mut g = HeadGradient { q: zero(), k: zero(), v: zero() };
        for i in 0..self.q.len() {
            let (p, _) = self.probabilities(i);
            for (j, p) in p.into_iter().enumerate().filter(|(_, p)| *p > 0.0) {
                let ds = p * (dot(&dout[i], &self.v[j]) - delta[i]) * self.scale;
                add(&mut g.v[j], p, &dout[i]);
                add(&mut g.q[i], ds, &self.k[j]);
                add(&mut g.k[j], ds, &self.q[i]);
            }
        }
        g
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `to += factor * from`.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
