//! What is planned, what is done, and the loop between.

use super::{Event, GameQueue, RunError, RunOptions, Stop};
use crate::pairing::{GamePlan, PairPlan, Schedule};
use crate::results::{GameResult, Results};
use crate::sprt::{Pentanomial, Sprt, SprtConfig, SprtDecision, sprt};
use crate::wire::{LeagueConfig, LeagueStore, StoredGame, results_of};
use mavis_game::FromRules;
use std::collections::{BTreeMap, VecDeque};

/// The state of a run: what is planned, what is done.
pub(super) struct Running {
    pub(super) schedule: Schedule,
    names: Vec<String>,
    planned: Vec<PairPlan>,
    pending: VecDeque<GamePlan>,
    /// Finished games by number.
    done: BTreeMap<u64, GameResult>,
    test: Option<Test>,
}

/// The sequential test on the pairs before the first one that is not complete, so that the decision does not depend on
/// how many games ran at once.
struct Test {
    config: SprtConfig,
    pairs: Pentanomial,
    next_pair: u64,
}

impl Running {
    pub(super) fn new(config: &LeagueConfig, finished: &[StoredGame]) -> Result<Self, RunError> {
        let names = config.names();
        let sprt = config.sprt.as_ref().map(crate::wire::SprtSection::config).transpose()?;
        let mut running = Self {
            schedule: Schedule::new(config),
            names,
            planned: Vec::new(),
            pending: VecDeque::new(),
            done: BTreeMap::new(),
            test: sprt.map(|config| Test { config, pairs: Pentanomial::default(), next_pair: 0 }),
        };
        running.add(finished);
        running.plan();
        running.check(finished)?;
        Ok(running)
    }

    fn add(&mut self, games: &[StoredGame]) {
        for game in games {
            if let [result] = results_of(&self.names, std::slice::from_ref(game)).games[..] {
                self.done.insert(game.game, result);
            }
        }
    }

    /// Plans further pairs as long as those planned are all done.
    fn plan(&mut self) {
        while self.pending.is_empty() && self.planned.iter().rev().all(|pair| self.has(pair)) {
            let from = self.planned.len() as u64;
            let before = self.done.range(..2 * from).map(|(_, result)| *result).collect();
            let results = Results { players: self.names.clone(), games: before };
            let next = self.schedule.next_pairs(from, &results);
            if next.is_empty() {
                return;
            }
            let open =
                next.iter().flat_map(PairPlan::games).filter(|game| !self.done.contains_key(&game.game));
            self.pending.extend(open);
            self.planned.extend(next);
        }
    }

    fn has(&self, pair: &PairPlan) -> bool {
        pair.games().iter().all(|game| self.done.contains_key(&game.game))
    }

    fn check(&self, finished: &[StoredGame]) -> Result<(), RunError> {
        for game in finished {
            let plan = self
                .planned
                .get(game.pair as usize)
                .and_then(|pair| pair.games().into_iter().find(|plan| plan.game == game.game))
                .filter(|plan| {
                    self.names[plan.first] == game.first && self.names[plan.second] == game.second
                });
            if plan.is_none() {
                return Err(RunError::OtherPlan(game.game));
            }
        }
        Ok(())
    }

    /// The state of the sequential test, if there is one.
    fn test(&mut self) -> Result<Option<Sprt>, RunError> {
        let Some(test) = &mut self.test else { return Ok(None) };
        let points = |game: u64| self.done.get(&game).and_then(|result| result.points_of(0));
        // Stop counting at the decision: pairs that were in flight beyond it do not reopen the test.
        loop {
            let state = sprt(&test.pairs, &test.config)?;
            let pair = test.next_pair;
            match (points(2 * pair), points(2 * pair + 1)) {
                (Some(a), Some(b)) if state.decision == SprtDecision::Continue => {
                    test.pairs.add(a + b);
                    test.next_pair += 1;
                }
                _ => return Ok(Some(state)),
            }
        }
    }

    pub(super) fn decided(&mut self) -> Result<Option<Stop>, RunError> {
        if let Some(state) = self.test()?.filter(|state| state.decision != SprtDecision::Continue) {
            return Ok(Some(Stop::Decided(state)));
        }
        Ok((self.done.len() as u64 >= self.schedule.n_games()).then_some(Stop::Complete))
    }

    pub(super) fn play<G: FromRules>(
        &mut self,
        pool: &mut dyn GameQueue<G>,
        store: &mut LeagueStore,
        options: &RunOptions<G>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<Stop, RunError> {
        loop {
            let broken = pool.failure();
            let must_stop = options.cancel.is_cancelled() || broken.is_some();
            let stopping = options.drain.is_cancelled() || must_stop;
            if !stopping {
                self.plan();
                pool.hand_out(&mut self.pending)?;
            }
            if must_stop {
                pool.stop_all()?;
            } else if stopping {
                pool.drain()?;
            }
            if pool.is_idle() {
                return match broken {
                    Some(broken) => Err(broken.into()),
                    None => Ok(if stopping { Stop::Stopped } else { Stop::Complete }),
                };
            }
            let games = pool.wait(options)?;
            // The workers go on while the disk is busy.
            if !stopping && pool.failure().is_none() {
                pool.hand_out(&mut self.pending)?;
            }
            let n_before = store.finished.len();
            store.append(games)?;
            self.add(&store.finished[n_before..]);
            for (k, game) in store.finished.iter().enumerate().skip(n_before) {
                sink(Event::Finished { game, finished: k as u64 + 1, planned: self.schedule.n_games() });
            }
            if store.finished.len() > n_before
                && let Some(state) = self.test()?
            {
                sink(Event::Tested(state));
                if state.decision != SprtDecision::Continue {
                    pool.stop_all()?;
                    return Ok(Stop::Decided(state));
                }
            }
        }
    }
}
