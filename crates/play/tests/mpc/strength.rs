//! A perfect evaluator never throws anything away; a weak one becomes a stronger player.

use super::build;
use mavis_game::{Game as _, Outcome, Position, Rules, Side};
use mavis_oracle::{Oracle as _, Score, connect4::Connect4Solver};
use mavis_play::{Player, Referee};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A position after random moves that is not over.
fn opening(rules: Rules, plies: u32, seed: u64) -> Position {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    loop {
        let mut position = Position::start(rules);
        for _ in 0..plies {
            if let Some(mv) = position.random_move(random.random()) {
                position.play_unchecked(mv);
            }
        }
        if position.outcome().is_none() {
            return position;
        }
    }
}

#[test]
fn with_a_perfect_evaluator_no_won_or_drawn_position_is_lost() {
    let mut solver = Connect4Solver::default();
    let mut mpc = build("mpc:evaluator=oracle,threads=1");
    let (mut n_won, mut n_drawn) = (0, 0);
    for seed in 0..60 {
        let start = opening(Rules::Connect4, 14, seed);
        let side = start.side_to_move();
        let Score::Solved(score) = solver.evaluate(&start).unwrap().moves[0].score else { panic!("solved") };
        // A perfect opponent, a search and a careless one.
        for opponent in ["oracle", "mcts:sims=200", "random"] {
            let mut other = build(opponent);
            other.reseed(seed);
            let mut players: [&mut dyn Player; 2] = [&mut *mpc, &mut *other];
            if side == Side::Second {
                players.reverse();
            }
            let outcome = Referee::default().play(&start, players).verdict.unwrap().outcome;
            match score.signum() {
                1 => assert_eq!(outcome, Outcome::Win(side), "won, against {opponent}: {start}"),
                0 => assert_ne!(outcome, Outcome::Win(side.other()), "drawn, against {opponent}: {start}"),
                _ => {}
            }
        }
        n_won += u32::from(score > 0);
        n_drawn += u32::from(score == 0);
    }
    assert!(n_won >= 10 && n_drawn >= 3, "{n_won} won and {n_drawn} drawn positions of 60");
}

/// Points of the first spec against the second, in pairs of games from random openings.
fn score(rules: Rules, plies: u32, specs: [&str; 2], n_games: u64) -> f64 {
    let mut players = specs.map(build);
    let mut points = 0.0;
    for game in 0..n_games {
        let start = opening(rules, plies, game / 2);
        players[0].reseed(2 * game);
        players[1].reseed(2 * game + 1);
        let [one, other] = &mut players;
        let own = if game.is_multiple_of(2) { Side::First } else { Side::Second };
        let pair: [&mut dyn Player; 2] =
            if own == Side::First { [&mut **one, &mut **other] } else { [&mut **other, &mut **one] };
        points += match Referee::default().play(&start, pair).verdict.unwrap().outcome {
            Outcome::Win(side) if side == own => 1.0,
            Outcome::Draw => 0.5,
            Outcome::Win(_) => 0.0,
        };
    }
    points / n_games as f64
}

#[test]
fn a_weak_evaluator_is_beaten_in_connect_four() {
    let score = score(Rules::Connect4, 4, ["mpc:evaluator={mcts:sims=30},threads=2", "mcts:sims=30"], 400);
    assert!(score >= 0.6, "{score}");
}

#[test]
fn a_weak_evaluator_is_beaten_in_othello() {
    let score = score(Rules::Othello, 8, ["mpc:evaluator={mcts:sims=25},threads=2", "mcts:sims=25"], 400);
    assert!(score >= 0.6, "{score}");
}
