//! Clocks and time controls.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use mavis_stable::time::parse_seconds;
use std::{fmt, str::FromStr, time::Duration};

/// Time left on both clocks as one player sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The mover's time.
    pub own: Duration,
    /// The opponent's time.
    pub other: Duration,
    /// Added to the mover's clock after each move.
    pub increment: Duration,
    /// Added to the opponent's clock after each move.
    pub other_increment: Duration,
    /// Moves to the next time control, if there is one.
    pub moves_to_go: Option<u32>,
}

impl Clock {
    /// The share of the clock to spend on this move, `overhead` kept in reserve.
    #[must_use]
    pub fn share(&self, overhead: Duration) -> Duration {
        let usable = self.own.saturating_sub(overhead);
        let moves = self.moves_to_go.map_or(30, |moves| moves.clamp(1, 50));
        // Never the whole clock, even with one move to go: the overhead is an estimate.
        let without = |time: Duration, part| time.saturating_sub(time.checked_div(part).unwrap_or_default());
        let cap = without(usable, 5);
        usable.checked_div(moves).unwrap_or_default().saturating_add(without(self.increment, 4)).min(cap)
    }
}

/// How much time a game gives each player: `60+0.6` (seconds and increment) or `60` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeControl {
    /// Time at the start.
    pub base: Duration,
    /// Added after each move.
    pub increment: Duration,
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.base.as_secs_f64(), self.increment.as_secs_f64())
    }
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let seconds = |part: &str| {
            parse_seconds(part).map_err(|error| {
                format!("bad time control '{text}' (expected SECONDS or SECONDS+INCREMENT): {error}")
            })
        };
        Ok(Self { base: seconds(base)?, increment: seconds(increment)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(own_ms: u64, increment_ms: u64, moves_to_go: Option<u32>) -> Clock {
        Clock {
            own: Duration::from_millis(own_ms),
            other: Duration::ZERO,
            increment: Duration::from_millis(increment_ms),
            other_increment: Duration::ZERO,
            moves_to_go,
        }
    }

    #[test]
    fn a_share_never_exceeds_the_clock() {
        for own in [0, 1, 5, 50, 1_000, 100_000] {
            for moves in [None, Some(1), Some(40)] {
                let share = clock(own, 10_000, moves).share(Duration::from_millis(30));
                assert!(share <= Duration::from_millis(own.saturating_sub(30)), "{own} {moves:?} {share:?}");
            }
        }
    }

    #[test]
    fn the_longest_times_overflow_nothing() {
        let clock = Clock {
            own: Duration::MAX,
            other: Duration::MAX,
            increment: Duration::MAX,
            other_increment: Duration::MAX,
            moves_to_go: Some(1),
        };
        assert_eq!(clock.share(Duration::ZERO), Duration::MAX - Duration::MAX / 5);
        let limit = crate::Limit { clock: Some(clock), time: Some(Duration::MAX), ..crate::Limit::default() };
        let now = std::time::Instant::now();
        assert_eq!((limit.deadline(now, Duration::ZERO), limit.patience(now, Duration::ZERO)), (None, None));
    }

    #[test]
    fn time_controls_read_and_print() {
        let control: TimeControl = "1+0.01".parse().unwrap();
        assert_eq!(control.increment, Duration::from_millis(10));
        assert_eq!(control.to_string().parse::<TimeControl>(), Ok(control));
        for text in ["x", "-1", "1e19", "1+1e19", "inf", "+"] {
            assert!(text.parse::<TimeControl>().is_err(), "{text}");
        }
    }
}
