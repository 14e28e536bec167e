//! How well a model knows the rules, in numbers.

use super::AnswerCheck;
use crate::hallucination::Hallucination;
use mavis_game::Move;
use mavis_value::MistakeCounts;
use std::fmt;

/// Listed moves against legal ones, for one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Legality {
    /// How many were listed.
    pub n_listed: usize,
    /// How many different ones of them are legal.
    pub n_right: usize,
    /// How many a right answer lists.
    pub n_expected: usize,
}

impl Legality {
    /// Compares `listed` with the legal moves, of which a right answer lists `n_expected`.
    #[must_use]
    pub fn of(legal: &[Move], n_expected: usize, listed: &[Move]) -> Self {
        let n_right = legal.iter().filter(|mv| listed.contains(mv)).count();
        Self { n_listed: listed.len(), n_right, n_expected }
    }

    /// The share of listed moves that are legal; 0 if none is listed.
    #[must_use]
    pub fn precision(&self) -> f64 {
        ratio(self.n_right, self.n_listed)
    }

    /// The share of the expected number of moves that is there; 1 if none is expected.
    #[must_use]
    pub fn recall(&self) -> f64 {
        if self.n_expected == 0 { 1.0 } else { ratio(self.n_right.min(self.n_expected), self.n_expected) }
    }

    /// The harmonic mean of both.
    #[must_use]
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }

    /// Whether the set is exactly right: as many as expected, all legal.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.n_right == self.n_expected && self.n_listed == self.n_expected
    }
}

/// Legality over many answers. Precision, recall and F1 are means over positions, as in table 3 of paper 001; an
/// answer that does not parse counts as wrong in all it was asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Metrics {
    /// Answers seen.
    pub n_answers: usize,
    /// Answers without any mistake.
    pub n_right: usize,
    /// Mistakes by kind; an answer may have several.
    pub mistakes: MistakeCounts,
    /// Lists of moves.
    pub lists: ListMetrics,
    /// Tracked states.
    pub tracked: Tally,
    /// Best actions that are legal.
    pub best_legal: Tally,
    /// States after the best action.
    pub next: Tally,
    /// Ends of games, and moves listed after one.
    pub ends: Tally,
}

/// Sums over lists.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ListMetrics {
    n: usize,
    precision: f64,
    recall: f64,
    f1: f64,
    n_whole: usize,
}

/// A share: numerator and denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// How many were right.
    pub right: usize,
    /// How many there were.
    pub of: usize,
}

impl Tally {
    fn add(&mut self, right: Option<bool>) {
        if let Some(right) = right {
            self.right += usize::from(right);
            self.of += 1;
        }
    }

    /// The share that is right; `None` if there were none.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| ratio(self.right, self.of))
    }
}

impl ListMetrics {
    /// Adds one list.
    pub fn add(&mut self, legality: &Legality) {
        self.n += 1;
        self.precision += legality.precision();
        self.recall += legality.recall();
        self.f1 += legality.f1();
        self.n_whole += usize::from(legality.is_whole());
    }

    /// The number of lists.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Mean precision; `None` without lists, as for the others.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        self.mean(self.precision)
    }

    /// Mean recall.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        self.mean(self.recall)
    }

    /// Mean F1.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        self.mean(self.f1)
    }

    /// The share of lists that are exactly the legal moves.
    #[must_use]
    pub fn whole(&self) -> Option<f64> {
        self.mean(self.n_whole as f64)
    }

    fn mean(&self, sum: f64) -> Option<f64> {
        (self.n > 0).then(|| sum / self.n as f64)
    }
}

impl Metrics {
    /// Adds the check of one answer.
    pub fn add(&mut self, check: &AnswerCheck) {
        self.n_answers += 1;
        self.n_right += usize::from(check.is_right());
        for mistake in &check.mistakes {
            self.mistakes.add(mistake.kind);
        }
        if let Some(legality) = &check.legality {
            self.lists.add(legality);
        }
        self.tracked.add(check.tracked_right);
        self.best_legal.add(check.best_legal);
        self.next.add(check.next_right);
        self.ends.add(check.end_right);
    }

    /// Adds an answer that did not parse.
    pub fn add_unparsed(&mut self, request: Option<&crate::Request>, mistake: &Hallucination) {
        self.n_answers += 1;
        self.mistakes.add(mistake.kind);
        if let Some(request) = request {
            let commands = &request.commands;
            if commands.top.is_some() {
                self.lists.add(&Legality { n_listed: 0, n_right: 0, n_expected: 1 });
            }
            self.tracked.add(commands.is_tracking().then_some(false));
            self.best_legal.add(commands.best.then_some(false));
            self.next.add(commands.next.map(|_| false));
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "answers          {}", self.n_answers)?;
        writeln!(f, "right            {}", self.n_right)?;
        for (kind, count) in self.mistakes.iter().filter(|(_, count)| *count > 0) {
            writeln!(f, "{:<17}{count}", kind.name())?;
        }
        for (name, share) in [
            ("precision", self.lists.precision()),
            ("recall", self.lists.recall()),
            ("F1", self.lists.f1()),
            ("whole sets", self.lists.whole()),
            ("tracked states", self.tracked.share()),
            ("best legal", self.best_legal.share()),
            ("next states", self.next.share()),
            ("ends", self.ends.share()),
        ] {
            if let Some(share) = share {
                writeln!(f, "{name:<17}{share:.4}")?;
            }
        }
        Ok(())
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
