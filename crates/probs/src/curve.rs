//! Elo curves as in figures 1 and 2 of paper 004.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{AGENTS, ProbsError, wire::Line};
use mavis_league::{
    numeric::Estimate,
    report::{Curve, rating_curves},
};

/// What a curve runs along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Rounds of training.
    Rounds,
    /// Minutes of training, evaluations left out.
    Minutes,
    /// Millions of positions passed through a net.
    Evaluations,
}

impl std::str::FromStr for Axis {
    type Err = ProbsError;

    fn from_str(text: &str) -> Result<Self, ProbsError> {
        match text {
            "rounds" => Ok(Self::Rounds),
            "minutes" => Ok(Self::Minutes),
            "evaluations" => Ok(Self::Evaluations),
            _ => Err(ProbsError::Unknown {
                what: "axis",
                value: text.to_owned(),
                known: "rounds minutes evaluations".to_owned(),
            }),
        }
    }
}

/// The curves of some runs, each with its name and metrics, as SVG text; the agents' ratings are drawn as lines.
///
/// # Errors
/// When the drawing fails.
pub fn elo_curve(runs: &[(String, Vec<Line>)], axis: Axis) -> Result<String, ProbsError> {
    let curves: Vec<Curve> = runs
        .iter()
        .map(|(name, lines)| Curve {
            name: name.clone(),
            points: lines
                .iter()
                .filter_map(|line| match line {
                    Line::Evaluation(line) => {
                        let x = match axis {
                            Axis::Rounds => f64::from(line.round),
                            Axis::Minutes => line.seconds / 60.0,
                            Axis::Evaluations => line.evaluations as f64 / 1e6,
                        };
                        Some((x, Estimate { value: line.elo, low: line.low, high: line.high }))
                    }
                    Line::Round(_) => None,
                })
                .collect(),
        })
        .collect();
    let label = match axis {
        Axis::Rounds => "rounds",
        Axis::Minutes => "minutes of training",
        Axis::Evaluations => "network evaluations, millions",
    };
    let levels = AGENTS.map(|(name, elo)| (name.to_owned(), elo));
    rating_curves(&curves, &levels, label).map_err(|error| ProbsError::Plot(error.to_string()))
}
