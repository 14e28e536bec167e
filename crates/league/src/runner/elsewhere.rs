//! Games that are played on other machines.

use super::job::{GameInput, GameJob};
use super::task::Task;
use super::{GameQueue, RunError, RunOptions};
use crate::pairing::GamePlan;
use crate::wire::StoredGame;
use mavis_game::FromRules;
use mavis_queue::{Finished, QueueError, Submitter};
use mavis_stable::time::unix_seconds;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Games that are on the queue at once.
const MOST: usize = 1024;
/// How long to wait for results before a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A queue of many machines as the league sees it.
pub(super) struct Elsewhere<'a, G: FromRules> {
    pub(super) jobs: &'a mut dyn Submitter<GameJob>,
    pub(super) task: Arc<Task<G>>,
    pub(super) config: Arc<str>,
    pub(super) players: Arc<BTreeMap<String, String>>,
    /// Games without a result, with why they were set aside if they were.
    pub(super) open: BTreeMap<u64, Option<String>>,
}

impl<G: FromRules> GameQueue<G> for Elsewhere<'_, G> {
    fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    fn hand_out(&mut self, pending: &mut VecDeque<GamePlan>) -> Result<(), RunError> {
        while self.open.len() < MOST
            && let Some(plan) = pending.pop_front()
        {
            let opening = self.task.openings.opening(plan.pair)?;
            let (config, players) = (Arc::clone(&self.config), Arc::clone(&self.players));
            self.jobs.submit(plan.game, &GameInput { config, players, plan, opening })?;
            self.open.insert(plan.game, None);
        }
        Ok(())
    }

    fn stop_all(&mut self) -> Result<(), RunError> {
        self.open.clear();
        Ok(self.jobs.withdraw()?)
    }

    /// Games in work are not waited for: their results are kept on the queue.
    fn drain(&mut self) -> Result<(), RunError> {
        if self.open.is_empty() { Ok(()) } else { GameQueue::<G>::stop_all(self) }
    }

    fn wait(&mut self, _: &RunOptions<G>) -> Result<Vec<StoredGame>, RunError> {
        let mut games = Vec::new();
        for Finished { number, result } in self.jobs.wait(LOOK)? {
            match result {
                Ok(mut game) if self.open.remove(&number).is_some() => {
                    // One clock for all lines of the log.
                    game.finished = unix_seconds();
                    games.push(game);
                }
                Ok(_) => {}
                Err(reason) => {
                    self.open.entry(number).and_modify(|aside| *aside = Some(reason));
                }
            }
        }
        if let (Some(Some(reason)), true) =
            (self.open.values().next(), self.open.values().all(Option::is_some))
        {
            let (n, reason) = (self.open.len(), reason.clone());
            return Err(QueueError::SetAside { n, kind: "game".to_owned(), reason }.into());
        }
        Ok(games)
    }
}
