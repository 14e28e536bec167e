//! Seeded damage to valid inputs, in place of a fuzzer.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The longest input that is made.
const LONGEST: usize = 1 << 14;

/// Pieces that many readers trip over: numbers at the ends of their ranges, marks of syntax, text that is not ASCII.
const PIECES: [&[u8]; 30] = [
    b"0",
    b"-1",
    b"1e19",
    b"18446744073709551616",
    b"18446744073709551615",
    b"4294967295",
    b"2147483647",
    b"-2147483648",
    b"4294967296",
    b"-9223372036854775809",
    b"NaN",
    b"inf",
    b"1e-400",
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b"\0",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b",",
    b"=",
    "é".as_bytes(),
    "𝄞".as_bytes(),
    b"\xff",
];

/// Makes inputs out of a corpus.
#[derive(Clone, Debug)]
pub struct Mutator {
    corpus: Vec<Vec<u8>>,
    random: Xoshiro256PlusPlus,
}

impl Mutator {
    /// The same seed and corpus give the same inputs.
    #[must_use]
    pub fn new(corpus: Vec<Vec<u8>>, seed: u64) -> Self {
        Self { corpus, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The next input: one of the corpus with a few places changed.
    pub fn input(&mut self) -> Vec<u8> {
        let mut input = self.pick();
        let n_changes = 1 << self.random.random_range(0..4);
        for _ in 0..n_changes {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn pick(&mut self) -> Vec<u8> {
        match self.corpus.len() {
            0 => Vec::new(),
            n => self.corpus[self.random.random_range(0..n)].clone(),
        }
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.random_range(0..=input.len());
        let end = (at + self.random.random_range(1..=16)).min(input.len());
        match self.random.random_range(0..8) {
            // A byte, a bit, a few bytes gone, a few bytes twice.
            0 if at < input.len() => input[at] = self.random.random(),
            1 if at < input.len() => input[at] ^= 1 << self.random.random_range(0..8),
            2 => drop(input.drain(at..end)),
            3 => {
                let copy = input[at..end].to_vec();
                drop(input.splice(at..at, copy));
            }
            // The rest of another input.
            4 => {
                let other = self.pick();
                let from = self.random.random_range(0..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            5 => input.truncate(at),
            // A piece put in, or in place of what stands there.
            kind => {
                let piece = PIECES[self.random.random_range(0..PIECES.len())];
                let end = if kind == 6 { at } else { end };
                drop(input.splice(at..end, piece.iter().copied()));
            }
        }
    }
}
