//! The line that names a player.
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
use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

/// A player as the user writes it: `kind`, `kind:argument`, `kind:argument,key=value,...`.
///
/// Only the first item may be a bare argument (`lookahead:2`, `uci:stockfish,nodes=2000`). A value that holds commas,
/// such as a player inside a player, is written in braces: `mpc:evaluator={uci:stockfish,nodes=2000},steps=1`. The same as
/// a TOML table: `{ player = "uci", argument = "stockfish", nodes = 2000 }`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayerSpec {
    /// Which sort of player.
    pub kind: String,
    /// The bare first item, if any.
    pub argument: Option<String>,
    /// The rest, by key.
    pub options: BTreeMap<String, String>,
}

/// A line that names no player.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpecError {
    /// Nothing before the colon.
    #[error("empty player name in '{0}'")]
    EmptyKind(String),
    /// Options right behind the name.
    #[error("expected NAME:OPTION=VALUE,... such as '{}', not '{spec}'", .spec.replacen(',', ":", 1))]
    NoColon {
        /// The whole line.
        spec: String,
    },
    /// A bare item that is not the first.
    #[error("expected key=value, got '{item}' in player '{spec}'")]
    BareItem {
        /// The offending item.
        item: String,
        /// The whole line.
        spec: String,
    },
    /// A key written twice.
    #[error("'{key}' is given twice in player '{spec}'")]
    Twice {
        /// The key.
        key: String,
        /// The whole line.
        spec: String,
    },
    /// Braces that do not match.
    #[error("unbalanced braces in player '{0}'")]
    Braces(String),
    /// A TOML value that is no player.
    #[error("a player is a line of text or a table with the key 'player': {0}")]
    Toml(String),
}

impl FromStr for PlayerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let kind = kind.trim();
        if kind.is_empty() {
            return Err(SpecError::EmptyKind(text.to_owned()));
        }
        if kind.contains(',') {
            return Err(SpecError::NoColon { spec: text.trim().to_owned() });
        }
        let mut spec = Self { kind: kind.to_owned(), argument: None, options: BTreeMap::new() };
        for (index, item) in split_items(rest).ok_or_else(|| SpecError::Braces(text.to_owned()))?.enumerate()
        {
            match item.split_once('=') {
                // A bare first item may hold '=' further on (an address with a query); a key is a plain word.
                Some((key, value)) if is_key(key) => {
                    let value = strip_braces(value).to_owned();
                    if spec.options.insert(key.to_owned(), value).is_some() {
                        return Err(SpecError::Twice { key: key.to_owned(), spec: text.to_owned() });
                    }
                }
                _ if index == 0 => {
                    spec.argument = Some(strip_braces(item).to_owned()).filter(|text| !text.is_empty());
                }
                _ => return Err(SpecError::BareItem { item: item.to_owned(), spec: text.to_owned() }),
            }
        }
        Ok(spec)
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte))
}

fn strip_braces(value: &str) -> &str {
    let value = value.trim();
    value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(value)
}

/// Items between commas outside braces, empty ones dropped; `None` when braces do not match.
fn split_items(text: &str) -> Option<impl Iterator<Item = &str>> {
    let mut depth = Some(0_usize);
    let items: Vec<&str> = text
        .split(|letter| {
            match letter {
                '{' => depth = depth.and_then(|depth| depth.checked_add(1)),
                '}' => depth = depth.and_then(|depth| depth.checked_sub(1)),
                _ => {}
            }
            letter == ',' && depth == Some(0)
        })
        .collect();
    (depth == Some(0)).then(|| items.into_iter().map(str::trim).filter(|item| !item.is_empty()))
}

impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let mut separator = ":";
        let quoted = |value: &str| {
            if value.contains([',', '{', '}']) || value.trim() != value {
                format!("{{{value}}}")
            } else {
                value.to_owned()
            }
        };
        if let Some(argument) = &self.argument {
            // Without braces it would be read as an option.
            let like_option = argument.split_once('=').is_some_and(|(key, _)| is_key(key));
            let argument = if like_option { format!("{{{argument}}}") } else { quoted(argument) };
            write!(f, ":{argument}")?;
            separator = ",";
        }
        for (key, value) in &self.options {
            write!(f, "{separator}{key}={}", quoted(value))?;
            separator = ",";
        }
        Ok(())
    }
}

impl TryFrom<&toml::Value> for PlayerSpec {
    type Error = SpecError;

    fn try_from(value: &toml::Value) -> Result<Self, SpecError> {
        let plain = |value: &toml::Value| match value {
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Table(_) => Self::try_from(value).map(|inner| inner.to_string()),
            toml::Value::Array(_) => Err(SpecError::Toml("a list is no option value".to_owned())),
            other => Ok(other.to_string()),
        };
        match value {
            toml::Value::String(text) => text.parse(),
            toml::Value::Table(table) => {
                let Some(toml::Value::String(kind)) = table.get("player") else {
                    return Err(SpecError::Toml("the key 'player' is missing".to_owned()));
                };
                let mut spec: Self = kind.parse()?;
                for (key, value) in table.iter().filter(|(key, _)| *key != "player") {
                    if key == "argument" {
                        spec.argument = Some(plain(value)?);
                    } else {
                        spec.options.insert(key.clone(), plain(value)?);
                    }
                }
                Ok(spec)
            }
            other => Err(SpecError::Toml(format!("got {}", other.type_str()))),
        }
    }
}

