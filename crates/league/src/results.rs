//! What ratings are computed from: who played whom, and how it ended.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use mavis_game::{Outcome, Side};

/// The results of a league: names once, games by index.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    /// Names of the players; a game refers to them by index.
    pub players: Vec<String>,
    /// Finished games in any order.
    pub games: Vec<GameResult>,
}

/// One finished game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameResult {
    /// Index of the player who had the first side (White in chess).
    pub first: usize,
    /// Index of the player who had the second side.
    pub second: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// The opening pair it belongs to: games of one pair share an opening and are not independent.
    pub pair: u64,
}

impl GameResult {
    /// The points of the first side: 1, 0.5 or 0.
    #[must_use]
    pub fn first_points(&self) -> f64 {
        match self.outcome {
            Outcome::Win(Side::First) => 1.0,
            Outcome::Draw => 0.5,
            Outcome::Win(Side::Second) => 0.0,
        }
    }

    /// Both players by index with their points, the first side's first.
    #[must_use]
    pub fn points(&self) -> [(usize, f64); 2] {
        [(self.first, self.first_points()), (self.second, 1.0 - self.first_points())]
    }

    /// The points of `player`, if it took part.
    #[must_use]
    pub fn points_of(&self, player: usize) -> Option<f64> {
        if player == self.first {
            Some(self.first_points())
        } else {
            (player == self.second).then(|| 1.0 - self.first_points())
        }
    }
}

/// Wins, draws and losses from one player's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl Tally {
    /// Counts one game by its points.
    pub fn add(&mut self, points: f64) {
        match points {
            1.0 => self.wins += 1,
            0.0 => self.losses += 1,
            _ => self.draws += 1,
        }
    }

    /// The number of games.
    #[must_use]
    pub fn n_games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Points: a draw is half a win.
    #[must_use]
    pub fn points(&self) -> f64 {
        self.wins as f64 + 0.5 * self.draws as f64
    }

    /// Points per game; `None` before the first one.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.n_games() > 0).then(|| self.points() / self.n_games() as f64)
    }
}

impl Results {
    /// Every player's total.
    #[must_use]
    pub fn totals(&self) -> Vec<Tally> {
        let mut totals = vec![Tally::default(); self.players.len()];
        for game in &self.games {
            for (player, points) in game.points() {
                if let Some(total) = totals.get_mut(player) {
                    total.add(points);
                }
            }
        }
        totals
    }

    /// `[row][column]`: the row player's tally against the column player.
    #[must_use]
    pub fn cross_table(&self) -> Vec<Vec<Tally>> {
        let n = self.players.len();
        let mut table = vec![vec![Tally::default(); n]; n];
        for game in &self.games {
            let [(first, _), (second, _)] = game.points();
            for ((player, points), other) in game.points().into_iter().zip([second, first]) {
                if let Some(tally) = table.get_mut(player).and_then(|row| row.get_mut(other)) {
                    tally.add(points);
                }
            }
        }
        table
    }
}
