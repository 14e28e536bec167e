//! Self-play of PROBS: moves drawn from the softmax of Q with noise (paper 004, algorithm 2, lines 6 to 17).

use crate::{
    Meter, Planes, ProbsError, ProbsSettings,
    batch::Asker,
    episode::{Episode, end},
};
use mavis_game::Move;
use mavis_search::Random;
use rayon::prelude::*;

/// Games that move together on one thread of a CPU.
pub(crate) const TOGETHER: usize = 64;

/// What a stream of random numbers is for; each purpose has its own.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    SelfPlay = 1,
    FitValue = 2,
    FitAction = 3,
    Agents = 4,
}

/// The stream of one purpose, round and number.
pub(crate) fn random(seed: u64, purpose: Purpose, round: u32, number: u64) -> Random {
    Random::stream(seed, &[purpose as u64, u64::from(round), number])
}

/// How many games or searches should go together: many on a device that wants large batches.
pub(crate) fn together(asker: &Asker<'_>) -> usize {
    asker.batch_hint().max(TOGETHER * 4) / 4
}

/// Plays the games of a round. A game depends on the settings, the round and its number alone.
pub(crate) fn play_games<G: Planes>(
    start: &G,
    settings: &ProbsSettings,
    round: u32,
    q: &Asker<'_>,
    meter: &Meter,
) -> Result<Vec<Episode<G>>, ProbsError> {
    let numbers: Vec<u64> = (0..u64::from(settings.games)).collect();
    let groups: Result<Vec<_>, _> = numbers
        .par_chunks(together(q))
        .map(|numbers| play_group(start, settings, numbers, round, q, meter))
        .collect();
    Ok(groups?.into_iter().flatten().collect())
}

struct Table<G> {
    state: G,
    episode: Episode<G>,
    random: Random,
}

/// The same for games that move together.
pub(crate) fn play_group<G: Planes>(
    start: &G,
    settings: &ProbsSettings,
    numbers: &[u64],
    round: u32,
    q: &Asker<'_>,
    meter: &Meter,
) -> Result<Vec<Episode<G>>, ProbsError> {
    let table = |&number: &u64| Table {
        state: start.clone(),
        episode: Episode::default(),
        random: random(settings.seed, Purpose::SelfPlay, round, number),
    };
    let mut tables: Vec<Table<G>> = numbers.iter().map(table).collect();
    for _ in 0..settings.turns {
        let mut open: Vec<&mut Table<G>> =
            tables.iter_mut().filter(|table| table.episode.outcome.is_none()).collect();
        if open.is_empty() {
            break;
        }
        let states: Vec<&G> = open.iter().map(|table| &table.state).collect();
        let answers = q.ask(&states)?;
        for (index, table) in open.iter_mut().enumerate() {
            let mut moves = answers.moves(index, &table.state);
            softmax(&mut moves, settings.temperature);
            add_noise(&mut moves, settings.epsilon, settings.alpha, &mut table.random);
            let Some(mv) = draw(&moves, &mut table.random) else { continue };
            table.episode.states.push(table.state.clone());
            table.episode.moves.push(mv);
            table.state.play_unchecked(mv);
            table.episode.outcome = end(&table.state);
            meter.add(usize::from(table.episode.outcome.is_some()));
        }
    }
    Ok(tables.into_iter().map(|table| table.episode).collect())
}

/// Turns values into probabilities.
pub(crate) fn softmax(moves: &mut [(Move, f32)], temperature: f32) {
    let best = moves.iter().map(|(_, q)| *q).fold(f32::NEG_INFINITY, f32::max);
    moves.iter_mut().for_each(|(_, q)| *q = ((*q - best) / temperature).exp());
    let total: f32 = moves.iter().map(|(_, p)| *p).sum();
    moves.iter_mut().for_each(|(_, p)| *p /= total);
}

/// Mixes Dirichlet noise into probabilities: `(1 - ε) p + ε η`.
pub(crate) fn add_noise(moves: &mut [(Move, f32)], epsilon: f32, alpha: f32, random: &mut Random) {
    if epsilon == 0.0 {
        return;
    }
    let draws: Vec<f64> = moves.iter().map(|_| random.gamma(f64::from(alpha))).collect();
    // All draws of a very small concentration may be too small for a number; then there is no noise.
    let total: f64 = draws.iter().sum();
    if total > 0.0 {
        for ((_, p), draw) in moves.iter_mut().zip(draws) {
            *p = (1.0 - epsilon) * *p + epsilon * (draw / total) as f32;
        }
    }
}

/// A move drawn in proportion to its weight; `None` without moves.
pub(crate) fn draw(moves: &[(Move, f32)], random: &mut Random) -> Option<Move> {
    let total: f64 = moves.iter().map(|(_, p)| f64::from(*p)).sum();
    let mut left = random.unit() * total;
    let drawn = moves.iter().find(|(_, p)| {
        left -= f64::from(*p);
        left < 0.0
    });
    drawn.or(moves.last()).map(|(mv, _)| *mv)
}
