//! Time as GTP counts it: a main time, then periods for a number of moves.

use std::time::Duration;

/// What `time_settings` sets: the same for both sides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct TimeSettings {
    pub(super) main: Duration,
    pub(super) period: Duration,
    /// Moves in a period; 0 with a period above zero means no limit.
    pub(super) stones: u32,
}

/// One side's clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SideClock {
    pub(super) left: Duration,
    /// Moves to make in it; 0 in main time.
    pub(super) stones: u32,
}

impl TimeSettings {
    /// A clock at the start of the game; `None` means no limit.
    pub(super) fn start(&self) -> Option<SideClock> {
        if self.period > Duration::ZERO && self.stones == 0 {
            None
        } else if self.main > Duration::ZERO || self.stones == 0 {
            Some(SideClock { left: self.main, stones: 0 })
        } else {
            Some(SideClock { left: self.period, stones: self.stones })
        }
    }

    /// A clock after a move, for controllers that do not send it.
    pub(super) fn after(&self, clock: SideClock, spent: Duration) -> SideClock {
        let left = clock.left.saturating_sub(spent);
        let period = SideClock { left: self.period, stones: self.stones };
        match clock.stones {
            0 if left > Duration::ZERO || self.stones == 0 => SideClock { left, stones: 0 },
            0 | 1 => period,
            stones => SideClock { left, stones: stones - 1 },
        }
    }
}

/// Seconds, whole or not.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    /// No clock is longer, whatever the controller says.
    const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn main_time_runs_into_periods() {
        let settings = TimeSettings { main: secs(10), period: secs(5), stones: 2 };
        let mut clock = settings.start().unwrap();
        for (spent, left, stones) in [(4, 6, 0), (7, 5, 2), (1, 4, 1), (1, 5, 2)] {
            clock = settings.after(clock, secs(spent));
            assert_eq!(clock, SideClock { left: secs(left), stones });
        }
        let sudden = TimeSettings { main: secs(3), period: secs(0), stones: 0 };
        assert_eq!(sudden.after(sudden.start().unwrap(), secs(9)), SideClock { left: secs(0), stones: 0 });
        assert_eq!(TimeSettings { main: secs(0), period: secs(1), stones: 0 }.start(), None);
        assert_eq!(seconds("1e999"), Some(secs(7 * 24 * 3600)));
        assert_eq!([seconds("-1"), seconds("NaN"), seconds("x")], [None; 3]);
    }
}
