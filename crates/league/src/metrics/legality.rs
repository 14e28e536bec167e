//! Table 3 of paper 001: what a model's answers are worth against the rules.

use super::{Bands, Metric};
use mavis_lang::Verdict;

/// One answer against the rules; `None` where a part was not asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LegalitySample {
    /// What bands are made of: the number of legal moves.
    pub at: f64,
    /// Whether the best action is legal.
    pub best_legal: Option<bool>,
    /// Precision, recall and F1 of the listed moves.
    pub list: Option<[f64; 3]>,
    /// Whether the listed moves are exactly the legal ones.
    pub whole: Option<bool>,
    /// Whether the state after the move is right.
    pub next_right: Option<bool>,
}

impl LegalitySample {
    /// From the referee's verdict.
    #[must_use]
    pub fn of(verdict: &Verdict, at: f64) -> Self {
        Self {
            at,
            best_legal: verdict.best_legal,
            list: verdict.legality.as_ref().map(|list| [list.precision(), list.recall(), list.f1()]),
            whole: verdict.legality.as_ref().map(mavis_lang::Legality::is_whole),
            next_right: verdict.next_right,
        }
    }

    /// An answer that does not parse: wrong in all it was asked for.
    #[must_use]
    pub fn unparsed(at: f64) -> Self {
        let wrong = Some(false);
        Self { at, best_legal: wrong, list: Some([0.0; 3]), whole: wrong, next_right: wrong }
    }
}

/// The rows of table 3, and whole sets.
#[must_use]
pub fn legality(samples: &[LegalitySample], bands: &Bands) -> Vec<Metric> {
    let share = |name: &str, of: &dyn Fn(&LegalitySample) -> Option<bool>| {
        let hits: Vec<_> = samples.iter().filter_map(|sample| Some((sample.at, of(sample)?))).collect();
        Metric::share(name, &hits, bands)
    };
    let mean = |name: &str, k: usize| {
        let values: Vec<_> = samples.iter().filter_map(|sample| Some((sample.at, sample.list?[k]))).collect();
        Metric::mean(name, &values, bands)
    };
    vec![
        share("%best_action legal", &|sample| sample.best_legal),
        mean("%top_all precision", 0),
        mean("%top_all recall", 1),
        mean("%top_all F1 score", 2),
        share("%top_all whole set right", &|sample| sample.whole),
        share("next state right", &|sample| sample.next_right),
    ]
}
