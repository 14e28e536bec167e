//! Loops over slices that compile to vector code: dot products, exponentials, reductions.

/// Lanes of the accumulators: two vectors of AVX2, so that the additions of one do not wait for the other.
const LANES: usize = 16;

/// `a * b + c` in one rounding where the machine has the instruction; elsewhere the library call would be slow.
#[inline(always)]
pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

/// Dot product.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] = fma(a[lane], b[lane], lanes[lane]);
        }
    }
    fold(lanes) + tail
}

/// Dot product of a width known to the compiler, one register after another.
#[inline(always)]
pub(crate) fn dot_fixed<const D: usize>(a: &[f32; D], b: &[f32; D]) -> f32 {
    let (a, _) = a.as_chunks::<8>();
    let (b, _) = b.as_chunks::<8>();
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] = fma(a[lane], b[lane], lanes[lane]);
        }
    }
    let four: [f32; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// `sum(a * b * c)`.
#[inline(always)]
pub(crate) fn dot3(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let whole = a.len() - a.len() % LANES;
    for ((a, b), c) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)).zip(c.chunks_exact(LANES)) {
        for lane in 0..LANES {
            lanes[lane] = fma(a[lane] * b[lane], c[lane], lanes[lane]);
        }
    }
    let tail: f32 = a[whole..].iter().zip(&b[whole..]).zip(&c[whole..]).map(|((a, b), c)| a * b * c).sum();
    fold(lanes) + tail
}

/// Sum.
#[inline(always)]
pub(crate) fn sum(a: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let chunks = a.chunks_exact(LANES);
    let tail: f32 = chunks.remainder().iter().sum();
    for a in chunks {
        for lane in 0..LANES {
            lanes[lane] += a[lane];
        }
    }
    fold(lanes) + tail
}

/// The [`sum`] of two slices as if they were one.
#[inline(always)]
pub(crate) fn sum_joined(first: &[f32], second: &[f32]) -> f32 {
    let (whole, begun) = first.as_chunks::<LANES>();
    let n_between = (LANES - begun.len()).min(second.len());
    let mut between = [0.0f32; LANES];
    between[..begun.len()].copy_from_slice(begun);
    between[begun.len()..begun.len() + n_between].copy_from_slice(&second[..n_between]);
    let (rest, tail) = second[n_between..].as_chunks::<LANES>();
    // Where even the lanes between are not full, they are all that is left.
    let (is_full, begun) = (begun.len() + n_between == LANES, &between[..begun.len() + n_between]);
    let (middle, tail) = if is_full { (&[between][..], tail) } else { (&[][..], begun) };
    let mut lanes = [0.0f32; LANES];
    for a in whole.iter().chain(middle).chain(rest) {
        for lane in 0..LANES {
            lanes[lane] += a[lane];
        }
    }
    fold(lanes) + tail.iter().sum::<f32>()
}

/// Replaces the scores of two slices by `exp((score - max) * scale)`, and sums them as if they were one.
#[inline(always)]
pub(crate) fn soften_joined(first: &mut [f32], second: &mut [f32], scale: f32) -> f32 {
    let (first_max, second_max) = (max(first), max(second));
    let max = if first_max > second_max { first_max } else { second_max };
    first.iter_mut().for_each(|x| *x = exp((*x - max) * scale));
    second.iter_mut().for_each(|x| *x = exp((*x - max) * scale));
    sum_joined(first, second)
}

/// Largest value; `-inf` when empty.
#[inline(always)]
pub(crate) fn max(a: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = a.chunks_exact(LANES);
    let tail = chunks.remainder().iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max });
    for a in chunks {
        for lane in 0..LANES {
            lanes[lane] = if a[lane] > lanes[lane] { a[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().fold(tail, |max, x| if *x > max { *x } else { max })
}

/// Replaces logits by their probabilities, each to a few millionths of itself for logits up to 20 apart.
pub fn softmax(logits: &mut [f32]) {
    let most = max(logits);
    logits.iter_mut().for_each(|x| *x = exp(*x - most));
    let scale = 1.0 / sum(logits);
    logits.iter_mut().for_each(|x| *x *= scale);
}

#[inline(always)]
fn fold(lanes: [f32; LANES]) -> f32 {
    let mut lanes = lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Exponential to about 2 units in the last place, without branches so that loops over it become vector code. Below -87 it
/// gives 1.6e-38, above 88 about 1.6e38; not-a-number stays so.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Adding and subtracting this rounds to the nearest integer, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // ln 2 in two parts, so that the remainder is exact.
    let r = fma(n, -0.693_359_4, x);
    let r = fma(n, 2.121_944_4e-4, r);
    // Taylor's series of e^r for |r| <= 0.35, to the sixth power.
    let p = fma(r, 1.0 / 720.0, 1.0 / 120.0);
    let p = fma(p, r, 1.0 / 24.0);
    let p = fma(p, r, 1.0 / 6.0);
    let p = fma(p, r, 0.5);
    let p = fma(p, r, 1.0);
    let p = fma(p, r, 1.0);
    let scale = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    p * scale
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_definition() {
        let logits: Vec<f32> = (0..70).map(|i| (i * 37 % 70) as f32 * 0.4 - 9.0).collect();
        let total: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        let mut probabilities = logits.clone();
        softmax(&mut probabilities);
        for (logit, probability) in logits.iter().zip(&probabilities) {
            let expected = f64::from(*logit).exp() / total;
            // A difference of two logits of up to 20 is rounded to 2e-6, and so is its exponential.
            assert!((f64::from(*probability) / expected - 1.0).abs() < 4e-6, "{logit}: {probability}");
        }
    }

    #[test]
    fn exponential_is_close_everywhere() {
        for i in -870..880 {
            let x = i as f32 * 0.1;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 5e-7, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e9) < 2e-38 && exp(f32::NEG_INFINITY) < 2e-38);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn reductions_have_tails() {
        let x: Vec<f32> = (0..37).map(|i| i as f32).collect();
        assert_eq!(sum(&x), 666.0);
        assert_eq!(dot(&x, &x), 16206.0);
        assert_eq!(max(&x), 36.0);
        assert_eq!(max(&[]), f32::NEG_INFINITY);
        let x: Vec<f32> = (0..37).map(|i| (i * i % 17) as f32 / 7.0).collect();
        for len in 0..37 {
            for at in 0..=len {
                assert_eq!(sum_joined(&x[..at], &x[at..len]), sum(&x[..len]), "{at} of {len}");
            }
        }
    }
}
