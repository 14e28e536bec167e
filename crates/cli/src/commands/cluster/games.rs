//! Games of a league as jobs: files of weights are named by their content.

use super::engines::Engines;
use super::players::{parts_of, renamed};
use super::{model_hash, needs, queue_failure};
use crate::input::OrBadInput;
use mavis_game::Position;
use mavis_league::wire::{LeagueConfig, StoredGame};
use mavis_league::{GameInput, GameJob};
use mavis_queue::cluster::Collector;
use mavis_queue::{Cluster, Finished, Needs, QueueError, Submitter};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where a league's games go.
pub(crate) struct Games {
    jobs: Collector<GameJob>,
    /// Names of files in jobs, by those in the league.
    names: BTreeMap<String, String>,
    /// What the jobs of the last configuration have in common.
    common: Option<Common>,
}

/// What jobs have in common, made from what the league has.
struct Common {
    league: Arc<str>,
    config: Arc<str>,
    players: Arc<BTreeMap<String, String>>,
}

impl Games {
    /// Finds out what the players of a league need.
    pub(crate) fn of(cluster: &Cluster, config: &LeagueConfig) -> anyhow::Result<Self> {
        let parts = parts_of(config).or_bad_input()?;
        let engines = Engines::on_path(parts.engines)?;
        let name = |file: String| Ok((file.clone(), model_hash(Path::new(&file))?));
        let names: Result<BTreeMap<String, String>, crate::input::BadInput> =
            parts.models.into_iter().map(name).collect();
        let names = names?;
        let needs = Needs {
            game: Some(config.game.clone()),
            engines: engines.versions(),
            models: names.values().cloned().collect(),
            ..needs()
        };
        let jobs = Collector::new(&cluster.with_needs(needs)).map_err(queue_failure)?;
        Ok(Self { jobs, names, common: None })
    }

    /// Configuration and players as jobs have them.
    fn common(&mut self, input: &GameInput) -> Result<&Common, String> {
        let common = match self.common.take() {
            Some(common) if common.league == input.config => common,
            _ => self.make_common(input)?,
        };
        Ok(self.common.insert(common))
    }

    fn make_common(&self, input: &GameInput) -> Result<Common, String> {
        let words = |error: &dyn std::fmt::Display| error.to_string();
        let mut league =
            LeagueConfig::from_toml_for::<Position>(&input.config).map_err(|error| words(&error))?;
        // A player without a name is called as its line reads, which must not change with the names of files.
        for (name, player) in league.names().into_iter().zip(&mut league.players) {
            player.name = Some(name);
        }
        let rename = |file: &str| {
            self.names
                .get(file)
                .cloned()
                .ok_or_else(|| format!("'{file}' was not there when the league began"))
        };
        let config = renamed(&league, rename)?;
        // Players with files of their own are the same by the files' content, whatever they call themselves.
        let mut players = (*input.players).clone();
        for (ours, theirs) in league.players.iter().zip(&config.players) {
            if ours.player != theirs.player {
                players.remove(ours.name());
            }
        }
        let config = config.to_toml().map_err(|error| words(&error))?.into();
        Ok(Common { league: Arc::clone(&input.config), config, players: Arc::new(players) })
    }
}

impl Submitter<GameJob> for Games {
    fn submit(&mut self, number: u64, input: &GameInput) -> Result<(), QueueError> {
        let Common { config, players, .. } = self.common(input).map_err(QueueError::Settings)?;
        let (config, players) = (Arc::clone(config), Arc::clone(players));
        self.jobs.submit(number, &GameInput { config, players, ..input.clone() })
    }

    fn wait(&mut self, at_most: Duration) -> Result<Vec<Finished<StoredGame>>, QueueError> {
        self.jobs.wait(at_most)
    }

    fn withdraw(&mut self) -> Result<(), QueueError> {
        self.jobs.withdraw()
    }
}
