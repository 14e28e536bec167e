//! GTP text in both directions, of which HTP is the dialect of Hex: what a controller says ([`GtpCommand`]) and what
//! an engine answers ([`Response`]). [`GtpEngine`] is an engine in a child process.
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

mod engine;

pub use engine::GtpEngine;

use mavis_game::{Rules, Side};
use std::fmt;

/// A command line: an optional number, a name, arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GtpCommand {
    /// The number the response repeats.
    pub id: Option<u32>,
    /// The command's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// An engine's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// The number of the command it answers.
    pub id: Option<u32>,
    /// The text, which may hold several lines, or the reason of a failure.
    pub result: Result<String, String>,
}

impl GtpCommand {
    /// A command without a number.
    #[must_use]
    pub fn new(name: &str, arguments: &[&str]) -> Self {
        Self {
            id: None,
            name: name.to_owned(),
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    /// Reads a line; `None` for one that holds nothing but blanks and a comment.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let line = clean(line);
        let text = line.split('#').next().unwrap_or_default();
        let mut words = text.split_whitespace().map(str::to_owned);
        let first = words.next()?;
        match first.parse() {
            Ok(id) => Some(Self { id: Some(id), name: words.next()?, arguments: words.collect() }),
            Err(_) => Some(Self { id: None, name: first, arguments: words.collect() }),
        }
    }
}

impl fmt::Display for GtpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = self.id {
            write!(f, "{id} ")?;
        }
        f.write_str(&self.name)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

impl Response {
    /// Reads the lines of one response, without the empty line that ends it; `None` if it does not begin like one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = clean(text);
        let text = text.trim();
        let (success, rest) = match text.split_at_checked(1)? {
            ("=", rest) => (true, rest),
            ("?", rest) => (false, rest),
            _ => return None,
        };
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (id, body) = rest.split_at_checked(digits)?;
        let body = body.trim().to_owned();
        Some(Self { id: id.parse().ok(), result: if success { Ok(body) } else { Err(body) } })
    }
}

impl fmt::Display for Response {
    /// The response with the empty line that ends it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, text) = match &self.result {
            Ok(text) => ('=', text),
            Err(text) => ('?', text),
        };
        write!(f, "{sign}")?;
        if let Some(id) = self.id {
            write!(f, "{id}")?;
        }
        // An empty line would end the response before its time.
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        write!(f, " {}\n\n", lines.join("\n"))
    }
}

/// What GTP calls a side: White moves first in chess and Togyz Kumalak, Black in every other game.
#[must_use]
pub fn color(rules: Rules, side: Side) -> &'static str {
    let white_first = matches!(rules, Rules::Chess | Rules::Chess960 | Rules::Togyz);
    let white = if white_first { Side::First } else { Side::Second };
    if side == white { "white" } else { "black" }
}

/// The side of a color, in any of its spellings.
#[must_use]
pub fn side_of_color(rules: Rules, text: &str) -> Option<Side> {
    let text = text.to_ascii_lowercase();
    let called = |side: &Side| {
        let color = color(rules, *side);
        text == color || color.get(..1) == Some(&*text)
    };
    [Side::First, Side::Second].into_iter().find(called)
}

/// Tabs become spaces and other control characters vanish, as the protocol asks.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .filter(|&c| c == '\n' || !c.is_ascii_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_come_back() {
        for line in ["boardsize 11", "7 play black a1", "genmove white", "quit"] {
            assert_eq!(GtpCommand::parse(line).map(|command| command.to_string()).as_deref(), Some(line));
        }
        assert_eq!(GtpCommand::parse("play\tb a1 # a comment"), Some(GtpCommand::new("play", &["b", "a1"])));
        assert_eq!(GtpCommand::parse("  # nothing"), None);
    }

    #[test]
    fn colors_are_those_of_the_game() {
        assert_eq!(side_of_color(Rules::Othello, "B"), Some(Side::First));
        assert_eq!(side_of_color(Rules::Chess, "White"), Some(Side::First));
        assert_eq!(side_of_color(Rules::Togyz, "w"), Some(Side::First));
        assert_eq!(side_of_color(Rules::HEX, "white"), Some(Side::Second));
        assert_eq!(side_of_color(Rules::HEX, ""), None);
    }

    #[test]
    fn responses_come_back() {
        for text in ["= a1\n\n", "=12 a1 0.5\nb2 0.25\n\n", "? unknown command\n\n", "= \n\n"] {
            assert_eq!(Response::parse(text).map(|response| response.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Response::parse("hello"), None);
        assert_eq!(Response::parse(""), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}|[=?][0-9]{0,12} ?\\PC{0,20}") {
            prop_assert!(Response::parse(&text).is_none_or(|response| response.to_string().ends_with("\n\n")));
            if let Some(once) = GtpCommand::parse(&text) {
                prop_assert_eq!(GtpCommand::parse(&once.to_string()), Some(once));
            }
        }
    }
}
