//! What the joint answer of a node costs: the state after a move, then its moves and their values.

use crate::{ModelError, decode::MavDecoder};
use mavis_game::{Game, Move, Position};
use mavis_lang::{Commands, Request};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Times of the same positions asked for in three ways, in turn, as medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointCost {
    /// Positions in one batch.
    pub n_positions: usize,
    /// Seconds of a batch whose legal moves are given.
    pub known_seconds: f64,
    /// Seconds of a batch by the model alone: the state is given, the moves are its own.
    pub plain_seconds: f64,
    /// Seconds of a batch of joint answers: the previous state and the move are given.
    pub joint_seconds: f64,
    /// Passes of a batch of joint answers: 2 where every draft of a state was right.
    pub joint_passes: usize,
    /// Joint by plain answers, the median of the rounds.
    pub ratio: f64,
    /// Joint answers by evaluations with given moves, likewise.
    pub ratio_to_known: f64,
}

/// Measures joint answers after moves of one game for about `time`, and plain evaluations of the states after them in turn with
/// them, so that all see the same machine.
///
/// # Errors
/// When the network fails.
pub fn joint_cost(
    decoder: &mut MavDecoder,
    played: &[(Position, Move)],
    time: Duration,
) -> Result<JointCost, ModelError> {
    let positions: Vec<Position> = played.iter().map(after).collect();
    let legal: Vec<Vec<Move>> =
        positions.iter().map(|position| position.legal_moves().into_iter().collect()).collect();
    let known: Vec<(&Position, &[Move])> =
        positions.iter().zip(&legal).map(|(position, moves)| (position, moves.as_slice())).collect();
    let (plain, joint) = (plain_requests(played), joint_requests(played));
    // Once before the clock runs, and to see how many passes it takes.
    let answers = decoder.fan_out(&joint)?;
    let joint_passes = answers.iter().map(|answer| answer.n_passes).max().unwrap_or(0);
    let (mut times, begin) = ([const { Vec::new() }; 3], Instant::now());
    while times[0].len() < 5 || begin.elapsed() < time {
        times[0].push(timed(|| decoder.values_of_known_moves(&known).map(drop))?);
        times[1].push(timed(|| decoder.fan_out(&plain).map(drop))?);
        times[2].push(timed(|| decoder.fan_out(&joint).map(drop))?);
    }
    let [known_times, plain_times, joint_times] = &times;
    let ratios =
        |others: &[f64]| joint_times.iter().zip(others).map(|(joint, other)| joint / other).collect();
    let (ratio, ratio_to_known) = (median_of(ratios(plain_times)), median_of(ratios(known_times)));
    let [known_seconds, plain_seconds, joint_seconds] = times.map(median_of);
    let n_positions = played.len();
    Ok(JointCost {
        n_positions,
        known_seconds,
        plain_seconds,
        joint_seconds,
        joint_passes,
        ratio,
        ratio_to_known,
    })
}

/// Asks for the moves of the states after some moves, which are given.
pub(super) fn plain_requests(played: &[(Position, Move)]) -> Vec<Request> {
    let request = |position: Position| {
        let commands = Commands::top_all(position.rules());
        Request::at(position, commands)
    };
    played.iter().map(after).map(request).collect()
}

/// Asks for the states after some moves and for the moves of these.
pub(super) fn joint_requests(played: &[(Position, Move)]) -> Vec<Request> {
    let request = |(previous, action): &(Position, Move)| {
        let commands = Commands { best: false, ..Commands::tracking(previous.rules()) };
        Request::after(previous.clone(), *action, commands)
    };
    played.iter().map(request).collect()
}

fn after((previous, action): &(Position, Move)) -> Position {
    let mut position = previous.clone();
    position.play_unchecked(*action);
    position
}

fn timed(job: impl FnOnce() -> Result<(), ModelError>) -> Result<f64, ModelError> {
    let begin = Instant::now();
    job()?;
    Ok(begin.elapsed().as_secs_f64())
}

pub(super) fn median_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
