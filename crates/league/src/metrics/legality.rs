//! Table 3 of paper 001: what a model's answers are worth against the rules.

use super::{Bands, Metric};
use mavis_lang::{AnswerCheck, Commands, Legality, Top};

/// One position against the rules; `None` where a part was not asked for.
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
    /// Whether the state after the best action is right.
    pub next_right: Option<bool>,
    /// Whether the state after a given move is right.
    pub tracked_right: Option<bool>,
}

impl LegalitySample {
    /// Adds the check of the answer to one request about the position; `None` for an answer that does not parse,
    /// which is wrong in all it was asked for.
    pub fn add(&mut self, commands: &Commands, check: Option<&AnswerCheck>) {
        let part = |asked: bool, right: Option<bool>| asked.then_some(right.unwrap_or(false));
        if commands.is_tracking() {
            self.tracked_right = part(true, check.and_then(|check| check.tracked_right));
        }
        if commands.top == Some(Top::All) {
            let list = check.and_then(|check| check.legality.as_ref());
            self.list = Some(list.map_or([0.0; 3], |list| [list.precision(), list.recall(), list.f1()]));
            self.whole = part(true, list.map(Legality::is_whole));
        }
        if commands.best {
            self.best_legal = part(true, check.and_then(|check| check.best_legal));
        }
        if commands.next.is_some() {
            self.next_right = part(true, check.and_then(|check| check.next_right));
        }
    }
}

/// The rows of table 3, and whole sets. The paper's "updated FEN" is the state after the best action.
#[must_use]
pub fn legality(samples: &[LegalitySample], bands: &Bands) -> Vec<Metric> {
    let share = |name: &str, of: &dyn Fn(&LegalitySample) -> Option<bool>| {
        let hits: Vec<_> = samples.iter().filter_map(|sample| Some((sample.at, of(sample)?))).collect();
        Metric::share(name, &hits, bands)
    };
    let mean = |name: &str, k: usize| {
        let values: Vec<_> = samples.iter().filter_map(|sample| Some((sample.at, sample.list?[k]))).collect();
        Metric::mean(name, &values, bands, 0.0..=1.0)
    };
    vec![
        share("%best_action legal", &|sample| sample.best_legal),
        mean("%top_all precision", 0),
        mean("%top_all recall", 1),
        mean("%top_all F1 score", 2),
        share("%top_all whole set right", &|sample| sample.whole),
        share("state after %best_action right", &|sample| sample.next_right),
        share("state after a given move right", &|sample| sample.tracked_right),
    ]
}
