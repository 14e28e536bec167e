//! Strings that end a text.

use super::wire::OneOrMany;
use crate::ApiError;

/// OpenAI's own limit.
const MOST_STOPS: usize = 4;
/// No stop string needs to be longer.
const LONGEST_STOP: usize = 200;

/// Watches a text for strings that end it, and holds back what may be the beginning of one.
#[derive(Clone, Default)]
pub(super) struct Stops {
    strings: Vec<String>,
    held: String,
}

impl Stops {
    pub(super) fn new(stop: OneOrMany) -> Result<Self, ApiError> {
        let strings = match stop {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        };
        if strings.len() > MOST_STOPS
            || strings.iter().any(|stop| stop.is_empty() || stop.len() > LONGEST_STOP)
        {
            return Err(ApiError::bad(format!(
                "stop: at most {MOST_STOPS} strings of 1 to {LONGEST_STOP} bytes"
            )));
        }
        Ok(Self { strings, held: String::new() })
    }

    /// What can be shown once `piece` was written, and whether the text has ended.
    pub(super) fn push(&mut self, piece: &str) -> (String, bool) {
        self.held.push_str(piece);
        if let Some(at) = self.strings.iter().filter_map(|stop| self.held.find(stop)).min() {
            let shown = self.held.get(..at).unwrap_or_default().to_owned();
            self.held.clear();
            return (shown, true);
        }
        let may_begin = |at: &usize| {
            let tail = self.held.get(*at..).unwrap_or_default();
            self.strings.iter().any(|stop| stop.starts_with(tail))
        };
        let starts = self.held.char_indices().map(|(at, _)| at);
        let at = starts.into_iter().find(may_begin).unwrap_or(self.held.len());
        let rest = self.held.split_off(at);
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// What was held back, once the text has ended otherwise.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]
mod tests {
    use super::*;

    fn check(stop: &str, pieces: &[&str], shown: &[&str], ended: bool) {
        let mut stops = Stops::new(OneOrMany::One(stop.to_owned())).unwrap();
        let mut last = false;
        for (piece, expected) in pieces.iter().zip(shown) {
            let (text, is_end) = stops.push(piece);
            assert_eq!(text, *expected);
            last = is_end;
        }
        assert_eq!(last, ended);
    }

    #[test]
    fn a_stop_across_pieces_is_held_back_and_never_shown() {
        check("]\n", &["ab", "c]", "\nd"], &["ab", "c", ""], true);
        check("]\n", &["a]", "b"], &["a", "]b"], false);
        check("xyx", &["xy", "yx", "yx"], &["", "xyy", ""], true);
    }
}
