//! The options a GUI may set: ours, and every option of the player.

use mavis_oracle::uci::{OptionKind, UciOption};
use mavis_play::{Key, Kind, PlayerSpec};
use mavis_search::tunable::Range;
use std::time::Duration;

/// Options of the engine itself.
#[derive(Clone, Debug)]
pub(super) struct EngineOptions {
    /// Lines to report.
    pub(super) multi_pv: u32,
    /// Time kept for the way to the GUI and back.
    pub(super) move_overhead: Duration,
    /// Whether positions and castling follow Chess960.
    pub(super) chess960: bool,
    /// Whether scores come with chances of win, draw and loss.
    pub(super) show_wdl: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { multi_pv: 1, move_overhead: Duration::from_millis(100), chess960: false, show_wdl: false }
    }
}

/// What became of a `setoption`.
pub(super) enum Set {
    /// An option of the engine, now set.
    Done,
    /// An option of the player by this key.
    Player(String),
    /// Not set, for this reason.
    Refused(String),
}

const MOST_LINES: i64 = 256;
const MOST_OVERHEAD: i64 = 10_000;

/// Every option with its default: what the player's line says, else what the player does by itself.
pub(super) fn offered(kind: &Kind, spec: &PlayerSpec) -> Vec<UciOption> {
    let spin = |default, min, max| OptionKind::Spin { default, min, max };
    let ours = [
        ("MultiPV", spin(1, 1, MOST_LINES)),
        ("Move Overhead", spin(100, 0, MOST_OVERHEAD)),
        ("Ponder", OptionKind::Check { default: false }),
        ("UCI_Chess960", OptionKind::Check { default: false }),
        ("UCI_ShowWDL", OptionKind::Check { default: false }),
    ];
    let ours = ours.map(|(name, kind)| UciOption { name: name.to_owned(), kind });
    ours.into_iter().chain(player_options(kind, spec)).collect()
}

fn player_options(kind: &Kind, spec: &PlayerSpec) -> impl Iterator<Item = UciOption> {
    let keys = kind.keys.iter().filter(|key| key.name != "argument");
    keys.map(|key| UciOption { name: uci_name(key), kind: value_kind(key, spec.options.get(&key.name)) })
}

fn uci_name(key: &Key) -> String {
    match &key.tunable {
        // GUIs know the memory of an engine by this name.
        _ if key.name == "memory" => "Hash".to_owned(),
        Some(tunable) => tunable.uci_name(),
        None => {
            let mut letters = key.name.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
        }
    }
}

fn value_kind(key: &Key, given: Option<&String>) -> OptionKind {
    let default = given.or(key.tunable.as_ref().map(|tunable| &tunable.default)).cloned().unwrap_or_default();
    match key.tunable.as_ref().map(|tunable| tunable.range) {
        Some(Range::Integer(min, max) | Range::Milliseconds(min, max)) => {
            match (default.parse(), i64::try_from(min), i64::try_from(max)) {
                (Ok(default), Ok(min), Ok(max)) => OptionKind::Spin { default, min, max },
                _ => OptionKind::Text { default },
            }
        }
        Some(Range::Switch) => OptionKind::Check { default: matches!(&*default, "true" | "on" | "1" | "") },
        Some(Range::Choice(words)) => {
            OptionKind::Combo { default, choices: words.iter().map(|&word| word.to_owned()).collect() }
        }
        Some(Range::Real(..) | Range::Text(_)) | None => OptionKind::Text { default },
    }
}

impl EngineOptions {
    /// Sets one of ours, or names the player's key.
    pub(super) fn set(&mut self, kind: &Kind, name: &str, value: Option<&str>) -> Set {
        let value = value.unwrap_or_default();
        let number = |min: i64, max: i64| {
            let read = value.parse::<i64>().ok().filter(|number| (min..=max).contains(number));
            read.ok_or_else(|| format!("option {name} cannot be '{value}' (expected {min} to {max})"))
        };
        let switch = || match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("option {name} cannot be '{value}' (expected true or false)")),
        };
        let outcome = match name.to_ascii_lowercase().replace(' ', "").as_str() {
            "multipv" => number(1, MOST_LINES).map(|lines| self.multi_pv = lines as u32),
            "moveoverhead" => number(0, MOST_OVERHEAD)
                .map(|milliseconds| self.move_overhead = Duration::from_millis(milliseconds as u64)),
            // The GUI decides whether to send `go ponder`; we are always able to.
            "ponder" => switch().map(drop),
            "uci_chess960" => switch().map(|on| self.chess960 = on),
            "uci_showwdl" => switch().map(|on| self.show_wdl = on),
            _ => {
                let found = kind.keys.iter().find(|key| {
                    key.name != "argument"
                        && (uci_name(key).eq_ignore_ascii_case(name) || key.name.eq_ignore_ascii_case(name))
                });
                return match found {
                    Some(key) => Set::Player(key.name.clone()),
                    None if kind.open => Set::Player(name.to_owned()),
                    None => Set::Refused(format!("no such option: {name}")),
                };
            }
        };
        outcome.map_or_else(Set::Refused, |()| Set::Done)
    }
}
