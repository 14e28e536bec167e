//! From internal Elo to a scale known outside, by players rated on both.

use crate::numeric::Estimate;

/// A player whose rating outside is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Anchor {
    /// Its rating in this league.
    pub internal: f64,
    /// Its published rating.
    pub external: f64,
}

/// Maps internal to external Elo.
///
/// Paper 001 speaks of a linear fit; the numbers of its table 2 follow straight lines between neighboring anchors with
/// slope 1 beyond the ends. Both are here: the fit is smoother, the lines honor every anchor exactly.
#[derive(Clone, PartialEq, Debug)]
pub enum Calibration {
    /// `external = offset + slope · internal`, least squares over the anchors.
    Linear {
        /// Rating at internal 0.
        offset: f64,
        /// External Elo per internal Elo.
        slope: f64,
    },
    /// Straight lines between anchors sorted by internal rating, slope 1 outside.
    Piecewise(Vec<Anchor>),
}

/// Anchors that fix no scale.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum CalibrationError {
    /// Nothing to fit to.
    #[error("external ratings need at least one anchor")]
    NoAnchors,
    /// All anchors share one internal rating but not one external rating.
    #[error("the anchors have the same internal rating {0:.1}, so no line goes through them")]
    SameInternal(f64),
}

impl Calibration {
    /// Least squares through the anchors; with a single one the slope is 1.
    ///
    /// # Errors
    /// When there is no anchor, or all share one internal rating.
    pub fn linear(anchors: &[Anchor]) -> Result<Self, CalibrationError> {
        let n = anchors.len() as f64;
        let first = anchors.first().ok_or(CalibrationError::NoAnchors)?;
        if anchors.len() == 1 {
            return Ok(Self::Linear { offset: first.external - first.internal, slope: 1.0 });
        }
        let mean_internal = anchors.iter().map(|anchor| anchor.internal).sum::<f64>() / n;
        let mean_external = anchors.iter().map(|anchor| anchor.external).sum::<f64>() / n;
        let spread: f64 = anchors.iter().map(|anchor| (anchor.internal - mean_internal).powi(2)).sum();
        if spread < 1e-9 {
            return Err(CalibrationError::SameInternal(first.internal));
        }
        let joint: f64 = anchors
            .iter()
            .map(|anchor| (anchor.internal - mean_internal) * (anchor.external - mean_external))
            .sum();
        let slope = joint / spread;
        Ok(Self::Linear { offset: mean_external - slope * mean_internal, slope })
    }

    /// Straight lines between neighbors.
    ///
    /// # Errors
    /// When there is no anchor, or two share one internal rating.
    pub fn piecewise(anchors: &[Anchor]) -> Result<Self, CalibrationError> {
        let mut sorted = anchors.to_vec();
        sorted.sort_by(|a, b| a.internal.total_cmp(&b.internal));
        if sorted.is_empty() {
            return Err(CalibrationError::NoAnchors);
        }
        match sorted.windows(2).find(|pair| pair[1].internal - pair[0].internal < 1e-9) {
            Some(pair) => Err(CalibrationError::SameInternal(pair[0].internal)),
            None => Ok(Self::Piecewise(sorted)),
        }
    }

    /// The external rating of an internal one.
    #[must_use]
    pub fn external(&self, internal: f64) -> f64 {
        match self {
            Self::Linear { offset, slope } => offset + slope * internal,
            Self::Piecewise(anchors) => {
                let above = anchors.partition_point(|anchor| anchor.internal < internal);
                let (low, high) = match above {
                    0 => (anchors[0], None),
                    k if k == anchors.len() => (anchors[k - 1], None),
                    k => (anchors[k - 1], Some(anchors[k])),
                };
                let slope =
                    high.map_or(1.0, |high| (high.external - low.external) / (high.internal - low.internal));
                low.external + slope * (internal - low.internal)
            }
        }
    }

    /// The interval's ends mapped one by one; the uncertainty of the anchors' published ratings is not in it.
    #[must_use]
    pub fn estimate(&self, internal: Estimate) -> Estimate {
        let (low, high) = (self.external(internal.low), self.external(internal.high));
        Estimate { value: self.external(internal.value), low: low.min(high), high: low.max(high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stockfish() -> Vec<Anchor> {
        // Table 2 of paper 001: internal and external Elo of the Stockfish levels in chess.
        [
            (1990.0, 3474.0),
            (1689.0, 3191.0),
            (1655.0, 3170.0),
            (1604.0, 3141.0),
            (1520.0, 3069.0),
            (1225.0, 2788.0),
            (808.0, 2203.0),
            (515.0, 1320.0),
        ]
        .map(|(internal, external)| Anchor { internal, external })
        .to_vec()
    }

    #[test]
    fn piecewise_lines_give_table_2() {
        let calibration = Calibration::piecewise(&stockfish()).expect("anchors differ");
        for (internal, external) in [
            (1707.0, 3209.0),
            (1633.0, 3157.0),
            (1592.0, 3131.0),
            (1542.0, 3088.0),
            (1435.0, 2988.0),
            (1370.0, 2926.0),
            (1367.0, 2923.0),
            (1317.0, 2875.0),
            (1259.0, 2820.0),
            (0.0, 805.0),
        ] {
            let got = calibration.external(internal);
            assert!((got - external).abs() < 1.5, "{internal}: {got}, table {external}");
        }
    }

    #[test]
    fn least_squares_through_a_line_is_the_line() {
        let anchors: Vec<_> = [-200.0, 0.0, 130.0]
            .map(|internal| Anchor { internal, external: 1500.0 + 0.8 * internal })
            .to_vec();
        let calibration = Calibration::linear(&anchors).expect("anchors differ");
        let interval = calibration.estimate(Estimate::symmetric(50.0, 10.0));
        assert!((interval.value - 1540.0).abs() < 1e-9 && (interval.margin() - 8.0).abs() < 1e-9);
    }

    #[test]
    fn one_anchor_shifts_and_none_is_an_error() {
        let one = [Anchor { internal: 10.0, external: 1010.0 }];
        for calibration in [Calibration::linear(&one), Calibration::piecewise(&one)] {
            assert_eq!(calibration.expect("one is enough").external(-5.0), 995.0);
        }
        assert_eq!(Calibration::linear(&[]), Err(CalibrationError::NoAnchors));
        let same = [one[0], Anchor { internal: 10.0, external: 0.0 }];
        assert_eq!(Calibration::linear(&same), Err(CalibrationError::SameInternal(10.0)));
    }
}
