//! A game as a job, here or on another machine.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::task::Task;
use super::worker::Pool;
use super::{GameQueue, RunError, RunOptions, ready};
use crate::openings::{Opening, Openings};
use crate::pairing::GamePlan;
use crate::wire::{GameInputWire, LeagueConfig, OpeningsConfig, RatingsConfig, StoredGame};
use mavis_game::FromRules;
use mavis_play::Registry;
use mavis_queue::{Beat, JobKind, Runner, read_json, write_json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of job: who plays whom from where, and the finished game. Single games, not pairs: the two games of a pair do not
/// depend on each other, and a league that nears its end keeps more workers busy.
pub enum GameJob {}

/// A game to play.
#[derive(Clone, Debug)]
pub struct GameInput {
    /// What of the league's configuration decides a game, as TOML.
    pub config: Arc<str>,
    /// What every player must call itself, engine versions included.
    pub players: Arc<BTreeMap<String, String>>,
    /// Which game.
    pub plan: GamePlan,
    /// Where it starts.
    pub opening: Opening,
}

impl JobKind for GameJob {
    const NAME: &'static str = "game";
    type Input = GameInput;
    type Output = StoredGame;

    fn write_input(input: &GameInput) -> Vec<u8> {
        write_json(&GameInputWire::from(input))
    }

    fn read_input(bytes: &[u8]) -> Result<GameInput, String> {
        Ok(read_json::<GameInputWire>(bytes)?.into())
    }

    fn write_output(output: &StoredGame) -> Vec<u8> {
        write_json(output)
    }

    fn read_output(bytes: &[u8]) -> Result<StoredGame, String> {
        read_json(bytes)
    }
}

/// The part of a configuration that decides a game: not who else plays how often, nor how results are rated.
pub(super) fn config_of_games(config: &LeagueConfig) -> Result<Arc<str>, RunError> {
    let mut config = config.clone();
    config.concurrency = None;
    config.openings = OpeningsConfig::default();
    config.ratings = RatingsConfig::default();
    config.sprt = None;
    config.schedule.pairs = 1;
    config.schedule.challengers.clear();
    for player in &mut config.players {
        player.external = None;
    }
    Ok(config.to_toml()?.into())
}

/// Plays one game after the other; players are kept as long as games are of the same league.
pub struct GameRunner<G: FromRules> {
    registry: Arc<Registry<G>>,
    options: RunOptions<G>,
    /// Turns a configuration into that of this machine.
    prepare: Prepare,
    league: Option<Begun<G>>,
}

/// The configuration with the names of this machine, or why it must not be run here.
type Prepare = Box<dyn Fn(&LeagueConfig) -> Result<LeagueConfig, String> + Send>;

/// A league whose games are being played.
struct Begun<G: FromRules> {
    config: Arc<str>,
    task: Arc<Task<G>>,
    pool: Pool<G>,
}

impl<G: FromRules> GameRunner<G> {
    /// A runner with the players of a registry; `prepare` gets every configuration before a player is built from it, to refuse it
    /// or to name what it means on this machine.
    pub fn new(
        registry: Arc<Registry<G>>,
        options: RunOptions<G>,
        prepare: impl Fn(&LeagueConfig) -> Result<LeagueConfig, String> + Send + 'static,
    ) -> Self {
        Self { registry, options, prepare: Box::new(prepare), league: None }
    }

    fn begin(&self, input: &GameInput) -> Result<Begun<G>, String> {
        let config = LeagueConfig::from_toml_for::<G>(&input.config).map_err(|error| error.to_string())?;
        let config = (self.prepare)(&config)?;
        let words = |error: RunError| error.to_string();
        let rules = config.rules_for::<G>().map_err(|error| error.to_string())?;
        // Openings come with the games.
        let openings = Openings::new(rules, config.seed, None, true, 0);
        let judges = self.options.judges.clone();
        let task = Task::new(&config, openings, judges, Arc::clone(&self.registry)).map_err(words)?;
        let mut built = Vec::new();
        for player in [input.plan.first, input.plan.second] {
            let name = task.names.get(player).ok_or_else(|| format!("no player number {player}"))?;
            let ready = ready(&task, name, task.build(player)).map_err(words)?;
            let here = ready.name();
            built.push((player, ready));
            if let Some(wanted) = input.players.get(name).filter(|wanted| **wanted != here) {
                return Err(format!("player '{name}' is '{here}' here, and the league has '{wanted}'"));
            }
        }
        let task = Arc::new(task);
        let pool = Pool::start(1, &task, built).map_err(|error| error.to_string())?;
        Ok(Begun { config: Arc::clone(&input.config), task, pool })
    }
}

impl<G: FromRules> Runner<GameJob> for GameRunner<G> {
    fn run(&mut self, input: GameInput, beat: &Beat) -> Result<StoredGame, String> {
        let mut league = match self.league.take() {
            Some(league) if league.config == input.config => league,
            _ => self.begin(&input)?,
        };
        let n_players = league.task.names.len();
        if input.plan.first >= n_players || input.plan.second >= n_players {
            return Err(format!("the league has {n_players} players"));
        }
        let words = |error: RunError| error.to_string();
        league.pool.play(input.plan, input.opening).map_err(words)?;
        loop {
            beat.progress();
            if let Some(game) = GameQueue::wait(&mut league.pool, &self.options).map_err(words)?.pop() {
                self.league = Some(league);
                return Ok(game);
            }
            if let Some(broken) = GameQueue::<G>::failure(&league.pool) {
                return Err(words(broken.into()));
            }
            if GameQueue::<G>::is_idle(&league.pool) {
                return Err("the game was abandoned".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::{Position, Rules};
    use mavis_play::{Choice, Kind, Player, PlayerError, Turn};

    struct Broken;

    impl Player for Broken {
        fn name(&self) -> String {
            "broken".to_owned()
        }

        fn choose(&mut self, _: &mut Turn<'_>) -> Result<Choice, PlayerError> {
            Err(PlayerError::Broken("no device".to_owned()))
        }
    }

    #[test]
    fn a_network_that_fails_fails_the_job() {
        let mut registry = Registry::<Position>::basic();
        registry.add(Kind {
            name: "broken",
            help: "a network that fails",
            keys: Vec::new(),
            open: false,
            build: Box::new(|_, _| Ok(Box::new(Broken))),
        });
        let text = "name = 'jobs'\ngame = 'connect4'\nschedule.pairs = 1\n\
                    players = [{ player = 'random' }, { player = 'broken' }, { player = 'lookahead:1' }]";
        let config = LeagueConfig::from_toml(text).expect("a configuration");
        let openings = Openings::<Position>::new(Rules::Connect4, 0, None, true, 0);
        let input = |second| GameInput {
            config: config_of_games(&config).expect("text"),
            players: Arc::default(),
            plan: GamePlan { game: 0, pair: 0, first: 0, second },
            opening: openings.opening(0).expect("no book"),
        };
        let mut runner =
            GameRunner::new(Arc::new(registry), RunOptions::default(), |config| Ok(config.clone()));
        let reason = runner.run(input(1), &Beat::default()).expect_err("no game");
        assert_eq!(reason, "player 'broken': the network failed: no device");
        runner.run(input(2), &Beat::default()).expect("others can still play");
    }
}
