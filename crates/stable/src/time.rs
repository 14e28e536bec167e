//! Durations from text and numbers, seconds since 1970, calendar dates.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest duration that input may give, about 31 years: far more than any clock needs, and small enough that adding
/// it to a point in time, or a few of them to each other, cannot overflow.
pub const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A text or number that is no duration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is not a time in seconds (expected a number from 0 to {max}, such as 0.5)", max = LONGEST.as_secs())]
pub struct NotSeconds(String);

/// The duration that a text gives in seconds, whole or not.
///
/// # Errors
/// When it is no number, negative, or longer than [`LONGEST`].
pub fn parse_seconds(text: &str) -> Result<Duration, NotSeconds> {
    let text = text.trim();
    text.parse().ok().and_then(duration).ok_or_else(|| NotSeconds(text.to_owned()))
}

/// The duration of a number of seconds.
///
/// # Errors
/// When it is no number, negative, or longer than [`LONGEST`].
pub fn seconds(number: f64) -> Result<Duration, NotSeconds> {
    duration(number).ok_or_else(|| NotSeconds(number.to_string()))
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= LONGEST)
}

/// The moment a duration from now, or [`LONGEST`] from now if that is sooner: callers may wait for longer than the system's clock
/// counts.
#[must_use]
pub fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time.min(LONGEST)).unwrap_or(now)
}

/// Seconds since 1970 by the system's clock; 0 if it stands before that.
#[must_use]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A day of the civil calendar, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Date {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl Date {
    /// The day of a number of seconds since 1970 (algorithm `civil_from_days` by Howard Hinnant).
    #[must_use]
    pub fn of_unix_seconds(seconds: u64) -> Self {
        let days = (seconds / 86_400) as i64 + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self { year: year_of_era + era * 400 + i64::from(month <= 2), month: month as u8, day: day as u8 }
    }

    /// As PGN writes it: `2025.01.31`.
    #[must_use]
    pub fn pgn(&self) -> String {
        format!("{:04}.{:02}.{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_or_refused() {
        for (text, millis) in
            [("0", 0), ("0.5", 500), (" 60 ", 60_000), ("1e3", 1_000_000), ("1e9", 1_000_000_000_000)]
        {
            assert_eq!(parse_seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "x", "-1", "-0.001", "NaN", "inf", "1e19", "1e400", "1000000001", "1 2"] {
            let error = parse_seconds(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "'{text}' is not a time in seconds (expected a number from 0 to 1000000000, such as 0.5)"
                )
            );
        }
        assert_eq!(seconds(0.25), Ok(Duration::from_millis(250)));
        assert!(seconds(f64::NAN).is_err() && seconds(1e19).is_err() && seconds(-1.0).is_err());
        assert!(after(Duration::MAX) > Instant::now());
        // The bound holds what it promises.
        assert!(Instant::now().checked_add(LONGEST * 4).is_some());
    }

    #[test]
    fn dates_are_civil() {
        for (seconds, expected) in [
            (0, "1970.01.01"),
            (951_782_400, "2000.02.29"),
            (1_763_164_800, "2025.11.15"),
            (1_735_689_599, "2024.12.31"),
        ] {
            assert_eq!(Date::of_unix_seconds(seconds).pgn(), expected);
        }
        assert!(Date::of_unix_seconds(unix_seconds()).year >= 2025);
        // The greatest input is a date too.
        assert!(Date::of_unix_seconds(u64::MAX).year > 500_000_000_000);
    }
}
