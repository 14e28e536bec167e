//! Keys since the last irreversible move, for repetition.

/// What came before the position, as far as it can still come again.
///
/// Empty most of the time, and then a clone allocates nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Keys of earlier positions, oldest first, one a ply and without a gap.
    keys: Vec<u64>,
    /// Earlier positions equal to the current one.
    n_earlier: u32,
}

impl History {
    /// Forgets everything: an irreversible move was played.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.n_earlier = 0;
    }

    /// Notes that a reversible move led from the position with key `before` to the one with key `now`.
    pub(super) fn push(&mut self, before: u64, now: u64) {
        self.keys.push(before);
        // The same side moves every second ply, and no position is back in two.
        let same_side = self.keys.iter().rev().skip(3).step_by(2);
        self.n_earlier = same_side.map(|&key| u32::from(key == now)).sum();
    }

    /// Occurrences of the current position, itself included.
    pub(super) fn repetitions(&self) -> u32 {
        self.n_earlier + 1
    }
}
