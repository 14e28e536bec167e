//! The instructions. Loops over the constants `R` and `P` unroll, so that all sums stay in registers.

use super::{F32Operands, Factors, Operands, TileOut, WIDE};
use crate::cpu::scalar;
use std::arch::x86_64::*;

/// Whether [`bf16_tile`] may be called.
pub(super) fn has_bf16() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16")
}

/// Whether [`int8_tile`] may be called.
pub(super) fn has_int8() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// Whether [`f32_tile`] may be called.
pub(super) fn has_f32() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// # Safety
/// The processor has the feature, and the operands and the output have the lengths that [`F32Operands::check`] asserts.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn f32_tile<const R: usize, const P: usize>(operands: F32Operands<'_>, out: TileOut<'_>) {
    let F32Operands { rows, row_stride, panels, panel_stride, step, n } = operands;
    let mut sums = [[_mm512_setzero_ps(); P]; R];
    if out.add {
        for (r, sums) in sums.iter_mut().enumerate() {
            for (p, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the output has `P` panels from `r * stride` on.
                *sum = unsafe { _mm512_loadu_ps(out.data.as_ptr().add(r * out.stride + p * WIDE)) };
            }
        }
    }
    for i in 0..n {
        let mut terms = [_mm512_setzero_ps(); P];
        for (p, terms) in terms.iter_mut().enumerate() {
            // SAFETY: `p` is below `P` and `i` below `n`.
            *terms = unsafe { _mm512_loadu_ps(panels.as_ptr().add(p * panel_stride + i * step)) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: `r` is below `R` and `i` below `n`.
            let factor = _mm512_set1_ps(unsafe { *rows.get_unchecked(r * row_stride + i) });
            for (sum, terms) in sums.iter_mut().zip(terms) {
                *sum = _mm512_fmadd_ps(factor, terms, *sum);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (p, sum) in sums.iter().enumerate() {
            // SAFETY: as above. What was there is in the sums already.
            unsafe { put(out.data, r * out.stride + p * WIDE, *sum, false) };
        }
    }
}

/// [`scalar::soften_joined`] compiled for wide vectors.
///
/// # Safety
/// The processor has the feature.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn soften_joined(first: &mut [f32], second: &mut [f32], scale: f32) -> f32 {
    scalar::soften_joined(first, second, scale)
}

/// # Safety
/// The processor has the features, and the operands and the output have the lengths that [`Operands::check`] asserts.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn bf16_tile<const R: usize, const P: usize>(operands: Operands<'_>, out: TileOut<'_>) {
    let n_words = operands.rows.len() / R;
    let mut sums = [[_mm512_setzero_ps(); P]; R];
    for i in 0..n_words {
        // SAFETY: `i` is below `n_words`.
        let weights = unsafe { weights::<P>(operands.panels, n_words, i) };
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: `r` is below `R` and `i` below `n_words`.
            let row = unsafe { broadcast(operands.rows, r * n_words + i) };
            for (sum, weights) in sums.iter_mut().zip(weights) {
                // SAFETY: both types are 64 bytes for which every pattern of bits is a value.
                let (row, weights) = unsafe {
                    (
                        std::mem::transmute::<__m512i, __m512bh>(row),
                        std::mem::transmute::<__m512i, __m512bh>(weights),
                    )
                };
                *sum = _mm512_dpbf16_ps(*sum, row, weights);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for (p, sum) in sums.iter().enumerate() {
            // SAFETY: the output has `P` panels from `r * stride` on.
            unsafe { put(out.data, r * out.stride + p * WIDE, *sum, out.add) };
        }
    }
}

/// # Safety
/// As [`bf16_tile`]; the factors have `R`, `16 P` and `16 P` numbers.
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) unsafe fn int8_tile<const R: usize, const P: usize>(
    operands: Operands<'_>,
    factors: Factors<'_>,
    out: TileOut<'_>,
) {
    let n_words = operands.rows.len() / R;
    let mut sums = [[_mm512_setzero_si512(); P]; R];
    for i in 0..n_words {
        // SAFETY: `i` is below `n_words`.
        let weights = unsafe { weights::<P>(operands.panels, n_words, i) };
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: `r` is below `R` and `i` below `n_words`.
            let row = unsafe { broadcast(operands.rows, r * n_words + i) };
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = _mm512_dpbusd_epi32(*sum, row, weights);
            }
        }
    }
    for p in 0..P {
        // SAFETY: there are 16 factors and offsets for each of the `P` panels.
        let (scales, offsets) = unsafe {
            (
                _mm512_loadu_ps(factors.outputs.as_ptr().add(p * WIDE)),
                _mm512_loadu_si512(factors.offsets.as_ptr().add(p * WIDE).cast()),
            )
        };
        for (r, sums) in sums.iter().enumerate() {
            let scales = _mm512_mul_ps(scales, _mm512_set1_ps(factors.rows[r]));
            let sum = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums[p], offsets)), scales);
            // SAFETY: the output has `P` panels from `r * stride` on.
            unsafe { put(out.data, r * out.stride + p * WIDE, sum, out.add) };
        }
    }
}

/// Words `i` of `P` panels.
///
/// # Safety
/// The panels have `n_words` each, more than `i`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn weights<const P: usize>(panels: &[u32], n_words: usize, i: usize) -> [__m512i; P] {
    let mut weights = [_mm512_setzero_si512(); P];
    for (p, weights) in weights.iter_mut().enumerate() {
        // SAFETY: `p` is below `P`, so the 16 words lie in the slice; the load asks for no alignment.
        *weights = unsafe { _mm512_loadu_si512(panels.as_ptr().add((p * n_words + i) * WIDE).cast()) };
    }
    weights
}

/// One word in every lane.
///
/// # Safety
/// It lies in the slice.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn broadcast(words: &[u32], i: usize) -> __m512i {
    // SAFETY: the caller's promise.
    _mm512_set1_epi32(unsafe { *words.get_unchecked(i) }.cast_signed())
}

/// Stores or adds 16 sums.
///
/// # Safety
/// There is room for them from `first` on.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put(data: &mut [f32], first: usize, sums: __m512, add: bool) {
    // SAFETY: the caller's promise; loads and stores ask for no alignment.
    unsafe {
        let to = data.as_mut_ptr().add(first);
        let sums = if add { _mm512_add_ps(_mm512_loadu_ps(to), sums) } else { sums };
        _mm512_storeu_ps(to, sums);
    }
}
