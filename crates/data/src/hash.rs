//! A hash that is the same on every machine and in every release, since splits and seeds hang on it.

/// Mixes all bits of a word (the finalizer of SplitMix64).
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// Hashes bytes under a seed: FNV-1a, then mixed.
pub(crate) fn stable_hash(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15));
    mix(bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)))
}
