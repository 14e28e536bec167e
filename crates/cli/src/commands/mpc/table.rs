//! The table of paper 003, from the games on disk.

use mavis_league::numeric::{Estimate, mean_estimate, wilson_share};
use mavis_league::wire::{LeagueConfig, StoredGame, results_of};
use mavis_league::{Results, Tally};
use mavis_play::Steps;
use serde::Serialize;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// One match: the standard and the fortified player against one opponent.
pub(super) struct Match {
    pub(super) steps: Steps,
    pub(super) against: Against,
    pub(super) league: LeagueConfig,
}

impl Match {
    /// The folder it lives in.
    pub(super) fn folder(&self) -> String {
        format!("{}-{}", self.steps, self.against)
    }
}

/// How the true opponent replies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Against {
    /// As predicted.
    Deterministic,
    /// As an independent player does.
    Stochastic,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deterministic => "deterministic",
            Self::Stochastic => "stochastic",
        })
    }
}

impl FromStr for Against {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "deterministic" => Ok(Self::Deterministic),
            "stochastic" => Ok(Self::Stochastic),
            other => Err(format!("an opponent is deterministic or stochastic, not '{other}'")),
        }
    }
}

/// All matches so far.
pub(super) struct Cells {
    name: String,
    /// By steps, opponent and whether fortified.
    cells: BTreeMap<(Steps, Against, bool), Cell>,
}

struct Cell {
    tally: Tally,
    /// Of the games won, those that the opponent lost by a fault: a crash, an illegal move, time.
    won_by_fault: usize,
    /// Of the games lost, those lost by a fault.
    lost_by_fault: usize,
    /// Points per game.
    share: Option<Estimate>,
}

impl Cells {
    pub(super) fn new(name: String) -> Self {
        Self { name, cells: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, one: &Match, games: &[StoredGame]) {
        let names = one.league.names();
        let results = results_of(&names, games);
        let forfeits = |loser: usize, winner: usize| {
            let between = (names[loser].as_str(), names[winner].as_str());
            games.iter().filter(|game| game.forfeit() == Some(between)).count()
        };
        for (player, fortified) in [(0, false), (1, true)] {
            let tally = results.cross_table()[player][2];
            let cell = Cell {
                tally,
                won_by_fault: forfeits(2, player),
                lost_by_fault: forfeits(player, 2),
                share: share(&results, player, &tally),
            };
            self.cells.insert((one.steps, one.against, fortified), cell);
        }
    }

    /// A Markdown table: points, games, and the share of points with its 95 % interval.
    pub(super) fn text(&self) -> String {
        let columns = [Against::Deterministic, Against::Stochastic]
            .into_iter()
            .flat_map(|against| [(against, false), (against, true)]);
        let columns: Vec<_> =
            columns.filter(|&(a, f)| self.cells.keys().any(|&(_, b, g)| (a, f) == (b, g))).collect();
        let mut text = format!("{}\n\n| steps |", self.name);
        for (against, fortified) in &columns {
            text.push_str(&format!(" {against}, {} |", word(*fortified)));
        }
        text.push_str(&format!("\n|---|{}\n", "---|".repeat(columns.len())));
        for steps in [Steps::Half, Steps::One, Steps::Two] {
            let row: Vec<_> = columns.iter().map(|&(a, f)| self.cells.get(&(steps, a, f))).collect();
            if row.iter().all(Option::is_none) {
                continue;
            }
            text.push_str(&format!("| {steps} |"));
            for cell in row {
                text.push_str(&format!(" {} |", cell.map_or_else(|| "-".to_owned(), Cell::to_string)));
            }
            text.push('\n');
        }
        let n_faults = self.n_faults();
        if n_faults > 0 {
            text.push_str(&format!("\n{n_faults} games ended by a fault of a player.\n"));
        }
        text
    }

    /// Games that ended by a fault of a player rather than by play.
    fn n_faults(&self) -> usize {
        self.cells.values().map(|cell| cell.won_by_fault + cell.lost_by_fault).sum()
    }

    pub(super) fn json(&self) -> TableJson<'_> {
        let cells = self.cells.iter().map(|(&(steps, against, fortified), cell)| CellJson {
            steps: steps.to_string(),
            against: against.to_string(),
            fortified,
            wins: cell.tally.wins,
            draws: cell.tally.draws,
            losses: cell.tally.losses,
            won_by_fault: cell.won_by_fault,
            lost_by_fault: cell.lost_by_fault,
            share: cell.share.map(|share| [share.value, share.low, share.high]),
        });
        TableJson { name: &self.name, faults: self.n_faults(), cells: cells.collect() }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, n_games) = (self.tally.points(), self.tally.n_games());
        let Some(share) = self.share else { return f.write_str("-") };
        let [value, low, high] = [share.value, share.low, share.high].map(|part| 100.0 * part);
        write!(f, "{points}-{} of {n_games}: {value:.1} % ({low:.1} to {high:.1})", n_games as f64 - points)?;
        match (self.won_by_fault, self.lost_by_fault) {
            (0, 0) => Ok(()),
            (won, lost) => write!(f, ", by fault {won}-{lost}"),
        }
    }
}

fn word(fortified: bool) -> &'static str {
    if fortified { "fortified" } else { "standard" }
}

/// Points per game with an interval over opening pairs, whose two games are not independent.
///
/// Where all pairs ended alike their spread says nothing, and Wilson's interval over pairs is taken.
fn share(results: &Results, player: usize, tally: &Tally) -> Option<Estimate> {
    let mut pairs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for game in results.games.iter().filter(|game| game.points_of(2).is_some()) {
        if let Some(points) = game.points_of(player) {
            pairs.entry(game.pair).or_default().push(points);
        }
    }
    let means: Vec<f64> =
        pairs.values().map(|points| points.iter().sum::<f64>() / points.len() as f64).collect();
    let spread = mean_estimate(&means)?;
    let n_pairs = means.len() as u64;
    let value = tally.share()?;
    if spread.margin() > 0.0 && spread.margin().is_finite() {
        return Some(Estimate { value, ..spread.within(0.0..=1.0) });
    }
    wilson_share(value, n_pairs)
}

/// The table for machines.
#[derive(Serialize)]
pub(super) struct TableJson<'a> {
    name: &'a str,
    faults: usize,
    cells: Vec<CellJson>,
}

#[derive(Serialize)]
struct CellJson {
    steps: String,
    against: String,
    fortified: bool,
    wins: u64,
    draws: u64,
    losses: u64,
    /// Of the games won and lost, those that ended by a fault of a player.
    won_by_fault: usize,
    lost_by_fault: usize,
    /// Points per game, and the ends of its 95 % interval.
    share: Option<[f64; 3]>,
}
