//! Ratings as pure functions of results.
//!
//! **Model.** Elo as everyone reads it: with `x = θ_first - θ_second + γ` the first side's expected points are
//! `σ(x) = 1 / (1 + e^(-x))`, where γ is the advantage of the first side and `Elo = 400 / ln 10 · θ`. Draws are shared
//! out as in Davidson's model of ties: win : draw : loss are `e^(y/2) : ν : e^(-y/2)`, with `y` chosen so that the
//! expected points are σ(x). (Davidson takes `y = x`; then the same Elo gap would mean another score in a league with
//! more draws.) Given the mean, ν only says how the points spread, and the two are orthogonal: the likelihood weighs a
//! game by `σ'(x) / variance of its points`. [`DrawModel::HalfWin`] drops ν and counts a draw as half a win and half a
//! loss, which is the Elo of paper 001 and of Ordo: each player's expected points equal the actual ones.
//!
//! **Prior.** Every θ and γ have a normal prior of deviation [`RatingConfig::prior_sd`] (1,000 Elo by default, worth
//! about an eighth of a game), ln ν one of 1/200 of that number (5). It only matters for players who won or lost every game, whose
//! likelihood has no maximum, and for groups that never met; both are reported as a [`Note`].
//!
//! **Intervals.** The sandwich estimator clustered by opening pair, since the two games of an opening are not
//! independent, with leverage-adjusted cluster scores (as in the jackknife) and Student's quantile; or the bootstrap
//! over opening pairs. Where a player is separated from the zero by
//! results without a single point the other way, or has fewer than ten pairs, the interval is at least that of the
//! model's own information, for the sandwich is blind there.

mod bootstrap;
mod davidson;
mod external;
mod groups;
mod knowledge;
mod sandwich;
mod spread;

pub use external::{Anchor, Calibration, CalibrationError};

pub(crate) use knowledge::knowledge;

use crate::numeric::Estimate;
use crate::results::{Results, Tally};
use davidson::{Layout, fit};
use spread::{Contrasts, Origin, Spread};

/// How to rate.
#[derive(Clone, PartialEq, Debug)]
pub struct RatingConfig {
    /// How draws enter the likelihood.
    pub draws: DrawModel,
    /// Where zero lies.
    pub zero: Zero,
    /// How intervals are made.
    pub intervals: Intervals,
    /// Deviation of the weak prior, in Elo.
    pub prior_sd: f64,
}

impl Default for RatingConfig {
    fn default() -> Self {
        Self {
            draws: DrawModel::Davidson,
            zero: Zero::Mean(0.0),
            intervals: Intervals::Sandwich,
            prior_sd: 1000.0,
        }
    }
}

/// How draws enter the likelihood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DrawModel {
    /// Davidson's draws, one draw parameter for the league, at the logistic expected score.
    Davidson,
    /// A draw is half a win and half a loss.
    HalfWin,
}

/// Where the scale of internal Elo is fixed.
#[derive(Clone, PartialEq, Debug)]
pub enum Zero {
    /// The mean of all players has this rating.
    Mean(f64),
    /// This player has this rating, without an interval; the others' intervals are those of the difference.
    Player {
        /// Its name.
        name: String,
        /// Its rating.
        rating: f64,
    },
}

/// How intervals are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intervals {
    /// Sandwich estimator clustered by opening pair.
    Sandwich,
    /// Percentiles of refits on resampled opening pairs (within each pairing).
    Bootstrap {
        /// Number of refits; a thousand is plenty.
        replicates: usize,
        /// Seed of the resampling.
        seed: u64,
    },
}

/// Ratings of a league.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    /// In the order of [`Results::players`].
    pub players: Vec<Rating>,
    /// What the first side is worth between equals, in Elo.
    pub first_advantage: Estimate,
    /// The probability that two equal players without first-side advantage draw; `None` where draws are half wins.
    pub draw_rate: Option<f64>,
    /// `[row][column]`: the probability that the row player is the stronger one, given the games.
    pub superiority: Vec<Vec<f64>>,
    /// Log likelihood at the maximum, without the prior.
    pub log_likelihood: f64,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

/// One player's rating.
#[derive(Clone, PartialEq, Debug)]
pub struct Rating {
    /// The player's name.
    pub name: String,
    /// Internal Elo.
    pub elo: Estimate,
    /// Its games.
    pub tally: Tally,
    /// Opening pairs it took part in.
    pub n_pairs: usize,
    /// Mean rating of its opponents, weighted by games; `None` without games.
    pub opponents: Option<f64>,
}

/// Something a reader of ratings must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// These groups never met: ratings compare within a group only.
    Disconnected(Vec<Vec<String>>),
    /// Won every game: the rating is a lower bound made finite by the prior.
    OnlyWins(String),
    /// Lost every game: the rating is an upper bound made finite by the prior.
    OnlyLosses(String),
    /// The first of these groups never lost a point to the second: the gap is a bound made finite by the prior.
    Separated(Vec<String>, Vec<String>),
    /// Did not play.
    NoGames(String),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Disconnected(groups) => {
                let groups: Vec<_> = groups.iter().map(|group| group.join(", ")).collect();
                write!(f, "these groups never met, compare ratings only within each: {}", groups.join(" | "))
            }
            Self::OnlyWins(name) => write!(f, "{name} won every game: its rating is a lower bound"),
            Self::OnlyLosses(name) => write!(f, "{name} lost every game: its rating is an upper bound"),
            Self::Separated(above, below) => {
                write!(
                    f,
                    "no point lost by {} to {}: the gap is a lower bound",
                    above.join(", "),
                    below.join(", ")
                )
            }
            Self::NoGames(name) => write!(f, "{name} has not played"),
        }
    }
}

