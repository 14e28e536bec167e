//! Mixing for 64-bit keys.

/// Folds the 128-bit product of two words into one, so that every bit of either reaches the whole key.
///
/// Callers mix a constant into each word first: a zero factor would swallow the other.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
