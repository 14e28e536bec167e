//! From a spec to a player, through a table that the binary fills.
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

use mavis_search::tunable::Tunable;

use crate::{Lookahead, Options, Player, PlayerSpec, RandomPlayer, RolloutPlayer};
use mavis_game::{Game, Position};
use mavis_net::NetError;
use std::sync::Arc;

/// Builds a player from its spec and a seed.
pub type Build<G = Position> =
    Box<dyn Fn(&mut Options<'_>, u64) -> Result<Box<dyn Player<G>>, BuildError> + Send + Sync>;

/// One option of a kind of player, for help and for "did you mean".
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name; `argument` is the bare first item.
    pub name: String,
    /// What it does, with its default.
    pub help: String,
    /// The row of the table it comes from, where it has one: range and default.
    pub tunable: Option<Tunable>,
}

impl From<Tunable> for Key {
    fn from(tunable: Tunable) -> Self {
        let help = format!(
            "{} ({}; default {})",
            tunable.help.trim_end_matches('.'),
            tunable.range,
            tunable.default
        );
        Self { name: tunable.name.to_owned(), help, tunable: Some(tunable) }
    }
}

impl Key {
    /// An option and its help.
    #[must_use]
    pub fn new(name: &str, help: &str) -> Self {
        Self { name: name.to_owned(), help: help.to_owned(), tunable: None }
    }
}

/// One kind of player.
pub struct Kind<G: Game = Position> {
    /// The word before the colon.
    pub name: &'static str,
    /// One line for help.
    pub help: &'static str,
    /// Its options.
    pub keys: Vec<Key>,
    /// Whether options not in `keys` are passed on instead of refused (a child engine's own options).
    pub open: bool,
    /// Makes one.
    pub build: Build<G>,
}

/// A spec that builds no player.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// No such kind.
    #[error("unknown player '{kind}'{}", hint(.suggestion))]
    Kind {
        /// The offending word.
        kind: String,
        /// A known word close to it, or the list of all.
        suggestion: String,
    },
    /// No such option.
    #[error("player '{player}' has no option '{key}'{}", hint(.suggestion))]
    Key {
        /// The kind of player.
        player: String,
        /// The offending key.
        key: String,
        /// A known key close to it, or the list of all.
        suggestion: String,
    },
    /// An option without its value.
    #[error("option '{key}' of player '{player}' expects a value: {player}:{key}=...")]
    NoValue {
        /// The kind of player.
        player: String,
        /// The key.
        key: String,
    },
    /// A value that does not parse or is out of range.
    #[error("bad value '{value}' for {key} of player '{player}'{}", hint(.expected))]
    Value {
        /// The kind of player.
        player: String,
        /// The key.
        key: String,
        /// The offending value.
        value: String,
        /// What it may be; the registry fills it in from the key.
        expected: String,
    },
    /// What the player needs is not there: an engine, a model file.
    #[error("player '{player}': {reason}")]
    Unavailable {
        /// The kind of player.
        player: String,
        /// What is missing and how to get it.
        reason: String,
    },
    /// The device of its network failed: see [`crate::PlayerError::Broken`].
    #[error("player '{player}': {reason}")]
    Broken {
        /// The kind of player.
        player: String,
        /// What the device said.
        reason: String,
    },
}

impl BuildError {
    /// A network that cannot be used.
    #[must_use]
    pub fn of_network(player: &str, error: &NetError) -> Self {
        let (player, reason) = (player.to_owned(), error.to_string());
        match error {
            NetError::Device(_) => Self::Broken { player, reason },
            _ => Self::Unavailable { player, reason },
        }
    }
}

impl BuildError {
    /// A value that does not parse or is out of range.
    #[must_use]
    pub fn value(player: &str, key: &str, value: &str) -> Self {
        let expected = String::new();
        Self::Value { player: player.to_owned(), key: key.to_owned(), value: value.to_owned(), expected }
    }
}

fn hint(suggestion: &str) -> String {
    if suggestion.is_empty() { String::new() } else { format!(" ({suggestion})") }
}

/// The known kinds of player; a clone shares them, so that a player can build others.
pub struct Registry<G: Game = Position> {
    kinds: Vec<Arc<Kind<G>>>,
}

impl<G: Game> Clone for Registry<G> {
    fn clone(&self) -> Self {
        Self { kinds: self.kinds.clone() }
    }
}

impl<G: Game> Default for Registry<G> {
    fn default() -> Self {
        Self { kinds: Vec::new() }
    }
}

impl Registry {
    /// The players of the six games that need nothing but the rules.
    #[must_use]
    pub fn basic() -> Self {
        Self::rules_only()
    }
}

