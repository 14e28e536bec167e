//! Intervals from refits on resampled opening pairs.

use super::davidson::{Cell, Fit, column, fit};
use super::spread::Contrasts;
use crate::numeric::Estimate;
use crate::results::{GameResult, Results};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

/// One opening pair in one pairing: its games' cells.
type Cluster = Vec<(usize, usize, usize)>;

/// Ratings, first-side advantage and superiority from `replicates` refits; `None` when a refit has no maximum.
///
/// Pairs are drawn within each pairing, so every replicate keeps the league's shape.
pub(super) fn run(
    results: &Results,
    prior_sd: f64,
    contrasts: &Contrasts,
    fitted: &Fit,
    replicates: usize,
    seed: u64,
) -> Option<(Vec<Estimate>, Estimate, Vec<Vec<f64>>)> {
    let strata = strata(&results.games);
    let n = results.players.len();
    let layout = fitted.layout;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut elos: Vec<Vec<f64>> = vec![Vec::with_capacity(replicates); n];
    let mut advantages = Vec::with_capacity(replicates);
    let mut wins = vec![vec![0.0; n]; n];
    for _ in 0..replicates {
        let cells = resample(&strata, &mut rng);
        let refit = fit(&cells, layout, prior_sd, Some(&fitted.params))?;
        let ratings = contrasts.elos(&refit.params);
        for i in 0..n {
            elos[i].push(ratings[i]);
            for j in 0..n {
                wins[i][j] += if ratings[i] > ratings[j] { 1.0 } else { 0.0 };
                wins[i][j] += if ratings[i] == ratings[j] { 0.5 } else { 0.0 };
            }
        }
        advantages.push(contrasts.first_advantage(&refit.params));
    }
    let center = contrasts.elos(&fitted.params);
    let intervals = elos.into_iter().zip(center).map(|(sample, value)| percentiles(value, sample)).collect();
    let advantage = percentiles(contrasts.first_advantage(&fitted.params), advantages);
    let total = (replicates as f64).max(1.0);
    wins.iter_mut().flatten().for_each(|share| *share /= total);
    Some((intervals, advantage, wins))
}

fn strata(games: &[GameResult]) -> Vec<Vec<Cluster>> {
    let mut strata: BTreeMap<(usize, usize), BTreeMap<u64, Cluster>> = BTreeMap::new();
    for game in games {
        let pairing = (game.first.min(game.second), game.first.max(game.second));
        let cell = (game.first, game.second, column(game.outcome));
        strata.entry(pairing).or_default().entry(game.pair).or_default().push(cell);
    }
    strata.into_values().map(|pairs| pairs.into_values().collect()).collect()
}

fn resample(strata: &[Vec<Cluster>], rng: &mut Xoshiro256PlusPlus) -> Vec<Cell> {
    let mut table: BTreeMap<(usize, usize), [f64; 3]> = BTreeMap::new();
    for pairs in strata {
        for _ in 0..pairs.len() {
            for &(first, second, column) in &pairs[rng.random_range(0..pairs.len())] {
                table.entry((first, second)).or_default()[column] += 1.0;
            }
        }
    }
    table.into_iter().map(|((first, second), counts)| Cell { first, second, counts }).collect()
}

fn percentiles(value: f64, mut sample: Vec<f64>) -> Estimate {
    if sample.is_empty() {
        return Estimate::symmetric(value, f64::INFINITY);
    }
    sample.sort_by(f64::total_cmp);
    let at = |p: f64| {
        let place = p * (sample.len() - 1) as f64;
        let below = place.floor() as usize;
        let above = (below + 1).min(sample.len() - 1);
        sample[below] + (place - below as f64) * (sample[above] - sample[below])
    };
    Estimate { value, low: at(0.025), high: at(0.975) }
}
