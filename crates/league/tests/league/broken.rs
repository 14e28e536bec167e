//! A network that fails in the middle of a league, as a GPU does: nothing that came of it counts.

use super::{config, games, options, timeless};
use mavis_eval::{Evaluator, Faults, Faulty, Scripted};
use mavis_league::wire::{EndKind, LeagueConfig};
use mavis_league::{RunError, RunOptions, Stop, Summary, run};
use mavis_play::{
    GreedyPlayer, GreedyPlayerSettings, Kind, Player, PlayerError, Registry, SearchPlayer, Turn,
};
use mavis_search::mcts::MctsSettings;
use std::path::Path;
use std::sync::Arc;

/// The basic players, `mav` and `mav-mcts` over one network that breaks after so many requests, and `engine`, which crashes.
fn registry(breaks_after: Option<u64>) -> Arc<Registry> {
    let faults = Faults { breaks_after, ..Faults::default() };
    let network: Arc<dyn Evaluator> = Arc::new(Faulty::new(Scripted::new(1), faults));
    let mut registry = Registry::basic();
    let (for_greedy, for_search) = (Arc::clone(&network), network);
    registry.add(Kind {
        name: "mav",
        help: "the network without search",
        keys: Vec::new(),
        open: false,
        build: Box::new(move |_, seed| {
            let settings = GreedyPlayerSettings::default();
            Ok(Box::new(GreedyPlayer::new("mav".to_owned(), Arc::clone(&for_greedy), settings, seed)))
        }),
    });
    registry.add(Kind {
        name: "mav-mcts",
        help: "MCTS over the network",
        keys: Vec::new(),
        open: false,
        build: Box::new(move |_, seed| {
            let settings = MctsSettings { simulations: 10, batch: 4, seed, ..MctsSettings::default() };
            Ok(Box::new(SearchPlayer::new("mav-mcts".to_owned(), Arc::clone(&for_search), settings, true)))
        }),
    });
    registry.add(Kind {
        name: "engine",
        help: "an engine that crashes",
        keys: Vec::new(),
        open: false,
        build: Box::new(|_, _| Ok(Box::new(Crashing))),
    });
    Arc::new(registry)
}

struct Crashing;

impl Player for Crashing {
    fn name(&self) -> String {
        "engine".to_owned()
    }

    fn choose(&mut self, _: &mut Turn<'_>) -> Result<mavis_play::Choice, PlayerError> {
        Err(PlayerError::Failed("the engine died".to_owned()))
    }
}

fn run_in(
    folder: &Path,
    config: &LeagueConfig,
    breaks_after: Option<u64>,
    options: &RunOptions,
) -> Result<Summary, RunError> {
    run(config, folder, folder, &registry(breaks_after), options, &mut |_| {})
}

const MODELS: &str = "
    name = 'models'
    game = 'connect4'
    seed = 3
    openings.random_plies = 2
    schedule.pairs = 20
    players = [{ player = 'mav' }, { player = 'mav-mcts' }, { player = 'lookahead:1' }, { player = 'engine' }]
";

#[test]
fn a_league_stops_keeps_what_came_before_and_resumes_as_if_nothing_had_been() {
    let (stopped, whole) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let config = config(MODELS);
    let mut before = 0;
    for concurrency in [1, 3] {
        let options = RunOptions { concurrency: Some(concurrency), ..options() };
        let error = run_in(stopped.path(), &config, Some(2000), &options).expect_err("a network broke");
        let RunError::Broken { name, reason } = &error else { panic!("{error}") };
        assert!(["mav", "mav-mcts"].contains(&name.as_str()), "{name}");
        assert_eq!(reason, "broken on purpose");
        assert_eq!(error.to_string(), format!("player '{name}': the network failed: broken on purpose"));
        let kept = games(stopped.path());
        assert!(before < kept.len() && kept.len() < 240, "{before}, then {} of 240", kept.len());
        before = kept.len();
    }
    assert_eq!(run_in(stopped.path(), &config, None, &options()).expect("resumes").stop, Stop::Complete);
    run_in(whole.path(), &config, None, &options()).expect("runs");
    let games = timeless(games(stopped.path()));
    assert_eq!(games, timeless(super::games(whole.path())));
    // A dead engine is another matter: it has lost its games.
    for game in &games {
        let with_engine = game.first == "engine" || game.second == "engine";
        assert_eq!(game.end.by == EndKind::Failure, with_engine, "{game:?}");
    }
}

#[test]
fn a_judge_that_breaks_stops_the_league_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'judged'
        game = 'connect4'
        schedule.pairs = 50
        adjudication.early = { centipawns = 100000, judge = 'mav' }
        players = [{ player = 'random' }, { player = 'lookahead:1' }]
    ";
    let error = run_in(folder.path(), &config(text), Some(200), &options()).expect_err("the judge broke");
    assert!(matches!(&error, RunError::Broken { name, .. } if name == "judge"), "{error}");
    let kept = games(folder.path());
    assert!(!kept.is_empty() && kept.len() < 100, "{}", kept.len());
}
