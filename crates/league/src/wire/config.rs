//! The configuration of a league, one TOML file.

use super::limits::clock;
use super::{
    AdjudicationConfig, Difference, EarlyRule, LimitsConfig, OpeningsConfig, PlayerConfig, RatingsConfig,
    ScheduleConfig, ScheduleKind, SprtSection, differences,
};
use crate::sprt::SprtError;
use mavis_game::{Game, Position, Rules};
use mavis_play::{PlayerSpec, SpecError, TimeControl};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything a league is; the same text and seed give the same pairs and openings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeagueConfig {
    /// A title for tables, PGN and reports.
    pub name: String,
    /// The game with its parameters: `chess`, `hex:size=7`.
    pub game: String,
    /// Seed of pairings, openings and players.
    #[serde(default)]
    pub seed: u64,
    /// Games at once. `None` means one for each core. Not part of what the league is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// Clock of each side, `60` or `60+0.6` seconds. `None` means no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Seconds a player may overstep its time before it loses. `None` means 0.02.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Who meets whom.
    #[serde(default)]
    pub schedule: ScheduleConfig,
    /// Where games start.
    #[serde(default)]
    pub openings: OpeningsConfig,
    /// Limits a move for players that set none.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Ends of games beside the rules; all off by default.
    #[serde(default)]
    pub adjudication: AdjudicationConfig,
    /// A sequential test of the first two players that stops the league.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtSection>,
    /// How results are rated. Not part of what the league is.
    #[serde(default)]
    pub ratings: RatingsConfig,
    /// The players.
    pub players: Vec<PlayerConfig>,
}

/// Opening pairs of a league: they are planned before its first game and take about 100 bytes each.
const MOST_PAIRS: u64 = 10_000_000;

