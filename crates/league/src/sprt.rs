//! The sequential test of two players on opening pairs.
//!
//! Each opening is played twice with sides swapped; the points of a pair (0, ½, 1, 1½, 2) are one observation, so that
//! the bias of an opening cancels and the dependence of its two games is measured, not assumed away. The statistic is
//! the generalized log likelihood ratio of the five frequencies: the likelihood maximized under `elo1` against that under
//! `elo0`, which needs no model of draws. This is the test that engine developers know from fishtest.

mod constrained;
mod pentanomial;

pub use pentanomial::Pentanomial;

use crate::numeric::{Estimate, normal_quantile};
use crate::ratings::{ELO_PER_LOGIT, elo_of_score, expected_score};
use constrained::{log_likelihood_ratio, mean_and_variance};
use std::fmt;

/// What is tested, and how surely.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SprtConfig {
    /// Elo difference under the hypothesis to reject.
    pub elo0: f64,
    /// Elo difference under the hypothesis to accept.
    pub elo1: f64,
    /// Probability to accept `elo1` when `elo0` is true.
    pub alpha: f64,
    /// Probability to accept `elo0` when `elo1` is true.
    pub beta: f64,
    /// The unit of the two differences.
    pub scale: EloScale,
}

impl Default for SprtConfig {
    fn default() -> Self {
        Self { elo0: 0.0, elo1: 5.0, alpha: 0.05, beta: 0.05, scale: EloScale::Logistic }
    }
}

/// A unit of strength differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EloScale {
    /// By the expected score.
    Logistic,
    /// By the expected score over the deviation of a game, so that the length of a test does not depend on the draw
    /// rate: `800 / ln 10` normalized Elo are one deviation.
    Normalized,
}

impl fmt::Display for EloScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logistic => "logistic",
            Self::Normalized => "normalized",
        })
    }
}

impl std::str::FromStr for EloScale {
    type Err = SprtError;

    fn from_str(text: &str) -> Result<Self, SprtError> {
        match text {
            "logistic" => Ok(Self::Logistic),
            "normalized" => Ok(Self::Normalized),
            _ => Err(SprtError::Scale(text.to_owned())),
        }
    }
}

/// A test that makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SprtError {
    /// The hypotheses are the same or in the wrong order.
    #[error("elo0 must be below elo1, not {elo0} and {elo1}")]
    Order {
        /// The lower one as given.
        elo0: f64,
        /// The upper one as given.
        elo1: f64,
    },
    /// An error rate outside 0 to ½.
    #[error("{name} must lie between 0 and 0.5, not {value}")]
    Rate {
        /// Which one.
        name: &'static str,
        /// As given.
        value: f64,
    },
    /// No such unit.
    #[error("unknown Elo scale '{0}' (logistic or normalized)")]
    Scale(String),
}

impl SprtConfig {
    /// Checks order and rates.
    ///
    /// # Errors
    /// When `elo0` is not below `elo1` or a rate is not between 0 and ½.
    pub fn validate(&self) -> Result<(), SprtError> {
        let in_order = self.elo0 < self.elo1 && self.elo0.is_finite() && self.elo1.is_finite();
        if !in_order {
            return Err(SprtError::Order { elo0: self.elo0, elo1: self.elo1 });
        }
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value > 0.0 && value < 0.5) {
                return Err(SprtError::Rate { name, value });
            }
        }
        Ok(())
    }

    /// Wald's bounds on the log likelihood ratio: below the first `elo0` is accepted, above the second `elo1`.
    #[must_use]
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }
}

/// What the test says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SprtDecision {
    /// Play on.
    Continue,
    /// `elo0` is accepted: no improvement.
    AcceptElo0,
    /// `elo1` is accepted: the first player is better.
    AcceptElo1,
}

impl fmt::Display for SprtDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continue => "continue",
            Self::AcceptElo0 => "elo0 accepted",
            Self::AcceptElo1 => "elo1 accepted",
        })
    }
}

/// The state of a test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sprt {
    /// Log likelihood ratio.
    pub llr: f64,
    /// `elo0` is accepted at or below it.
    pub lower: f64,
    /// `elo1` is accepted at or above it.
    pub upper: f64,
    /// What the test says.
    pub decision: SprtDecision,
    /// Logistic Elo of the first player; not corrected for the stopping rule.
    pub elo: Estimate,
    /// Normalized Elo of the first player; not corrected for the stopping rule.
    pub normalized_elo: Estimate,
}

/// Evaluates the test on the pairs so far.
///
/// # Errors
/// When the configuration makes no sense.
pub fn sprt(pairs: &Pentanomial, config: &SprtConfig) -> Result<Sprt, SprtError> {
    config.validate()?;
    let (lower, upper) = config.bounds();
    let llr = if pairs.n_pairs() == 0 { 0.0 } else { log_likelihood_ratio(pairs, config) };
    let decision = if llr <= lower {
        SprtDecision::AcceptElo0
    } else if llr >= upper {
        SprtDecision::AcceptElo1
    } else {
        SprtDecision::Continue
    };
    let (elo, normalized_elo) = match_elo(pairs);
    Ok(Sprt { llr, lower, upper, decision, elo, normalized_elo })
}

/// Normalized Elo per deviation of a single game.
const NORMALIZED_UNIT: f64 = 2.0 * ELO_PER_LOGIT;

/// Logistic and normalized Elo of a match with intervals from the spread of the pairs.
fn match_elo(pairs: &Pentanomial) -> (Estimate, Estimate) {
    let unknown = Estimate::symmetric(0.0, f64::INFINITY);
    if pairs.n_pairs() == 0 {
        return (unknown, unknown);
    }
    let n = pairs.n_pairs() as f64;
    let (mean, variance) = mean_and_variance(&pairs.frequencies());
    let margin = normal_quantile(0.975) * (variance / n).sqrt();
    let elo = |score: f64| elo_of_score(score.clamp(0.0, 1.0));
    let logistic = Estimate { value: elo(mean), low: elo(mean - margin), high: elo(mean + margin) };
    // The deviation of a game is √2 times that of the mean of a pair.
    let deviation = (2.0 * variance).sqrt();
    let normalized = |score: f64| NORMALIZED_UNIT * (score - 0.5) / deviation;
    let estimate =
        Estimate { value: normalized(mean), low: normalized(mean - margin), high: normalized(mean + margin) };
    (logistic, estimate)
}

/// Expected score of a logistic difference, for the hypotheses.
fn score_of(elo: f64) -> f64 {
    expected_score(elo)
}
