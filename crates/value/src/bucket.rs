//! Value buckets: the 64 equal parts of the win probability.

/// The number of buckets.
pub const N_BUCKETS: usize = 64;

/// One of 64 equal parts of the win probability, numbered from 1 (lost) to 64 (won) as in figure 6 of paper 001.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bucket(u8);

impl Bucket {
    /// Certain loss.
    pub const LOST: Self = Self(1);
    /// Certain win.
    pub const WON: Self = Self(64);

    /// The bucket with this number, 1 to 64.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if 1 <= number && number <= 64 { Some(Self(number)) } else { None }
    }

    /// The bucket a win probability falls in; what lies outside 0 to 1 goes to the nearest end, NaN to the lowest.
    #[must_use]
    pub fn from_win_probability(probability: f32) -> Self {
        // The cast saturates, so nothing but the bounds decides.
        Self((probability * 64.0).clamp(0.0, 63.0) as u8 + 1)
    }

    /// The number, 1 to 64.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Counted from 0, for arrays over buckets.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// The bucket counted from 0.
    pub(crate) const fn of_index(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// The middle of the bucket as a win probability.
    #[must_use]
    pub fn win_probability(self) -> f32 {
        (f32::from(self.0) - 0.5) / 64.0
    }

    /// The same value as the other player sees it.
    #[must_use]
    pub const fn flipped(self) -> Self {
        Self(65 - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_equal_parts_and_come_back() {
        for number in 1..=64 {
            let bucket = Bucket::new(number).unwrap();
            assert_eq!(Bucket::from_win_probability(bucket.win_probability()), bucket);
            assert_eq!(bucket.flipped().flipped(), bucket);
            assert!((bucket.win_probability() + bucket.flipped().win_probability() - 1.0).abs() < 1e-6);
        }
        for (probability, number) in [
            (0.0, 1),
            (0.015_624, 1),
            (0.015_625, 2),
            (0.5, 33),
            (0.999, 64),
            (1.0, 64),
            (7.0, 64),
            (-1.0, 1),
        ] {
            assert_eq!(Bucket::from_win_probability(probability).number(), number, "{probability}");
        }
        assert_eq!(Bucket::from_win_probability(f32::NAN), Bucket::LOST);
        assert_eq!((Bucket::new(0), Bucket::new(65)), (None, None));
    }

    #[test]
    fn figure_6_backs_up_as_printed() {
        // What the children decided, and what the root then saw.
        for (child, root) in [(32, 33), (22, 43), (32, 33)] {
            assert_eq!(Bucket::new(child).unwrap().flipped().number(), root);
        }
        // Its board diagrams print the middle of the buckets: 0.55, 0.52, 0.5 and 0.34.
        for (number, printed) in [(35, 0.54), (33, 0.51), (32, 0.49), (22, 0.34)] {
            assert!((Bucket::new(number).unwrap().win_probability() - printed).abs() < 0.01);
        }
    }
}
