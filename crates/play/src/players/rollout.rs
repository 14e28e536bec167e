//! Plain MCTS as a player, the baseline of paper 001.

use crate::{Analysis, Choice, MoveAnalysis, Player, PlayerError, Turn};
use mavis_game::Game;
use mavis_search::{Stop, rollout};
use std::time::{Duration, Instant};

/// Searches with random rollouts.
pub struct RolloutPlayer {
    settings: rollout::RolloutSettings,
    /// The number of simulations asked for; `None` means 1000, or as many as the time allows when time is limited.
    simulations: Option<u32>,
}

impl RolloutPlayer {
    /// A player with a number of simulations per move and an exploration constant, or the defaults.
    #[must_use]
    pub fn new(simulations: Option<u32>, c: Option<f32>, seed: u64) -> Self {
        let mut settings = rollout::RolloutSettings { seed, ..rollout::RolloutSettings::default() };
        settings.c = c.unwrap_or(settings.c);
        Self { settings, simulations }
    }
}

impl<G: Game> Player<G> for RolloutPlayer {
    fn name(&self) -> String {
        match self.simulations {
            Some(simulations) => format!("mcts:sims={simulations}"),
            None => "mcts".to_owned(),
        }
    }

    fn reseed(&mut self, seed: u64) {
        self.settings.seed = seed;
    }

    fn choose(&mut self, turn: &mut Turn<'_, G>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_, G>) -> Result<Analysis, PlayerError> {
        let deadline = turn.limit.deadline(Instant::now(), Duration::from_millis(2));
        let by_nodes = turn.limit.nodes.map(|nodes| u32::try_from(nodes).unwrap_or(u32::MAX));
        let default = if deadline.is_some() || turn.limit.infinite { u32::MAX } else { 1000 };
        self.settings.simulations = self.simulations.into_iter().chain(by_nodes).min().unwrap_or(default);
        // Each move of a game sees other random numbers, and the same game sees them again.
        self.settings.seed = self.settings.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let stop = Stop { deadline, cancel: turn.cancel.clone() };
        let report = rollout::search(turn.position, &self.settings, &stop);
        // The search knows no restriction: the most visited of the allowed moves is taken.
        let mut moves: Vec<MoveAnalysis> = report
            .moves
            .iter()
            .filter(|row| turn.limit.allows(row.mv))
            .map(|row| MoveAnalysis {
                value: (row.visits > 0).then_some(0.5 + 0.5 * row.value),
                visits: Some(row.visits),
                ..MoveAnalysis::plain(row.mv)
            })
            .collect();
        moves.sort_by(|a, b| {
            let first = |row: &MoveAnalysis| Some(row.mv) == report.best;
            first(b)
                .cmp(&first(a))
                .then(b.visits.cmp(&a.visits))
                .then(b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)))
        });
        let analysis = Analysis::of_moves(moves, u64::from(report.simulations))
            .ok_or_else(|| PlayerError::Failed("no legal move".to_owned()))?;
        analysis.report(&turn.limit, turn.sink);
        Ok(analysis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookahead, Referee};
    use mavis_game::{Position, Rules, Side};

    #[test]
    fn search_beats_a_short_scan() {
        let mut wins = 0;
        for seed in 0..10 {
            let mut mcts = RolloutPlayer::new(Some(2000), None, seed);
            let mut scan = Lookahead::new(2, seed).unwrap();
            let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut scan, &mut mcts]);
            wins += u32::from(record.verdict.unwrap().outcome.winner() == Some(Side::Second));
        }
        assert!(wins >= 8, "won {wins} of 10 as second player");
    }
}