/// Options of a spec being read, so that a key nobody asked for is an error rather than ignored.
#[derive(Debug)]
pub struct Options<'a> {
    spec: &'a PlayerSpec,
    used: Vec<&'a str>,
}

impl<'a> Options<'a> {
    /// Starts reading.
    #[must_use]
    pub fn new(spec: &'a PlayerSpec) -> Self {
        Self { spec, used: Vec::new() }
    }

    /// The kind of player being built.
    #[must_use]
    pub fn kind(&self) -> &'a str {
        &self.spec.kind
    }

    /// The bare first item, parsed.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn argument<T: FromStr>(&mut self) -> Result<Option<T>, crate::BuildError> {
        self.spec.argument.as_deref().map(|text| self.parse("argument", text)).transpose()
    }

    /// The value of `key`, parsed.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn value<T: FromStr>(&mut self, key: &str) -> Result<Option<T>, crate::BuildError> {
        let Some((key, text)) = self.spec.options.get_key_value(key) else { return Ok(None) };
        self.used.push(key);
        self.parse(key, text).map(Some)
    }

    /// The value of `key`, a number above 0.
    ///
    /// # Errors
    /// When it does not parse, or is 0.
    pub fn positive<T: FromStr + Default + PartialEq>(
        &mut self,
        key: &str,
    ) -> Result<Option<T>, crate::BuildError> {
        match self.value::<T>(key)? {
            Some(number) if number == T::default() => Err(crate::BuildError::value(self.kind(), key, "0")),
            number => Ok(number),
        }
    }

    /// The value of `key` in seconds, above 0.
    ///
    /// # Errors
    /// When it does not parse, is not above 0, or is too long for a clock.
    pub fn seconds(&mut self, key: &str) -> Result<Option<Duration>, crate::BuildError> {
        let Some(text) = self.value::<String>(key)? else { return Ok(None) };
        let time = parse_seconds(&text).ok().filter(|time| !time.is_zero());
        time.map(Some).ok_or_else(|| crate::BuildError::value(self.kind(), key, &text))
    }

    /// Every option not read so far, for players that pass them on (engine options).
    pub fn remaining(&mut self) -> Vec<(&'a str, &'a str)> {
        let rest: Vec<_> = self
            .spec
            .options
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .filter(|(key, _)| !self.used.contains(key))
            .collect();
        self.used.extend(rest.iter().map(|(key, _)| *key));
        rest
    }

    fn parse<T: FromStr>(&self, key: &str, text: &str) -> Result<T, crate::BuildError> {
        text.parse().map_err(|_| crate::BuildError::value(&self.spec.kind, key, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kind: &str, argument: Option<&str>, options: &[(&str, &str)]) {
        let spec: PlayerSpec = text.parse().unwrap();
        assert_eq!(spec.kind, kind);
        assert_eq!(spec.argument.as_deref(), argument);
        let expected: BTreeMap<_, _> =
            options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(spec.options, expected);
        assert_eq!(spec.to_string().parse::<PlayerSpec>().unwrap(), spec, "printing reads back");
    }

    #[test]
    fn lines_read_and_print_back() {
        check("random", "random", None, &[]);
        check("lookahead:2", "lookahead", Some("2"), &[]);
        check("mcts:sims=100,c=1.4", "mcts", None, &[("sims", "100"), ("c", "1.4")]);
        check("uci:stockfish,Skill Level=5", "uci", Some("stockfish"), &[("Skill Level", "5")]);
        check("openai:http://h:1/v1?a=b,model=m", "openai", Some("http://h:1/v1?a=b"), &[("model", "m")]);
        check(
            "mpc:evaluator={uci:stockfish,nodes=5},steps=1",
            "mpc",
            None,
            &[("evaluator", "uci:stockfish,nodes=5"), ("steps", "1")],
        );
    }

    #[test]
    fn bad_lines_name_their_fault() {
        for (text, fault) in [
            (":x", "empty"),
            ("a:b,c", "key=value"),
            ("a:k=1,k=2", "twice"),
            ("a:{b", "braces"),
            ("mav,device=cpu", "'mav:device=cpu', not 'mav,device=cpu'"),
        ] {
            let error = text.parse::<PlayerSpec>().unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn a_table_is_the_same_player() {
        let table: toml::Value = toml::from_str(
            "p = { player = 'mpc', evaluator = { player = 'uci:stockfish', nodes = 5 }, steps = 1 }",
        )
        .unwrap();
        let spec = PlayerSpec::try_from(&table["p"]).unwrap();
        assert_eq!(spec, "mpc:evaluator={uci:stockfish,nodes=5},steps=1".parse().unwrap());
    }
}
