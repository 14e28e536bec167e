//! The standings of a league: ratings, cross table, ends of games; recomputed from the game log at any time.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::numeric::Estimate;
use crate::pairing::Schedule;
use crate::ratings::{Anchor, Calibration, CalibrationError, Intervals, RatingError, Ratings, rate};
use crate::results::{Results, Tally};
use crate::sprt::{Pentanomial, Sprt, SprtDecision, SprtError, sprt};
use crate::wire::{EndKind, LeagueConfig, StoredGame, StoredMove, results_of};
use mavis_game::{Game as _, Position, Side};
use std::collections::BTreeMap;

/// Everything a table or report shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Standings {
    /// Title of the league.
    pub name: String,
    /// The game with its parameters.
    pub game: String,
    /// Games on disk.
    pub finished: u64,
    /// Games planned.
    pub planned: u64,
    /// Ratings in the order of the configuration.
    pub ratings: Ratings,
    /// External ratings in the same order, where some players have a published one.
    pub external: Option<Vec<Estimate>>,
    /// Why there are none though some players have a published rating.
    pub external_missing: Option<CalibrationError>,
    /// Indices of the players, best first.
    pub order: Vec<usize>,
    /// `[row][column]`: the row player's tally against the column player.
    pub cross: Vec<Vec<Tally>>,
    /// Mean seconds a move of each player, in the order of the configuration; `None` without moves.
    pub seconds: Vec<Option<f64>>,
    /// Mean tokens a move of players that search in text, in the same order; `None` for others.
    pub tokens: Vec<Option<f64>>,
    /// Responses of searches in text that did not come to their end, by player and kind.
    pub broken: BTreeMap<(String, String), u64>,
    /// How games ended.
    pub ends: BTreeMap<EndKind, u64>,
    /// Games lost by a fault, by player and sort.
    pub faults: BTreeMap<(String, EndKind), u64>,
    /// `[row][column]`: games that the row player lost to the column player by a fault.
    pub forfeits: Vec<Vec<u64>>,
    /// Plies of each game, opening included.
    pub lengths: Vec<usize>,
    /// Ratings after growing shares of the games: the number of games and every player's Elo.
    pub history: Vec<(usize, Vec<f64>)>,
    /// The sequential test after each pair, if the league has one.
    pub test: Option<TestHistory>,
}

/// The course of a sequential test.
#[derive(Clone, PartialEq, Debug)]
pub struct TestHistory {
    /// Where it stands.
    pub state: Sprt,
    /// Counts of the pairs behind it.
    pub pairs: Pentanomial,
    /// Log likelihood ratio after each pair.
    pub path: Vec<f64>,
}

/// A league that cannot be rated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum StandingsError {
    /// Results that cannot be rated.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// A bad sequential test.
    #[error(transparent)]
    Sprt(#[from] SprtError),
}

/// How many points of history a report shows.
const HISTORY_POINTS: usize = 20;

impl Standings {
    /// What a reader must know beside the numbers.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let missing = self.external_missing.iter().map(|reason| format!("no external Elo yet: {reason}"));
        let faults = self.faults.iter().map(|((player, kind), n)| match n {
            1 => format!("{player} lost 1 game by {kind}"),
            n => format!("{player} lost {n} games by {kind}"),
        });
        let broken = self.broken.iter().map(|((player, kind), n)| match n {
            1 => format!("{player}: 1 response broken by {kind}"),
            n => format!("{player}: {n} responses broken by {kind}"),
        });
        let ratings = self.ratings.notes.iter().map(ToString::to_string);
        ratings.chain(missing).chain(faults).chain(broken).collect()
    }

    /// Games that a player lost by a fault of its own.
    #[must_use]
    pub fn n_forfeits(&self, player: usize) -> u64 {
        self.forfeits.get(player).map_or(0, |row| row.iter().sum())
    }
}

/// The standings of the league after these games.
///
/// # Errors
/// When the ratings section names no player, or the test makes no sense.
pub fn standings(
    config: &LeagueConfig,
    games: &[StoredGame],
    intervals: Intervals,
) -> Result<Standings, StandingsError> {
    let names = config.names();
    let results = results_of(&names, games);
    let mut settings = config.ratings.config();
    settings.intervals = intervals;
    let ratings = rate(&results, &settings)?;
    let mut order: Vec<usize> = (0..names.len()).collect();
    let elo =
        |player: usize| ratings.players.get(player).map_or(f64::NEG_INFINITY, |rating| rating.elo.value);
    order.sort_by(|&a, &b| elo(b).total_cmp(&elo(a)));
    settings.intervals = Intervals::Sandwich;
    let history = history(&results, &settings)?;
    let (ends, faults) = ends(games);
    let (external, external_missing) = match external(config, &ratings) {
        Ok(external) => (external, None),
        Err(error) => (None, Some(error)),
    };
    Ok(Standings {
        name: config.name.clone(),
        game: config.game.clone(),
        finished: games.len() as u64,
        planned: Schedule::new(config).n_games(),
        external,
        external_missing,
        order,
        cross: results.cross_table(),
        seconds: means(config, &names, games, |made| made.seconds),
        tokens: means(config, &names, games, |made| made.tokens as f64)
            .into_iter()
            .map(|mean| mean.filter(|tokens| *tokens > 0.0))
            .collect(),
        broken: broken(config, games),
        ends,
        faults,
        forfeits: forfeits(&names, games),
        lengths: games.iter().map(|game| game.opening.len() + game.moves.len()).collect(),
        history,
        test: test(config, &results)?,
        ratings,
    })
}

