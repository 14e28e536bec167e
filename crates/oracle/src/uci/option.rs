//! Options an engine offers.

use std::fmt;

/// One option of an engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UciOption {
    /// Its name, which may hold spaces.
    pub name: String,
    /// What values it takes.
    pub kind: OptionKind,
}

/// The names of options in a row, for people.
#[must_use]
pub fn option_names(options: &[UciOption]) -> String {
    let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The values an option takes, with its default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionKind {
    /// On or off.
    Check {
        /// The value unless set.
        default: bool,
    },
    /// A whole number.
    Spin {
        /// The value unless set.
        default: i64,
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// One of some words.
    Combo {
        /// The value unless set.
        default: String,
        /// The choices.
        choices: Vec<String>,
    },
    /// Something to press.
    Button,
    /// Any text.
    Text {
        /// The value unless set; UCI writes the empty text as `<empty>`.
        default: String,
    },
}

impl UciOption {
    /// Reads what follows the word `option`.
    #[must_use]
    pub fn parse(rest: &str) -> Option<Self> {
        let mut name: Vec<&str> = Vec::new();
        let mut kind = None;
        let (mut default, mut choices): (Vec<&str>, Vec<Vec<&str>>) = (Vec::new(), Vec::new());
        let (mut min, mut max) = (None, None);
        let mut field = "";
        for word in rest.split_whitespace() {
            match (field, word) {
                // The name ends at `type`; behind it a word that names a field starts one.
                ("" | "type" | "default" | "min" | "max" | "var", "name") if kind.is_none() => field = "name",
                (_, "type") if kind.is_none() => field = "type",
                (_, "default" | "min" | "max" | "var") if kind.is_some() => {
                    field = word;
                    if word == "var" {
                        choices.push(Vec::new());
                    }
                }
                ("name", _) => name.push(word),
                ("type", _) => kind = Some(word),
                ("default", _) => default.push(word),
                ("min", _) => min = word.parse().ok(),
                ("max", _) => max = word.parse().ok(),
                ("var", _) => {
                    if let Some(choice) = choices.last_mut() {
                        choice.push(word);
                    }
                }
                _ => return None,
            }
        }
        let default = default.join(" ");
        let kind = match kind? {
            "check" => OptionKind::Check { default: default == "true" },
            "spin" => OptionKind::Spin {
                default: default.parse().ok()?,
                min: min.unwrap_or(i64::MIN),
                max: max.unwrap_or(i64::MAX),
            },
            "combo" => OptionKind::Combo {
                default,
                choices: choices.iter().map(|choice| choice.join(" ")).collect(),
            },
            "button" => OptionKind::Button,
            "string" => {
                OptionKind::Text { default: if default == "<empty>" { String::new() } else { default } }
            }
            _ => return None,
        };
        (!name.is_empty()).then(|| Self { name: name.join(" "), kind })
    }
}

impl fmt::Display for UciOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "name {} type ", self.name)?;
        match &self.kind {
            OptionKind::Check { default } => write!(f, "check default {default}"),
            OptionKind::Spin { default, min, max } => write!(f, "spin default {default} min {min} max {max}"),
            OptionKind::Combo { default, choices } => {
                write!(f, "combo default {default}")?;
                choices.iter().try_for_each(|choice| write!(f, " var {choice}"))
            }
            OptionKind::Button => f.write_str("button"),
            OptionKind::Text { default } if default.is_empty() => f.write_str("string default <empty>"),
            OptionKind::Text { default } => write!(f, "string default {default}"),
        }
    }
}
