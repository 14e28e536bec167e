//! Whole leagues in a fresh folder: complete, resumed, with players that misbehave.

mod adjudication;
mod broken;
mod durable;
mod faults;
mod openings;
mod pgn;
mod players;
mod settings;

use mavis_league::wire::{LeagueConfig, LeagueStore, StoredGame, results_of};
use mavis_league::{Event, RunError, RunOptions, SprtDecision, Stop, Summary, rate, run};
use players::registry;
use std::path::Path;
use std::time::Duration;

fn config(text: &str) -> LeagueConfig {
    LeagueConfig::from_toml(text).expect("a valid configuration")
}

fn options() -> RunOptions {
    RunOptions { cores: 2, patience: Duration::from_millis(300), ..RunOptions::default() }
}

fn run_in(folder: &Path, config: &LeagueConfig, options: &RunOptions) -> Result<Summary, RunError> {
    run(config, folder, folder, &registry(), options, &mut |_| {})
}

fn games(folder: &Path) -> Vec<StoredGame> {
    let mut games = LeagueStore::read(folder).expect("readable").1;
    games.sort_by_key(|game| game.game);
    games
}

/// Leaves out what no two runs share.
fn timeless(mut games: Vec<StoredGame>) -> Vec<StoredGame> {
    for game in &mut games {
        game.finished = 0;
        game.moves.iter_mut().for_each(|made| made.seconds = 0.0);
    }
    games
}

const FOUR: &str = "
    name = 'four'
    game = 'connect4'
    seed = 11
    openings.random_plies = 2
    schedule.pairs = 6
    [[players]]
    player = 'random'
    [[players]]
    player = 'lookahead:1'
    [[players]]
    player = 'lookahead:2'
    [[players]]
    player = { player = 'mcts', sims = 30 }
    name = 'tree'
";

#[test]
fn a_sequential_test_stops_by_itself_and_stays_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'test'
        game = 'connect4'
        seed = 2
        openings.random_plies = 4
        schedule.pairs = 5000
        sprt = { elo0 = 0.0, elo1 = 100.0 }
        players = [{ player = 'lookahead:2' }, { player = 'random' }]
    ";
    let summary = run_in(folder.path(), &config(text), &options()).expect("runs");
    let Stop::Decided(state) = summary.stop else { panic!("{summary:?}") };
    assert_eq!(state.decision, SprtDecision::AcceptElo1);
    assert!(summary.finished < 200, "{summary:?}");
    let again = run_in(folder.path(), &config(text), &options()).expect("runs");
    assert_eq!((again.played, again.stop), (0, Stop::Decided(state)));
}

#[test]
fn an_adaptive_league_is_the_same_however_often_it_stops() {
    let text = "
        name = 'adaptive'
        game = 'connect4'
        seed = 5
        openings.random_plies = 3
        schedule = { kind = 'adaptive', pairs = 60, round = 8 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }, { player = 'lookahead:3' }]
    ";
    let (whole, broken) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    run_in(whole.path(), &config(text), &options()).expect("runs");
    for stop_after in [7, 20, 41] {
        let options = options();
        let mut seen = 0;
        run(&config(text), broken.path(), broken.path(), &registry(), &options, &mut |event| {
            if let Event::Finished { .. } = event {
                seen += 1;
                if seen == stop_after {
                    options.drain.cancel();
                }
            }
        })
        .expect("runs");
    }
    run_in(broken.path(), &config(text), &options()).expect("runs");
    assert_eq!(timeless(games(broken.path())), timeless(games(whole.path())));
    assert_eq!(games(whole.path()).len(), 120);
    let played = results_of(&config(text).names(), &games(whole.path())).cross_table();
    let (close, far) = (played[2][3].n_games(), played[0][3].n_games());
    assert!(close > far, "games go where they tell more: {close} and {far}");
}

#[test]
fn the_agents_of_paper_004_have_its_ratings() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'lookahead agents'
        game = 'connect4'
        seed = 4
        schedule.pairs = 400
        ratings.zero = { player = 'random', rating = 1000.0 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }, { player = 'lookahead:3' }]
    ";
    run_in(folder.path(), &config(text), &options()).expect("runs");
    let config = config(text);
    let ratings =
        rate(&results_of(&config.names(), &games(folder.path())), &config.ratings.config()).expect("rates");
    for (rating, paper) in ratings.players.iter().zip([1000.0, 1183.0, 1501.0, 1603.0]) {
        assert!((rating.elo.value - paper).abs() < 40.0, "{} {:?}, paper {paper}", rating.name, rating.elo);
    }
}
