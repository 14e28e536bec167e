//! Chosen moves and values of moves against annotations.

use super::{Bands, Metric};
use mavis_game::Move;
use mavis_value::kendall_tau_b;

/// One position: what an annotation says, and what was answered. Values are win probabilities of the mover, 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct ActionSample {
    /// What bands are made of: the ply, or the number of legal moves.
    pub at: f64,
    /// The annotated value of every legal move.
    pub annotated: Vec<(Move, f64)>,
    /// The move that was chosen; `None` for no legal one.
    pub chosen: Option<Move>,
    /// Predicted values of moves, as far as there are any.
    pub predicted: Vec<(Move, f64)>,
    /// What ranks the moves where they have no values: probabilities of being the best.
    pub ranking: Vec<(Move, f64)>,
}

impl ActionSample {
    /// Whether the choice is a best move; equally good ones count.
    #[must_use]
    pub fn is_best(&self) -> bool {
        self.regret().is_some_and(|regret| regret <= 0.0)
    }

    /// How much worse the choice is than the best move; the value of the best move where no legal one was chosen.
    /// `None` without annotations.
    #[must_use]
    pub fn regret(&self) -> Option<f64> {
        let best = self.annotated.iter().map(|(_, value)| *value).reduce(f64::max)?;
        let chosen = self.chosen.and_then(|mv| self.annotated_value(mv)).unwrap_or(0.0);
        Some(best - chosen)
    }

    /// Mean difference of predicted and annotated values over moves that have both.
    #[must_use]
    pub fn value_error(&self) -> Option<f64> {
        let pairs = self.pairs(&self.predicted);
        let sum: f64 = pairs.iter().map(|(predicted, annotated)| (predicted - annotated).abs()).sum();
        (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
    }

    /// Kendall's tau-b of predicted and annotated values over moves that have both; of the ranking where nothing is predicted.
    #[must_use]
    pub fn tau(&self) -> Option<f64> {
        let scores = if self.predicted.is_empty() { &self.ranking } else { &self.predicted };
        kendall_tau_b(&self.pairs(scores))
    }

    fn annotated_value(&self, mv: Move) -> Option<f64> {
        self.annotated.iter().find(|(known, _)| *known == mv).map(|(_, value)| *value)
    }

    fn pairs(&self, scores: &[(Move, f64)]) -> Vec<(f64, f64)> {
        scores
            .iter()
            .filter_map(|&(mv, predicted)| self.annotated_value(mv).map(|annotated| (predicted, annotated)))
            .collect()
    }
}

/// Accuracy, regret, value error and Kendall's tau-b.
#[must_use]
pub fn actions(samples: &[ActionSample], bands: &Bands) -> Vec<Metric> {
    let hits: Vec<(f64, bool)> = samples.iter().map(|sample| (sample.at, sample.is_best())).collect();
    let means = |of: &dyn Fn(&ActionSample) -> Option<f64>| -> Vec<(f64, f64)> {
        samples.iter().filter_map(|sample| of(sample).map(|value| (sample.at, value))).collect()
    };
    vec![
        Metric::share("action accuracy", &hits, bands),
        Metric::mean("regret", &means(&ActionSample::regret), bands),
        Metric::mean("value error", &means(&ActionSample::value_error), bands),
        Metric::mean("Kendall's tau-b", &means(&ActionSample::tau), bands),
    ]
}
