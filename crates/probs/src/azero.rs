//! Self-play of the AlphaZero-style learner: a search for every move, which is drawn in proportion to its visits.

use crate::{
    Meter, Planes, ProbsError, ProbsSettings,
    batch::Asker,
    episode::{Episode, end},
    puct::{Tree, priors},
    self_play::{Purpose, add_noise, draw, random, together},
};
use mavis_search::Random;
use rayon::prelude::*;

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
        tree: Tree::new(start.clone()),
        episode: Episode::default(),
        random: random(settings.seed, Purpose::SelfPlay, round, number),
        noisy: false,
    };
    let mut tables: Vec<Table<G>> = numbers.iter().map(table).collect();
    let (n_tables, mut n_over) = (tables.len(), 0);
    loop {
        // Every game continues until it needs values.
        let waiting: Vec<bool> = tables.iter_mut().map(|table| table.advance(settings)).collect();
        let mut open: Vec<&mut Table<G>> =
            tables.iter_mut().zip(waiting).filter_map(|(table, waits)| waits.then_some(table)).collect();
        let n_now = n_tables - open.len();
        meter.add(n_now - std::mem::replace(&mut n_over, n_now));
        if open.is_empty() {
            break;
        }
        let leaves: Vec<&G> = open.iter().map(|table| table.tree.leaf()).collect();
        let (values, logits) = (value.ask(&leaves)?, policy.ask(&leaves)?);
        for (index, table) in open.iter_mut().enumerate() {
            let priors = priors(table.tree.leaf(), logits.row(index));
            table.tree.feed(priors, values.first(index));
        }
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
                self.play();
            } else if self.tree.select(settings.c_puct).is_some() {
                return true;
            }
        }
        false
    }

    fn play(&mut self) {
        let shares = self.tree.shares();
        let Some(mv) = draw(&shares, &mut self.random) else { return };
        self.episode.states.push(self.tree.state().clone());
        self.episode.moves.push(mv);
        self.episode.policies.push(shares);
        self.tree.play(mv);
        self.noisy = false;
        self.episode.outcome = end(self.tree.state());
    }
}
