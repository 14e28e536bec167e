//! Beam search in a solved game: with a perfect value function its results are the game's own.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use mavis_game::{Connect4, Game as _, Move};
use mavis_oracle::connect4::Connect4Solver;
use mavis_search::{
    Random,
    beam::{Ask, Beam, BeamSettings},
};

/// Exact values of all moves for the side to move: 1, 0 or -1.
fn exact(solver: &mut Connect4Solver, state: Connect4) -> Vec<(Move, f32)> {
    let sign = |score: i32| score.signum() as f32;
    let mut values: Vec<(Move, f32)> =
        solver.score_moves(state).into_iter().map(|(mv, score)| (mv, sign(score))).collect();
    values.sort_by_key(|(mv, _)| *mv);
    values
}

fn value(solver: &mut Connect4Solver, state: Connect4) -> f32 {
    exact(solver, state).into_iter().map(|(_, value)| value).fold(-1.0, f32::max)
}

/// A position with so many stones that nobody has won.
fn position(n_stones: u32, random: &mut Random) -> Connect4 {
    loop {
        let mut state = Connect4::default();
        while state.ply() < n_stones && state.outcome().is_none() {
            state.play_unchecked(state.random_move(random.bits()).unwrap());
        }
        if state.outcome().is_none() {
            return state;
        }
    }
}

#[test]
fn perfect_nets_give_minimax_values() {
    let (mut solver, mut random) = (Connect4Solver::default(), Random::seeded(5));
    for number in 0..24 {
        let root = position(22 + number % 14, &mut random);
        let settings = BeamSettings { expansions: 1 + number * 4, depth: 1 + number % 5 };
        let mut beam = Beam::new(root, &settings);
        let found = loop {
            match beam.ask() {
                Ask::Q(states) => {
                    let answers = states.iter().map(|state| exact(&mut solver, **state)).collect();
                    beam.feed_q(answers);
                }
                Ask::V(states) => {
                    let answers: Vec<f32> = states.iter().map(|state| value(&mut solver, **state)).collect();
                    beam.feed_v(&answers);
                }
                Ask::Done(q_values) => break q_values,
            }
        };
        assert_eq!(found, exact(&mut solver, root), "{root} with {settings:?}");
    }
}
