//! A league in a process of its own, killed without warning.

use mavis_league::wire::{LeagueConfig, LeagueStore};
use mavis_league::{RunOptions, run};
use mavis_play::Registry;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Tells the child where to play.
const FOLDER: &str = "MAVIS_TEST_LEAGUE_FOLDER";

fn config() -> LeagueConfig {
    LeagueConfig::from_toml(
        "
        name = 'six players'
        game = 'connect4'
        seed = 21
        concurrency = 3
        openings.random_plies = 2
        schedule.pairs = 4
        players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }, { player = 'lookahead:3' },
                   { player = 'mcts:sims=200' }, { player = 'mcts:sims=400' }]
    ",
    )
    .expect("valid")
}

#[test]
#[ignore = "the child process of a_killed_league_ends_with_exactly_the_planned_games"]
fn child() {
    if let Ok(folder) = std::env::var(FOLDER) {
        let folder = PathBuf::from(folder);
        let registry = Arc::new(Registry::basic());
        run(&config(), &folder, &folder, &registry, &RunOptions::default(), &mut |_| {}).expect("runs");
    }
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "kill::child"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts")
}

fn n_lines(folder: &Path) -> usize {
    std::fs::read(folder.join("games.jsonl"))
        .map_or(0, |log| log.iter().filter(|&&byte| byte == b'\n').count())
}

#[test]
fn a_killed_league_ends_with_exactly_the_planned_games() {
    let folder = tempfile::tempdir().expect("a folder");
    // Killed as soon as so many games are seen on disk, in the middle of whatever it does then.
    for target in [3, 17, 40, 66, 90] {
        let mut child = spawn(folder.path());
        while n_lines(folder.path()) < target && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().expect("kills");
        child.wait().expect("is gone");
        let on_disk = LeagueStore::read(folder.path()).expect("readable after a kill").1.len();
        assert!((target..120).contains(&on_disk), "{on_disk} games after {target}");
    }
    assert!(spawn(folder.path()).wait().expect("ends").success());
    let (_, mut games) = LeagueStore::read(folder.path()).expect("readable");
    games.sort_by_key(|game| game.game);
    let numbers: Vec<u64> = games.iter().map(|game| game.game).collect();
    assert_eq!(numbers, (0..120).collect::<Vec<_>>(), "each planned game once");
    let sessions = std::fs::read_to_string(folder.path().join("sessions.jsonl")).expect("sessions");
    assert_eq!(sessions.lines().count(), 6);
}