/// Results that cannot be rated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RatingError {
    /// The player that fixes the zero is not in the league.
    #[error("no player named '{0}' to fix the zero (players: {1})")]
    UnknownZero(String, String),
    /// A game names a player that is not in the list, or itself.
    #[error("game {game} is between players {first} and {second} of {n_players}")]
    BadGame {
        /// Index in [`Results::games`].
        game: usize,
        /// First side.
        first: usize,
        /// Second side.
        second: usize,
        /// Number of players.
        n_players: usize,
    },
    /// The prior's deviation is not a positive number.
    #[error("the prior's deviation must be positive, not {0}")]
    BadPrior(f64),
    /// Newton's method did not converge, which a positive prior rules out save for absurd sizes.
    #[error("the likelihood could not be maximized")]
    NoMaximum,
}

/// Elo per unit of θ where nothing is drawn.
pub const ELO_PER_LOGIT: f64 = 400.0 / std::f64::consts::LN_10;

/// The expected score of a player `elo` above the opponent by the plain logistic formula.
#[must_use]
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + (-elo / ELO_PER_LOGIT).exp())
}

/// The Elo difference that gives this expected score; infinite at 0 and 1.
#[must_use]
pub fn elo_of_score(score: f64) -> f64 {
    ELO_PER_LOGIT * (score / (1.0 - score)).ln()
}

/// Rates every player from the results.
///
/// # Errors
/// When a game names no player, the zero names no player, or the prior is not positive.
pub fn rate(results: &Results, config: &RatingConfig) -> Result<Ratings, RatingError> {
    let zero = check(results, config)?;
    let layout = Layout::of(results, config.draws);
    let cells = davidson::cells(results);
    let fit = fit(&cells, layout, config.prior_sd, None).ok_or(RatingError::NoMaximum)?;
    let contrasts = Contrasts { zero, layout };
    let elos = contrasts.elos(&fit.params);
    let mut ratings = with_tallies(results, &elos);
    let mut notes = Vec::new();
    let components = groups::notes(results, &mut notes);
    let (intervals, first_advantage, superiority) = match config.intervals {
        Intervals::Sandwich => {
            let spread = Spread::of(results, &fit, contrasts.clone(), &components);
            let n = results.players.len();
            let superiority =
                (0..n).map(|i| (0..n).map(|j| spread.superiority(i, j, &elos)).collect()).collect();
            let intervals = (0..n).map(|i| spread.interval(i, elos[i])).collect();
            (intervals, spread.first_advantage(), superiority)
        }
        Intervals::Bootstrap { replicates, seed } => {
            bootstrap::run(results, config.prior_sd, &contrasts, &fit, replicates, seed)
                .ok_or(RatingError::NoMaximum)?
        }
    };
    for (rating, interval) in ratings.iter_mut().zip::<Vec<Estimate>>(intervals) {
        rating.elo = interval;
    }
    let draw_rate = layout.draw_rate(&fit.params);
    Ok(Ratings {
        players: ratings,
        first_advantage,
        draw_rate,
        superiority,
        log_likelihood: fit.log_likelihood,
        notes,
    })
}

fn check(results: &Results, config: &RatingConfig) -> Result<Origin, RatingError> {
    let n_players = results.players.len();
    for (game, result) in results.games.iter().enumerate() {
        let (first, second) = (result.first, result.second);
        if first >= n_players || second >= n_players || first == second {
            return Err(RatingError::BadGame { game, first, second, n_players });
        }
    }
    if config.prior_sd.is_nan() || config.prior_sd <= 0.0 || config.prior_sd.is_infinite() {
        return Err(RatingError::BadPrior(config.prior_sd));
    }
    match &config.zero {
        Zero::Mean(rating) => Ok(Origin::Mean(*rating)),
        Zero::Player { name, rating } => results
            .players
            .iter()
            .position(|player| player == name)
            .map(|idx| Origin::Player(idx, *rating))
            .ok_or_else(|| RatingError::UnknownZero(name.clone(), results.players.join(", "))),
    }
}

fn with_tallies(results: &Results, elos: &[f64]) -> Vec<Rating> {
    let n = results.players.len();
    let mut pairs = vec![std::collections::BTreeSet::new(); n];
    let mut opponents = vec![0.0; n];
    for game in &results.games {
        for (me, other) in [(game.first, game.second), (game.second, game.first)] {
            pairs[me].insert(game.pair);
            opponents[me] += elos[other];
        }
    }
    let totals = results.totals();
    (0..n)
        .map(|i| Rating {
            name: results.players[i].clone(),
            elo: Estimate::symmetric(elos[i], f64::INFINITY),
            tally: totals[i],
            n_pairs: pairs[i].len(),
            opponents: (totals[i].n_games() > 0).then(|| opponents[i] / totals[i].n_games() as f64),
        })
        .collect()
}
