//! How long evaluations take, so that none is begun that cannot be back in time.

use std::time::Duration;

/// Weight of the newest time in the mean.
const NEWEST: f64 = 0.3;

/// A running mean of how long a batch of evaluations took.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pace(Option<Duration>);

impl Pace {
    /// Takes one more into the mean.
    pub(super) fn add(&mut self, time: Duration) {
        self.0 = Some(match self.0 {
            None => time,
            Some(mean) => mean.mul_f64(1.0 - NEWEST) + time.mul_f64(NEWEST),
        });
    }

    /// How long the next is expected to take; nothing before the first.
    pub(super) fn expected(self) -> Duration {
        self.0.unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_what_comes() {
        let mut pace = Pace::default();
        assert_eq!(pace.expected(), Duration::ZERO);
        pace.add(Duration::from_millis(100));
        assert_eq!(pace.expected(), Duration::from_millis(100));
        (0..30).for_each(|_| pace.add(Duration::from_millis(10)));
        assert!(pace.expected() < Duration::from_millis(11));
    }
}
