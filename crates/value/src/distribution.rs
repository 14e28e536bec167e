//! Distributions over buckets, and how they become one value.

use crate::{Bucket, N_BUCKETS};
use std::{fmt, str::FromStr};

/// Buckets that are summed side by side.
const LANES: usize = 8;
/// The middles of as many buckets, in buckets.
const MIDDLES: [f32; LANES] = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5];

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
        // Sums in lanes, which become vector code: a search reads some forty distributions for each position.
        let (mut sums, mut moments) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for (chunk, first) in self.0.as_chunks::<LANES>().0.iter().zip((0_u8..).step_by(LANES)) {
            let first = f32::from(first);
            sums = std::array::from_fn(|lane| sums[lane] + chunk[lane]);
            moments = std::array::from_fn(|lane| moments[lane] + chunk[lane] * (first + MIDDLES[lane]));
        }
        let (sum, moment): (f32, f32) = (sums.iter().sum(), moments.iter().sum());
        if sum > 0.0 { moment / sum / N_BUCKETS as f32 } else { 0.5 }
    }

    /// The bucket with the most weight, the lowest of equals.
    #[must_use]
    pub fn mode(&self) -> Bucket {
        let mut most = [f32::NEG_INFINITY; LANES];
        for chunk in self.0.as_chunks::<LANES>().0 {
            most =
                std::array::from_fn(|lane| if chunk[lane] > most[lane] { chunk[lane] } else { most[lane] });
        }
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
        Bucket::of_index(self.0.iter().position(|weight| *weight == most).unwrap_or(0))
    }

    /// The same distribution as the other player sees it.
    #[must_use]
    pub fn flipped(&self) -> Self {
        let mut weights = self.0;
        weights.reverse();
        Self(weights)
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

impl Scoring {
    /// The names of all of them, as users write them.
    pub const WORDS: &'static [&'static str] = &["mean", "max"];
}

impl fmt::Display for Scoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Max => "max",
        })
    }
}

impl FromStr for Scoring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => Err(format!("unknown scoring '{text}' (expected mean or max)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(number: u8) -> Bucket {
        Bucket::new(number).unwrap()
    }

    #[test]
    fn mean_tells_apart_what_max_does_not() {
        let mut safe = Distribution::certain(bucket(32));
        let mut lively = safe;
        safe.0[30] = 0.5;
        lively.0[50] = 0.5;
        assert_eq!(safe.mode(), lively.mode());
        assert!(lively.mean() > safe.mean());
        assert!((Distribution::certain(bucket(9)).mean() - bucket(9).win_probability()).abs() < 1e-6);
        assert!((lively.mean() + lively.flipped().mean() - 1.0).abs() < 1e-6);
        assert_eq!(Distribution([0.0; 64]).win_probability(Scoring::Mean), 0.5);
    }
}
