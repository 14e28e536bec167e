//! Lines that no program of good will would write, the same every time.

/// Writes lines of a head and some words, all drawn at random.
pub(crate) struct Nonsense {
    state: u64,
    heads: &'static [&'static str],
    words: &'static [&'static str],
    /// Most words after the head.
    most: usize,
}

impl Nonsense {
    pub(crate) fn new(
        seed: u64,
        heads: &'static [&'static str],
        words: &'static [&'static str],
        most: usize,
    ) -> Self {
        Self { state: seed, heads, words, most }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = self.heads[self.below(self.heads.len())].to_owned();
        for _ in 0..self.below(self.most + 1) {
            line.push(' ');
            line.push_str(self.words[self.below(self.words.len())]);
        }
        line
    }
}