/// A configuration that describes no league.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not TOML, or not of this form.
    #[error("{0}")]
    Toml(String),
    /// No such game.
    #[error("{0}")]
    Game(String),
    /// A line that names no player.
    #[error(transparent)]
    Player(#[from] SpecError),
    /// Two players of one name.
    #[error("two players are named '{0}'; give one of them a name")]
    SameName(String),
    /// Too few players.
    #[error("a league needs at least two players, not {0}")]
    TooFew(usize),
    /// More opening pairs than can be planned.
    #[error("schedule.pairs: a league has at most {MOST_PAIRS} opening pairs over all pairings, not {0}")]
    TooMany(u64),
    /// A name that is no player's.
    #[error("{key}: no player named '{name}' (players: {players})")]
    Unknown {
        /// Where it stands.
        key: &'static str,
        /// The name.
        name: String,
        /// All names.
        players: String,
    },
    /// A value out of range.
    #[error("bad value '{1}' for {0}")]
    Value(String, String),
    /// A rating that would make all others meaningless.
    #[error("{0}: expected a finite number, not {1}")]
    NotFinite(String, f64),
    /// A text or number that is no usable time.
    #[error("{0}: {1}")]
    Time(&'static str, String),
    /// A bad sequential test.
    #[error(transparent)]
    Sprt(#[from] SprtError),
}

impl LeagueConfig {
    /// A round robin of these players with every other setting at its default.
    #[must_use]
    pub fn new(name: &str, game: &str, players: Vec<PlayerConfig>) -> Self {
        Self {
            name: name.to_owned(),
            game: game.to_owned(),
            seed: 0,
            concurrency: None,
            clock: None,
            tolerance: None,
            schedule: ScheduleConfig::default(),
            openings: OpeningsConfig::default(),
            limits: LimitsConfig::default(),
            adjudication: AdjudicationConfig::default(),
            sprt: None,
            ratings: RatingsConfig::default(),
            players,
        }
    }

    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// When the text is not TOML of this form, or describes no league.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_toml_for::<Position>(text)
    }

    /// The same for a game outside the six.
    ///
    /// # Errors
    /// As [`LeagueConfig::from_toml`].
    pub fn from_toml_for<G: Game>(text: &str) -> Result<Self, ConfigError> {
        let config = Self::of_any_game(text)?;
        config.validate_for::<G>()?;
        Ok(config)
    }

    /// Reads a configuration without a look at the name of its game.
    pub(crate) fn of_any_game(text: &str) -> Result<Self, ConfigError> {
        let config: Self =
            toml::from_str(text).map_err(|error| ConfigError::Toml(toml_fault(text, &error)))?;
        config.check()?;
        Ok(config)
    }

    /// The whole configuration as TOML, defaults included.
    ///
    /// # Errors
    /// When a value has no TOML form (a number that is not finite).
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string(self).map_err(|error| ConfigError::Toml(error.to_string()))
    }

    /// The game, if it is one of the six.
    ///
    /// # Errors
    /// When there is no such game.
    pub fn rules(&self) -> Result<Rules, ConfigError> {
        self.rules_for::<Position>()
    }

    /// The rules of the game, of the six or another.
    ///
    /// # Errors
    /// When the name is not one that the game's rules read.
    pub fn rules_for<G: Game>(&self) -> Result<G::Rules, ConfigError> {
        match self.game.parse() {
            Ok(rules) => Ok(rules),
            Err(error) => Err(ConfigError::Game(error.to_string())),
        }
    }

    /// The clock, if games are timed.
    ///
    /// # Errors
    /// When it is not of the form `60` or `60+0.6`.
    pub fn time_control(&self) -> Result<Option<TimeControl>, ConfigError> {
        clock(self.clock.as_deref())
    }

    /// Names of all players, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.players.iter().map(|player| player.name().to_owned()).collect()
    }

    /// The limits of one player.
    #[must_use]
    pub fn limits_of(&self, player: usize) -> LimitsConfig {
        let own = self.players.get(player).and_then(|player| player.limits.clone());
        own.unwrap_or_default().or(&self.limits)
    }

    /// Whether any player thinks against time, so that sharing cores would change results.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.clock.is_some() || (0..self.players.len()).any(|player| self.limits_of(player).time.is_some())
    }

    /// Checks what the form alone cannot.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_for::<Position>()
    }

    /// The same for a game outside the six.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate_for<G: Game>(&self) -> Result<(), ConfigError> {
        self.rules_for::<G>()?;
        self.check()
    }

    /// Checks everything but the name of the game.
    fn check(&self) -> Result<(), ConfigError> {
        self.time_control()?;
        if self.players.len() < 2 {
            return Err(ConfigError::TooFew(self.players.len()));
        }
        let finite = |key: &str, value: f64| {
            if value.is_finite() { Ok(()) } else { Err(ConfigError::NotFinite(key.to_owned(), value)) }
        };
        let mut seen = BTreeSet::new();
        for (idx, player) in self.players.iter().enumerate() {
            player.spec()?;
            self.limits_of(idx).limit()?;
            if !seen.insert(player.name()) {
                return Err(ConfigError::SameName(player.name().to_owned()));
            }
            if let Some(rating) = player.external {
                finite(&format!("external of player '{}'", player.name()), rating)?;
            }
        }
        let known = |key: &'static str, name: &str| {
            if seen.contains(name) {
                Ok(())
            } else {
                let players = self.names().join(", ");
                Err(ConfigError::Unknown { key, name: name.to_owned(), players })
            }
        };
        for name in &self.schedule.challengers {
            known("schedule.challengers", name)?;
        }
        if let Some(zero) = &self.ratings.zero {
            known("ratings.zero", &zero.player)?;
            finite("ratings.zero.rating", zero.rating)?;
        }
        let positive = |key: &str, ok: bool, value: String| {
            if ok { Ok(()) } else { Err(ConfigError::Value(key.to_owned(), value)) }
        };
        let n_pairs = self.n_pairs_at_most();
        if n_pairs > MOST_PAIRS {
            return Err(ConfigError::TooMany(n_pairs));
        }
        positive("schedule.round", self.schedule.round > 0, self.schedule.round.to_string())?;
        positive("concurrency", self.concurrency != Some(0), "0".to_owned())?;
        if let Some(seconds) = self.tolerance {
            mavis_stable::time::seconds(seconds)
                .map_err(|error| ConfigError::Time("tolerance", error.to_string()))?;
        }
        if let Some(sprt) = &self.sprt {
            sprt.config()?;
        }
        if let Some(EarlyRule { judge: Some(judge), limits, .. }) = &self.adjudication.early {
            judge.parse::<PlayerSpec>()?;
            limits.limit()?;
        }
        Ok(())
    }

    /// Opening pairs over all pairings, or a few more in a gauntlet.
    fn n_pairs_at_most(&self) -> u64 {
        let n_players = self.players.len() as u64;
        let n_pairings = match self.schedule.kind {
            ScheduleKind::RoundRobin => n_players.saturating_mul(n_players.saturating_sub(1)) / 2,
            ScheduleKind::Gauntlet => n_players.saturating_mul(self.schedule.challengers.len().max(1) as u64),
            ScheduleKind::Random | ScheduleKind::Adaptive => 1,
        };
        self.schedule.pairs.saturating_mul(n_pairings)
    }

    /// What differs between this league, on disk, and one to be run now, leaving out what may change: how many games run at
    /// once, how results are rated, a larger number of pairs, and players' external ratings.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Vec<Difference> {
        let identity = |config: &Self, n_pairs: u64| {
            let mut config = config.clone();
            config.concurrency = None;
            config.ratings = RatingsConfig::default();
            config.schedule.pairs = n_pairs;
            for player in &mut config.players {
                player.external = None;
                player.cores = None;
            }
            toml::Value::try_from(config).unwrap_or(toml::Value::Boolean(false))
        };
        let (before, now) = (self.schedule.pairs, other.schedule.pairs);
        differences(&identity(self, before.max(now)), &identity(other, now))
    }
}

/// What is wrong with the text, and in which line.
#[must_use]
pub fn toml_fault(text: &str, error: &toml::de::Error) -> String {
    let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    match error.span().filter(|span| span.start > 0).and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {reason}", before.matches('\n').count().saturating_add(1)),
        None => reason,
    }
}
