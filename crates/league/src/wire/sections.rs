//! Sections of the configuration.

use super::LimitsConfig;
use crate::ratings::{DrawModel, RatingConfig, Zero};
use crate::sprt::{EloScale, SprtConfig, SprtError};
use mavis_play::{PlayerSpec, SpecError};
use serde::{Deserialize, Deserializer, Serialize};

/// Who meets whom.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleConfig {
    /// The form.
    pub kind: ScheduleKind,
    /// Opening pairs (two games each) for every pairing, or in all for `random` and `adaptive`. May be raised later.
    pub pairs: u64,
    /// Names of the players who meet all others in a gauntlet; the first player where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub challengers: Vec<String>,
    /// Pairs chosen at once in an adaptive league; more keep more workers busy, fewer adapt faster.
    pub round: u64,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self { kind: ScheduleKind::RoundRobin, pairs: 10, challengers: Vec::new(), round: 16 }
    }
}

/// The form of a league.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// Everyone meets everyone.
    RoundRobin,
    /// Challengers meet everyone else.
    Gauntlet,
    /// Each pair of games draws two players at random, as in paper 001.
    Random,
    /// Each pair of games goes where it adds most to the precision of the ratings.
    Adaptive,
}

/// Where games start.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpeningsConfig {
    /// A file of FEN or EPD lines or of PGN games, or `table4`, the book of paper 001. `None` means the start position
    /// (a random one of the 960 in Chess960).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub book: Option<String>,
    /// Take the book's lines in order instead of shuffled by the seed.
    pub in_order: bool,
    /// Plies taken from each PGN game of the book. `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plies: Option<usize>,
    /// Random legal plies played after the book's position.
    pub random_plies: u32,
}

/// Ends of games beside the rules. Evaluations are those that players report with their moves, in centipawns; a win
/// probability is turned into them by the formula of paper 001.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdjudicationConfig {
    /// A draw when both sides see nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<DrawRule>,
    /// A loss for a side that sees itself lost for some moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resign: Option<ResignRule>,
    /// A win as soon as the advantage is decisive, as in paper 001's internal-search matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early: Option<EarlyRule>,
    /// Plies (opening excluded) after which the game is a draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_plies: Option<u32>,
    /// An exact judge by name: `solver` for Connect Four, `syzygy:DIR` for chess endings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactRule>,
    /// Play on where a draw could be claimed (threefold repetition, fifty moves).
    pub no_claims: bool,
}

/// A draw when both sides see nothing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRule {
    /// Not before this full move.
    #[serde(default)]
    pub from_move: u32,
    /// Consecutive moves of each side.
    pub moves: u32,
    /// Largest evaluation either way, centipawns.
    pub centipawns: i32,
}

/// A loss for a side that sees itself lost.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResignRule {
    /// Consecutive moves of that side.
    pub moves: u32,
    /// Its evaluation is this far below zero or worse, centipawns.
    pub centipawns: i32,
    /// The other side must see it as won too.
    #[serde(default)]
    pub both: bool,
}

/// A win as soon as the advantage is decisive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyRule {
    /// The decisive advantage.
    #[serde(default = "decisive")]
    pub centipawns: i32,
    /// A player whose evaluation decides after every move. `None` means that the last evaluations of both players must
    /// agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// What the judge may spend.
    #[serde(default)]
    pub limits: LimitsConfig,
}

fn decisive() -> i32 {
    1200
}

/// An exact judge.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactRule {
    /// Its name among the judges the program offers, or `syzygy:DIR` with a folder of tables; it starts from the folder of the
    /// configuration.
    pub judge: String,
    /// Asked from this ply of the game on (opening included).
    #[serde(default)]
    pub from_ply: u32,
}

/// A sequential test of the first two players.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SprtSection {
    /// Hypothesis to reject.
    pub elo0: f64,
    /// Hypothesis to accept.
    pub elo1: f64,
    /// Rate of false acceptance.
    pub alpha: f64,
    /// Rate of false rejection.
    pub beta: f64,
    /// `logistic` or `normalized`.
    pub scale: String,
}

impl Default for SprtSection {
    fn default() -> Self {
        let SprtConfig { elo0, elo1, alpha, beta, scale } = SprtConfig::default();
        Self { elo0, elo1, alpha, beta, scale: scale.to_string() }
    }
}

impl SprtSection {
    /// The test.
    ///
    /// # Errors
    /// When the hypotheses or rates make no sense.
    pub fn config(&self) -> Result<SprtConfig, SprtError> {
        let scale: EloScale = self.scale.parse()?;
        let config =
            SprtConfig { elo0: self.elo0, elo1: self.elo1, alpha: self.alpha, beta: self.beta, scale };
        config.validate().map(|()| config)
    }
}

/// How results are rated.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RatingsConfig {
    /// The player that fixes the scale. `None` means that the mean is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero: Option<ZeroConfig>,
    /// Count draws as half a win and half a loss instead of modeling them.
    pub half_wins: bool,
    /// External ratings by straight lines between anchors instead of one fitted line.
    pub piecewise: bool,
}

/// The player that fixes the scale.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroConfig {
    /// Its name.
    pub player: String,
    /// Its rating.
    #[serde(default)]
    pub rating: f64,
}

impl RatingsConfig {
    /// For [`crate::rate`].
    #[must_use]
    pub fn config(&self) -> RatingConfig {
        let zero = self
            .zero
            .as_ref()
            .map_or(Zero::Mean(0.0), |zero| Zero::Player { name: zero.player.clone(), rating: zero.rating });
        let draws = if self.half_wins { DrawModel::HalfWin } else { DrawModel::Davidson };
        RatingConfig { zero, draws, ..RatingConfig::default() }
    }
}

/// One player of a league.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerConfig {
    /// Its line, or a table with the key `player`.
    #[serde(deserialize_with = "spec_line")]
    pub player: String,
    /// Its name in tables. `None` means its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its own limits, in place of the league's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsConfig>,
    /// A rating published elsewhere; such players anchor external Elo. Not part of what the league is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<f64>,
    /// Cores it keeps busy while it thinks. `None` means its `Threads` option, or 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
}

fn spec_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    PlayerSpec::try_from(&value).map(|spec| spec.to_string()).map_err(serde::de::Error::custom)
}

impl PlayerConfig {
    /// A player by its line alone, options in the order in which a file has them when it is read; a line that names no player is kept
    /// as it is.
    #[must_use]
    pub fn new(line: &str) -> Self {
        let player = line.parse::<PlayerSpec>().map_or_else(|_| line.to_owned(), |spec| spec.to_string());
        Self { player, name: None, limits: None, external: None, cores: None }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.player)
    }

    /// Its line, parsed.
    ///
    /// # Errors
    /// When the line names no player.
    pub fn spec(&self) -> Result<PlayerSpec, SpecError> {
        self.player.parse()
    }

    /// Cores it keeps busy while it thinks.
    #[must_use]
    pub fn cores(&self) -> usize {
        let threads = || {
            let spec = self.spec().ok()?;
            let (_, value) = spec.options.iter().find(|(key, _)| key.eq_ignore_ascii_case("threads"))?;
            value.parse().ok()
        };
        self.cores.or_else(threads).unwrap_or(1)
    }
}
