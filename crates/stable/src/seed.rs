//! Hash mixing, and many independent seeds from one.

/// 2^64 divided by the golden ratio, the step of SplitMix64: multiples of it are spread evenly over all words.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of SplitMix64: every input bit reaches every output bit. A bijection; zero stays zero.
#[must_use]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// The output of SplitMix64 at a state: [`mix`] one step further, so that small numbers give unrelated words, 0 among them.
#[must_use]
pub const fn scramble(state: u64) -> u64 {
    mix(state.wrapping_add(GOLDEN))
}

/// One of many independent seeds that follow from a seed, named by numbers such as a purpose, a round and a game.
#[must_use]
pub fn derive(seed: u64, name: &[u64]) -> u64 {
    name.iter().fold(seed, |state, part| scramble(scramble(state) ^ part))
}

/// Hashes bytes under a seed: FNV-1a, then mixed.
#[must_use]
pub fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ scramble(seed);
    mix(bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scramble_is_splitmix64() {
        // The first outputs of the published generator (Steele, Lea and Flood 2014) from state 1234567.
        let expected: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (step, value) in (0..).zip(expected) {
            assert_eq!(scramble(GOLDEN.wrapping_mul(step).wrapping_add(1_234_567)), value);
        }
        assert_eq!(mix(0), 0);
    }

    #[test]
    fn derived_seeds_depend_on_every_part_and_their_order() {
        let names: [&[u64]; 6] = [&[], &[0], &[0, 0], &[1, 2], &[2, 1], &[1, 2, 0]];
        for (idx, one) in names.iter().enumerate() {
            for other in &names[..idx] {
                assert_ne!(derive(7, one), derive(7, other), "{one:?} {other:?}");
            }
            assert!(one.is_empty() || derive(7, one) != derive(8, one));
        }
    }

    #[test]
    fn bytes_hash_the_same_in_every_release() {
        assert_ne!(hash_bytes(1, b"a"), hash_bytes(2, b"a"));
        assert_eq!(hash_bytes(0, b""), mix(0xCBF2_9CE4_8422_2325 ^ scramble(0)));
    }
}
