//! Self-play of the AlphaZero-style learner: a search for every move, which is drawn in proportion to its visits.

use crate::{
    Meter, Planes, ProbsError, ProbsSettings,
    batch::Asker,
    episode::{Episode, end},
    puct::{Tree, priors},
    self_play::{Purpose, add_noise, draw, random, together},
};
use mavis_game::Move;
use mavis_search::Random;
use rayon::prelude::*;

/// Games that one task moves on by a simulation: enough to pay for the task.
const PER_TASK: usize = 16;

/// Plays the games of a round; each state keeps the shares of visits as what to learn.
pub(crate) fn play_games<G: Planes>(
    start: &G,
    settings: &ProbsSettings,
    round: u32,
    (value, policy): (&Asker<'_>, &Asker<'_>),
    meter: &Meter,
) -> Result<Vec<Episode<G>>, ProbsError> {
    let numbers: Vec<u64> = (0..u64::from(settings.games)).collect();
    let groups: Result<Vec<_>, _> = numbers
        .par_chunks(together(policy))
        .map(|numbers| play_group(start, settings, numbers, round, (value, policy), meter))
        .collect();
    Ok(groups?.into_iter().flatten().collect())
}

/// The first of the moves with the largest share.
fn most_visited(shares: &[(Move, f32)]) -> Option<Move> {
    let better = |best: (Move, f32), next: &(Move, f32)| if next.1 > best.1 { *next } else { best };
    let (&first, others) = shares.split_first()?;
    Some(others.iter().fold(first, better).0)
}

struct Table<G> {
    tree: Tree<G>,
    episode: Episode<G>,
    random: Random,
    /// Whether the root has its noise.
    noisy: bool,
}

/// The same for games that move together.
pub(crate) fn play_group<G: Planes>(
    start: &G,
    settings: &ProbsSettings,
    numbers: &[u64],
    round: u32,
    (value, policy): (&Asker<'_>, &Asker<'_>),
    meter: &Meter,
) -> Result<Vec<Episode<G>>, ProbsError> {
    let table = |&number: &u64| Table {
        tree: Tree::new(start.clone(), settings.unvisited),
        episode: Episode::default(),
        random: random(settings.seed, Purpose::SelfPlay, round, number),
        noisy: false,
    };
    let mut tables: Vec<Table<G>> = numbers.iter().map(table).collect();
    let (n_tables, mut n_over) = (tables.len(), 0);
    loop {
        // Every game continues until it needs values. A group of a GPU has hundreds of games and would leave most cores idle on one thread.
        let waiting: Vec<bool> =
            tables.par_iter_mut().with_min_len(PER_TASK).map(|table| table.advance(settings)).collect();
        let mut open: Vec<&mut Table<G>> =
            tables.iter_mut().zip(waiting).filter_map(|(table, waits)| waits.then_some(table)).collect();
        let n_now = n_tables - open.len();
        meter.add(n_now - std::mem::replace(&mut n_over, n_now));
        if open.is_empty() {
            break;
        }
        let leaves: Vec<&G> = open.iter().map(|table| table.tree.leaf()).collect();
        let (values, logits) = (value.ask(&leaves)?, policy.ask(&leaves)?);
        open.par_iter_mut().with_min_len(PER_TASK).enumerate().for_each(|(index, table)| {
            let priors = priors(table.tree.leaf(), logits.row(index));
            table.tree.feed(priors, values.first(index));
        });
    }
    Ok(tables.into_iter().map(|table| table.episode).collect())
}

impl<G: Planes> Table<G> {
    /// Simulates and moves until a leaf needs values; `false` once the game is over.
    fn advance(&mut self, settings: &ProbsSettings) -> bool {
        while self.episode.outcome.is_none() && self.episode.states.len() < settings.turns as usize {
            if self.tree.is_expanded() && !self.noisy {
                let (epsilon, alpha) = (settings.epsilon, settings.alpha);
                self.tree.change_priors(|moves| add_noise(moves, epsilon, alpha, &mut self.random));
                self.noisy = true;
            }
            if self.tree.is_expanded() && self.tree.visits() >= settings.simulations {
                self.play(settings);
            } else if self.tree.select(settings.c_puct).is_some() {
                return true;
            }
        }
        false
    }

    fn play(&mut self, settings: &ProbsSettings) {
        let shares = self.tree.shares();
        let ply = self.episode.states.len() as u32;
        let mv = if ply < settings.random_plies {
            shares.get(self.random.below(shares.len())).map(|(mv, _)| *mv)
        } else if settings.drawn_plies.is_none_or(|plies| ply < plies) {
            draw(&shares, &mut self.random)
        } else {
            most_visited(&shares)
        };
        let Some(mv) = mv else { return };
        self.episode.states.push(self.tree.state().clone());
        self.episode.moves.push(mv);
        self.episode.policies.push(shares);
        self.tree.play(mv);
        self.noisy = false;
        self.episode.outcome = end(self.tree.state());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, ModelConfig, Size, preset};
    use mavis_game::{Game as _, Hex, Rules};
    use mavis_net::{ConvNet, OptimizerSettings, TrainState, Weights, cpu::CpuConvNet};

    fn games(settings: &ProbsSettings) -> Vec<Episode<Hex>> {
        let start = Hex::new(5, false);
        let config = ModelConfig::new(&start, settings).unwrap();
        let net = |config: &mavis_net::ConvNetConfig| -> Box<dyn ConvNet> {
            let state = TrainState::new(config.initial_parameters().unwrap());
            Box::new(CpuConvNet::new(config.clone(), OptimizerSettings::default(), state).unwrap())
        };
        let (value, action) = (net(&config.value), net(&config.action));
        let askers = (&Asker::new(&*value, Weights::Live), &Asker::new(&*action, Weights::Live));
        play_games(&start, settings, 0, askers, &Meter::default()).unwrap()
    }

    /// The share of visits of every move made, beside the largest share of its position.
    fn shares(episode: &Episode<Hex>) -> Vec<(f32, f32)> {
        let made = |(policy, mv): (&Vec<(Move, f32)>, &Move)| {
            let own = policy.iter().find(|(other, _)| other == mv).unwrap().1;
            (own, policy.iter().map(|(_, share)| *share).fold(0.0, f32::max))
        };
        episode.policies.iter().zip(&episode.moves).map(made).collect()
    }

    #[test]
    fn moves_are_drawn_evenly_then_by_visits_then_the_most_visited_is_played() {
        let rules: Rules = "hex:size=5".parse().unwrap();
        let small = preset("small", rules).unwrap();
        let settings = ProbsSettings {
            algorithm: Algorithm::Azero,
            net: Size::S190k,
            games: 24,
            simulations: 10,
            random_plies: 2,
            drawn_plies: Some(4),
            ..small
        };
        let episodes = games(&settings);
        assert!(episodes.iter().all(|episode| episode.outcome.is_some() && episode.states[0].ply() == 0));
        let made: Vec<Vec<(f32, f32)>> = episodes.iter().map(shares).collect();
        for shares in &made {
            assert!(shares[4..].iter().all(|(own, most)| own == most), "{shares:?}");
        }
        // Of 24 first moves out of 25 cells after ten simulations some were never visited, and of the next plies none.
        assert!(made.iter().any(|shares| shares[0].0 == 0.0));
        assert!(made.iter().all(|shares| shares[2..4].iter().all(|(own, _)| *own > 0.0)));
        assert!(made.iter().any(|shares| shares[2..4].iter().any(|(own, most)| own < most)));
    }
}