fn external(config: &LeagueConfig, ratings: &Ratings) -> Result<Option<Vec<Estimate>>, CalibrationError> {
    let anchors: Vec<Anchor> = config
        .players
        .iter()
        .zip(&ratings.players)
        .filter_map(|(player, rating)| {
            player.external.map(|external| Anchor { internal: rating.elo.value, external })
        })
        .collect();
    // Anchors that have not played yet all stand at the same place.
    let unplayed = ratings.players.iter().all(|rating| rating.tally.n_games() == 0);
    if anchors.is_empty() || unplayed {
        return Ok(None);
    }
    let calibration = if config.ratings.piecewise {
        Calibration::piecewise(&anchors)?
    } else {
        Calibration::linear(&anchors)?
    };
    Ok(Some(ratings.players.iter().map(|rating| calibration.estimate(rating.elo)).collect()))
}

fn history(
    results: &Results,
    settings: &crate::ratings::RatingConfig,
) -> Result<Vec<(usize, Vec<f64>)>, StandingsError> {
    let n = results.games.len();
    let mut history = Vec::new();
    for k in 1..=HISTORY_POINTS.min(n) {
        let upto = n * k / HISTORY_POINTS.min(n);
        let part = Results {
            players: results.players.clone(),
            games: results.games.iter().take(upto).cloned().collect(),
        };
        let ratings = rate(&part, settings)?;
        history.push((upto, ratings.players.iter().map(|rating| rating.elo.value).collect()));
    }
    Ok(history)
}

/// The mean of something over each player's moves.
fn means(
    config: &LeagueConfig,
    names: &[String],
    games: &[StoredGame],
    of: impl Fn(&StoredMove) -> f64,
) -> Vec<Option<f64>> {
    let index: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(idx, name)| (name.as_str(), idx)).collect();
    let mut sums = vec![(0.0, 0_u64); names.len()];
    for (made, mover) in games.iter().flat_map(|game| moves(config, game)) {
        if let Some((sum, n)) = index.get(mover).and_then(|&idx| sums.get_mut(idx)) {
            *sum += of(made);
            *n += 1;
        }
    }
    sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / n as f64)).collect()
}

/// The moves of a game with the names of those who made them; none if its opening cannot be played.
fn moves<'a>(
    config: &LeagueConfig,
    game: &'a StoredGame,
) -> impl Iterator<Item = (&'a StoredMove, &'a str)> + use<'a> {
    // In every game sides take turns, and a pass is a move; an opening may leave either to begin.
    let movers = begins(config, game).map(|side| match side {
        Side::First => [game.first.as_str(), &game.second],
        Side::Second => [game.second.as_str(), &game.first],
    });
    game.moves.iter().zip(movers.into_iter().flatten().collect::<Vec<_>>().into_iter().cycle())
}

fn broken(config: &LeagueConfig, games: &[StoredGame]) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    for (made, mover) in games.iter().flat_map(|game| moves(config, game)) {
        if let Some(kind) = &made.broken {
            *counts.entry((mover.to_owned(), kind.clone())).or_default() += 1;
        }
    }
    counts
}

/// Who moves first after the opening.
fn begins(config: &LeagueConfig, game: &StoredGame) -> Option<Side> {
    match config.rules() {
        Ok(rules) => game.opening().position::<Position>(rules).ok().map(|position| position.side_to_move()),
        // A game outside the six can only be counted from its start.
        Err(_) if game.start.is_some() => None,
        Err(_) if game.opening.len().is_multiple_of(2) => Some(Side::First),
        Err(_) => Some(Side::Second),
    }
}

type Ends = (BTreeMap<EndKind, u64>, BTreeMap<(String, EndKind), u64>);

fn ends(games: &[StoredGame]) -> Ends {
    let (mut ends, mut faults) = (BTreeMap::new(), BTreeMap::new());
    for game in games {
        *ends.entry(game.end.by).or_default() += 1;
        if let Some((loser, _)) = game.forfeit() {
            *faults.entry((loser.to_owned(), game.end.by)).or_default() += 1;
        }
    }
    (ends, faults)
}

fn forfeits(names: &[String], games: &[StoredGame]) -> Vec<Vec<u64>> {
    let mut table = vec![vec![0; names.len()]; names.len()];
    let index = |name: &str| names.iter().position(|known| known == name);
    for (loser, winner) in games.iter().filter_map(StoredGame::forfeit) {
        let row = index(loser).and_then(|loser| table.get_mut(loser));
        if let Some(n) = row.zip(index(winner)).and_then(|(row, winner)| row.get_mut(winner)) {
            *n += 1;
        }
    }
    table
}

/// Replays the test pair by pair in the order of the schedule, up to its decision.
fn test(config: &LeagueConfig, results: &Results) -> Result<Option<TestHistory>, StandingsError> {
    let Some(section) = &config.sprt else { return Ok(None) };
    let settings = section.config()?;
    let mut pairs = Pentanomial::default();
    let mut state = sprt(&pairs, &settings)?;
    let mut path = Vec::new();
    let mut open: BTreeMap<u64, f64> = BTreeMap::new();
    for game in &results.games {
        let Some(points) = game.points_of(0) else { continue };
        let Some(other) = open.remove(&game.pair) else {
            open.insert(game.pair, points);
            continue;
        };
        pairs.add(points + other);
        state = sprt(&pairs, &settings)?;
        path.push(state.llr);
        if state.decision != SprtDecision::Continue {
            break;
        }
    }
    Ok(Some(TestHistory { state, pairs, path }))
}
