//! The ratings of paper 004's four agents, from games between our own.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Position, Rules};
use mavis_league::{DrawModel, GameResult, RatingConfig, Results, Zero, rate};
use mavis_play::{Lookahead, Player, RandomPlayer, Referee};
use mavis_probs::AGENTS;
use rayon::prelude::*;

/// Games of each pairing with each color.
const N_GAMES: u64 = 1000;

fn agent(plies: usize, seed: u64) -> Box<dyn Player> {
    match Lookahead::new(plies as u32, seed) {
        Some(agent) => Box::new(agent),
        None => Box::new(RandomPlayer::new(seed)),
    }
}

/// The paper found 1000, 1183, 1501 and 1603 for random play and full scans of one, two and three plies in Connect Four; an
/// audit of ours 1000, 1168, 1492 and 1590; these 12,000 games give 1000, 1188, 1515 and 1617 in under a second.
#[test]
fn the_agents_are_as_strong_as_those_of_the_paper() {
    let pairings: Vec<(usize, usize)> =
        (0..AGENTS.len()).flat_map(|one| (0..AGENTS.len()).map(move |two| (one, two))).collect();
    let games = pairings
        .into_par_iter()
        .filter(|(first, second)| first != second)
        .flat_map(|(first, second)| (0..N_GAMES).into_par_iter().map(move |number| (first, second, number)))
        .map(|(first, second, number)| {
            let place = (first * AGENTS.len() + second) as u64;
            let seed = 2 * (place * N_GAMES + number);
            let (mut one, mut two) = (agent(first, seed), agent(second, seed + 1));
            let record = Referee::default().play(&Position::start(Rules::Connect4), [&mut *one, &mut *two]);
            // No opening is shared, so every game is a pair of its own.
            GameResult { first, second, outcome: record.verdict.unwrap().outcome, pair: seed }
        })
        .collect();
    let results = Results { players: AGENTS.iter().map(|(name, _)| (*name).to_owned()).collect(), games };
    let zero = Zero::Player { name: AGENTS[0].0.to_owned(), rating: AGENTS[0].1 };
    let config = RatingConfig { zero, draws: DrawModel::HalfWin, ..RatingConfig::default() };
    let ratings = rate(&results, &config).unwrap();
    for (player, (name, anchor)) in ratings.players.iter().zip(AGENTS) {
        println!(
            "{name}: {:.0} ({:.0} to {:.0}), paper {anchor}",
            player.elo.value, player.elo.low, player.elo.high
        );
    }
    for (player, (name, anchor)) in ratings.players.iter().zip(AGENTS) {
        let found = player.elo.value;
        assert!((found - anchor).abs() < 40.0, "{name}: {found:.0}, paper {anchor}");
    }
}
