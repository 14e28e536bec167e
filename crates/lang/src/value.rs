//! Values: win probabilities in 64 buckets, for the player who makes the move.

mod score;

pub use score::{LOGISTIC_SCALES, LogisticScale, Score};

use crate::vocab::{QUOTED, Token, VALUES};

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

    /// The token after a listed move, `:<ctrl28>`.
    #[must_use]
    pub const fn token(self) -> Token {
        VALUES.start + self.0 as Token - 1
    }

    /// The bucket of a token after a listed move.
    #[must_use]
    pub const fn from_token(token: Token) -> Option<Self> {
        match VALUES.place(token) {
            Some(place) => Some(Self(place as u8 + 1)),
            None => None,
        }
    }

    /// The token in a trace's decision, ` : "<ctrl28>"`.
    #[must_use]
    pub const fn quoted(self) -> Token {
        QUOTED.start + self.0 as Token - 1
    }

    /// The bucket of a token in a trace's decision.
    #[must_use]
    pub const fn from_quoted(token: Token) -> Option<Self> {
        match QUOTED.place(token) {
            Some(place) => Some(Self(place as u8 + 1)),
            None => None,
        }
    }
}

/// How a distribution over buckets becomes one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scoring {
    /// The expectation.
    #[default]
    Mean,
    /// The mode, the lowest bucket of equals.
    Max,
}

/// A distribution over the 64 buckets; weights need not sum to one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distribution(pub [f32; N_BUCKETS]);

impl Distribution {
    /// All weight on one bucket.
    #[must_use]
    pub fn certain(bucket: Bucket) -> Self {
        let mut weights = [0.0; N_BUCKETS];
        weights[bucket.index()] = 1.0;
        Self(weights)
    }

    /// The win probability by a scoring method; 0.5 where no weight is positive.
    #[must_use]
    pub fn win_probability(&self, scoring: Scoring) -> f32 {
        match scoring {
            Scoring::Mean => self.mean(),
            Scoring::Max => self.mode().win_probability(),
        }
    }

    /// The expectation of the win probability; 0.5 where no weight is positive.
    #[must_use]
    pub fn mean(&self) -> f32 {
        let sum: f32 = self.0.iter().sum();
        if sum > 0.0 {
            let moment: f32 = self.0.iter().zip(0_u8..).map(|(w, i)| w * (f32::from(i) + 0.5)).sum();
            moment / sum / 64.0
        } else {
            0.5
        }
    }

    /// The bucket with the most weight, the lowest of equals.
    #[must_use]
    pub fn mode(&self) -> Bucket {
        let mut mode = 0;
        for (index, weight) in self.0.iter().enumerate() {
            if *weight > self.0[mode] {
                mode = index;
            }
        }
        Bucket(mode as u8 + 1)
    }

    /// The same distribution as the other player sees it.
    #[must_use]
    pub fn flipped(&self) -> Self {
        let mut weights = self.0;
        weights.reverse();
        Self(weights)
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
            assert_eq!(Bucket::from_token(bucket.token()), Some(bucket));
            assert_eq!(Bucket::from_quoted(bucket.quoted()), Some(bucket));
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

    #[test]
    fn mean_tells_apart_what_max_does_not() {
        let mut safe = Distribution::certain(Bucket(32));
        let mut lively = safe;
        safe.0[30] = 0.5;
        lively.0[50] = 0.5;
        assert_eq!(safe.mode(), lively.mode());
        assert!(lively.mean() > safe.mean());
        assert!((Distribution::certain(Bucket(9)).mean() - Bucket(9).win_probability()).abs() < 1e-6);
        assert!((lively.mean() + lively.flipped().mean() - 1.0).abs() < 1e-6);
        assert_eq!(Distribution([0.0; 64]).win_probability(Scoring::Mean), 0.5);
    }
}