impl<G: Game> Registry<G> {
    /// The players that need nothing but the rules, for any game.
    #[must_use]
    pub fn rules_only() -> Self {
        let mut registry = Self::default();
        registry.add(Kind {
            name: "random",
            help: "a random legal move",
            keys: Vec::new(),
            open: false,
            build: Box::new(|_, seed| Ok(Box::new(RandomPlayer::new(seed)))),
        });
        registry.add(Kind {
            name: "lookahead",
            help: "scans 1, 2 or 3 plies fully for wins and losses, else random",
            keys: vec![Key::new("argument", "plies, 1 to 3 (default 1)")],
            open: false,
            build: Box::new(|options, seed| {
                let plies = options.argument::<u32>()?.unwrap_or(1);
                Lookahead::new(plies, seed)
                    .map(|player| Box::new(player) as Box<dyn Player<G>>)
                    .ok_or_else(|| BuildError::value("lookahead", "argument", &plies.to_string()))
            }),
        });
        registry.add(Kind {
            name: "mcts",
            help: "plain MCTS with random rollouts",
            keys: vec![
                Key::new(
                    "sims",
                    "simulations per move (default 1000; no limit if only a time limit is given)",
                ),
                Key::new("c", "exploration constant, from 0 on (default 1.414)"),
            ],
            open: false,
            build: Box::new(|options, seed| {
                let (sims, c) = (options.positive("sims")?, options.value::<f32>("c")?);
                if let Some(bad) = c.filter(|c| !(0.0..f32::INFINITY).contains(c)) {
                    return Err(BuildError::value("mcts", "c", &bad.to_string()));
                }
                Ok(Box::new(RolloutPlayer::new(sims, c, seed)))
            }),
        });
        registry
    }

    /// Adds a kind; a kind of the same name is replaced.
    pub fn add(&mut self, kind: Kind<G>) {
        self.kinds.retain(|known| known.name != kind.name);
        self.kinds.push(Arc::new(kind));
    }

    /// All kinds, for help.
    #[must_use]
    pub fn kinds(&self) -> &[Arc<Kind<G>>] {
        &self.kinds
    }

    /// Builds the player a spec names.
    ///
    /// # Errors
    /// When the kind or an option is unknown, a value is bad, or something the player needs is missing.
    pub fn build(&self, spec: &PlayerSpec, seed: u64) -> Result<Box<dyn Player<G>>, BuildError> {
        let kind = self.check(spec)?;
        (kind.build)(&mut Options::new(spec), seed).map_err(|mut error| {
            if let BuildError::Value { player, key, expected, .. } = &mut error
                && *player == kind.name
                && let Some(known) = kind.keys.iter().find(|known| known.name == *key)
            {
                *expected =
                    known.tunable.as_ref().map_or(known.help.clone(), |tunable| tunable.range.to_string());
            }
            error
        })
    }

    /// Checks kind and keys without building anything.
    ///
    /// # Errors
    /// When the kind or an option is unknown.
    pub fn check(&self, spec: &PlayerSpec) -> Result<&Kind<G>, BuildError> {
        let kind = self.kinds.iter().find(|kind| kind.name == spec.kind).ok_or_else(|| BuildError::Kind {
            kind: spec.kind.clone(),
            suggestion: suggest(&spec.kind, self.kinds.iter().map(|kind| kind.name)),
        })?;
        let given = spec.argument.iter().map(|_| "argument").chain(spec.options.keys().map(String::as_str));
        for key in given.filter(|key| !kind.open || *key == "argument") {
            let is_known = |key: &str| kind.keys.iter().any(|known| known.name == key);
            if is_known(key) {
                continue;
            }
            let player = spec.kind.clone();
            let word = spec.argument.as_deref().filter(|_| key == "argument");
            if let Some(word) = word.filter(|word| is_known(word)) {
                return Err(BuildError::NoValue { player, key: word.to_owned() });
            }
            let key = word.unwrap_or(key).to_owned();
            let suggestion = suggest(&key, kind.keys.iter().map(|known| known.name.as_str()));
            return Err(BuildError::Key { player, key, suggestion });
        }
        Ok(kind)
    }
}

/// "did you mean X" for a near miss, the list of all otherwise.
fn suggest<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 4).saturating_add(1));
    match near {
        Some((_, name)) => format!("did you mean '{name}'?"),
        None => {
            let all: Vec<&str> = known.filter(|name| *name != "argument").collect();
            if all.is_empty() { "it takes none".to_owned() } else { format!("known: {}", all.join(" ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, message: &str) {
        let registry = Registry::basic();
        let error = registry.build(&text.parse().unwrap(), 0).err().expect("a bad spec").to_string();
        assert_eq!(error, message);
    }

    #[test]
    fn faults_are_named_with_the_nearest_word() {
        check("randon", "unknown player 'randon' (did you mean 'random'?)");
        check("zzzzzz", "unknown player 'zzzzzz' (known: random lookahead mcts)");
        check("mcts:sims", "option 'sims' of player 'mcts' expects a value: mcts:sims=...");
        check("mcts:sim", "player 'mcts' has no option 'sim' (did you mean 'sims'?)");
        check("random:sims=3", "player 'random' has no option 'sims' (it takes none)");
        check("lookahead:7", "bad value '7' for argument of player 'lookahead' (plies, 1 to 3 (default 1))");
        check(
            "mcts:c=nan",
            "bad value 'NaN' for c of player 'mcts' (exploration constant, from 0 on (default 1.414))",
        );
        check("lookahead:x", "bad value 'x' for argument of player 'lookahead' (plies, 1 to 3 (default 1))");
    }
}
