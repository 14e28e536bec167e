//! Settings as one table: a row gives the field, the key in a spec, the flag, the UCI option and the help.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::{fmt, time::Duration};

/// The row of one setting, for help texts and option lists.
#[derive(Clone, PartialEq, Debug)]
pub struct Tunable {
    /// The key in a player spec and, with dashes, the flag.
    pub name: &'static str,
    /// What it may be set to.
    pub range: Range,
    /// The default as text that can be read back.
    pub default: String,
    /// One sentence for people.
    pub help: &'static str,
}

impl Tunable {
    /// The name as a UCI option: words capitalized and joined, `c_puct` becomes `CPuct`.
    #[must_use]
    pub fn uci_name(&self) -> String {
        let capitalized = |word: &str| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
                .collect::<String>()
        };
        self.name.split('_').map(capitalized).collect()
    }
}

/// What a setting may be set to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// A whole number between two bounds.
    Integer(u64, u64),
    /// A number between two bounds.
    Real(f64, f64),
    /// Milliseconds between two bounds; 0 means none.
    Milliseconds(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// Text of a form that the words describe.
    Text(&'static str),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Real(least, most) => write!(f, "a number from {least} to {most}"),
            Self::Milliseconds(least, most) => write!(f, "milliseconds from {least} to {most}"),
            Self::Switch => f.write_str("true or false"),
            Self::Choice(words) => f.write_str(&words.join(" or ")),
            Self::Text(form) => f.write_str(form),
        }
    }
}

/// A setting that cannot be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunableError {
    /// No row has this name.
    #[error("unknown setting '{name}'{}", .nearest.map(|nearest| format!(" (did you mean '{nearest}'?)")).unwrap_or_default())]
    Unknown {
        /// The name as given.
        name: String,
        /// The closest name there is, if one is close.
        nearest: Option<&'static str>,
    },
    /// The value does not fit the row.
    #[error("setting '{name}' cannot be '{text}' (expected {range})")]
    Value {
        /// The name of the row.
        name: &'static str,
        /// The value as given.
        text: String,
        /// What it may be.
        range: Range,
    },
}

/// A type that a row can hold.
pub trait TunableValue: Sized {
    /// Reads a value; `None` if the text is malformed or out of range.
    fn read(text: &str, range: Range) -> Option<Self>;

    /// Text that [`TunableValue::read`] reads back.
    fn show(&self) -> String;
}

macro_rules! integer_tunable {
    ($($type:ty),*) => { $(
        impl TunableValue for $type {
            fn read(text: &str, range: Range) -> Option<Self> {
                let Range::Integer(least, most) = range else { return None };
                let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number))?;
                number.try_into().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )* };
}
integer_tunable!(u16, u32, u64, usize);

impl TunableValue for f32 {
    fn read(text: &str, range: Range) -> Option<Self> {
        let Range::Real(least, most) = range else { return None };
        text.parse::<Self>().ok().filter(|number| (least..=most).contains(&f64::from(*number)))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl TunableValue for bool {
    fn read(text: &str, _: Range) -> Option<Self> {
        // An empty value is a bare flag: `solver` for `solver=true`.
        match text {
            "true" | "on" | "1" | "" => Some(true),
            "false" | "off" | "0" => Some(false),
            _ => None,
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! word_tunable {
    ($($type:ty),*) => { $(
        impl TunableValue for $type {
            fn read(text: &str, _: Range) -> Option<Self> {
                text.parse().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )* };
}
word_tunable!(mavis_eval::WorldModel, mavis_value::Scoring);

impl TunableValue for Option<Duration> {
    fn read(text: &str, range: Range) -> Option<Self> {
        let Range::Milliseconds(least, most) = range else { return None };
        let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number))?;
        Some((number > 0).then(|| Duration::from_millis(number)))
    }

    fn show(&self) -> String {
        self.map_or(0, |time| time.as_millis()).to_string()
    }
}

/// The name among `names` that a typing mistake most likely meant.
#[must_use]
pub fn nearest(name: &str, names: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    names
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance * 2 <= candidate.len().max(2))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements between two words (Levenshtein).
fn edit_distance(one: &str, other: &str) -> usize {
    // Distances from what was read of `one` to the beginnings of `other` of length 1 and up; the empty one comes first.
    let mut row: Vec<usize> = (1..=other.chars().count()).collect();
    let mut last = 0;
    for (n_before, letter) in one.chars().enumerate() {
        let mut diagonal = n_before;
        last = n_before + 1;
        for (place, wanted) in row.iter_mut().zip(other.chars()) {
            let replaced = diagonal + usize::from(letter != wanted);
            diagonal = *place;
            last = replaced.min(diagonal + 1).min(last + 1);
            *place = last;
        }
    }
    row.last().copied().unwrap_or(last)
}

/// Makes a settings struct and everything that follows from its rows.
///
/// A row is `field "name": Type = default, range, "help";`.
macro_rules! tunables {
    ($(#[$meta:meta])* pub struct $settings:ident {
        $($field:ident $name:literal: $type:ty = $default:expr, $range:expr, $help:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $settings {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl Default for $settings {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $settings {
            /// Every row of the table.
            #[must_use]
            pub fn tunables() -> Vec<$crate::tunable::Tunable> {
                use $crate::tunable::Range::*;
                vec![$($crate::tunable::Tunable {
                    name: $name,
                    range: $range,
                    default: $crate::tunable::TunableValue::show(&{ let default: $type = $default; default }),
                    help: $help,
                },)*]
            }

            /// Sets one row by its name.
            ///
            /// # Errors
            /// When there is no such row, or the value does not fit it.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::tunable::TunableError> {
                use $crate::tunable::{TunableError, TunableValue as _, Range::*};
                match name {
                    $($name => {
                        self.$field = <$type>::read(text, $range).ok_or_else(|| TunableError::Value {
                            name: $name, text: text.to_owned(), range: $range,
                        })?;
                    })*
                    _ => return Err(TunableError::Unknown {
                        name: name.to_owned(),
                        nearest: $crate::tunable::nearest(name, [$($name),*]),
                    }),
                }
                Ok(())
            }

            /// The value of a row as text; `None` if there is no such row.
            #[must_use]
            pub fn value(&self, name: &str) -> Option<String> {
                match name {
                    $($name => Some($crate::tunable::TunableValue::show(&self.$field)),)*
                    _ => None,
                }
            }
        }

        /// The rows that differ from the default, `name=value` with commas between.
        impl std::fmt::Display for $settings {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let default = Self::default();
                let mut separator = "";
                $(if self.$field != default.$field {
                    write!(f, "{separator}{}={}", $name, $crate::tunable::TunableValue::show(&self.$field))?;
                    separator = ",";
                })*
                let _ = separator; // Read only when a later row differs.
                Ok(())
            }
        }

        impl std::str::FromStr for $settings {
            type Err = $crate::tunable::TunableError;

            /// Reads `name=value` with commas between; what is not named keeps its default.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut settings = Self::default();
                for part in text.split(',').filter(|part| !part.is_empty()) {
                    let (name, value) = part.split_once('=').unwrap_or((part, ""));
                    settings.set(name.trim(), value.trim())?;
                }
                Ok(settings)
            }
        }
    };
}
pub(crate) use tunables;

/// Makes an enum of bare words that a row can hold.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $choice:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $choice { $($(#[$doc])* $variant,)* }

        impl $choice {
            /// Every word.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)* })
            }
        }

        impl $crate::tunable::TunableValue for $choice {
            fn read(text: &str, _: $crate::tunable::Range) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)* _ => None }
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}
pub(crate) use choice;
