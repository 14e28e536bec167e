//! Real engines in child processes: Stockfish at several strengths, and programs that misbehave.

use mavis_league::wire::{EndKind, LeagueConfig, LeagueStore, StoredGame};
use mavis_league::{Intervals, RunOptions, SprtDecision, Standings, Stop, report, run, standings};
use mavis_play::{Registry, add_engines};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn registry() -> Arc<Registry> {
    let mut registry = Registry::basic();
    add_engines(&mut registry, Some(mavis_testkit::engine_path()));
    Arc::new(registry)
}

fn play(folder: &Path, text: &str) -> (Vec<StoredGame>, Standings) {
    let config = LeagueConfig::from_toml(text).expect("valid");
    let options = RunOptions { patience: Duration::from_secs(1), ..RunOptions::default() };
    let summary = run(&config, folder, folder, &registry(), &options, &mut |_| {}).expect("runs");
    assert_eq!(summary.stop, Stop::Complete);
    let (_, games) = LeagueStore::read(folder).expect("readable");
    assert_eq!(games.len() as u64, summary.planned, "no game is lost");
    let standings = standings(&config, &games, Intervals::Sandwich).expect("rates");
    (games, standings)
}

/// Plays until the first level of Stockfish is proven stronger than the second.
fn check_order(stronger: u32, weaker: u32) {
    let folder = tempfile::tempdir().expect("a folder");
    // Levels draw among moves with the clock as seed, so no two runs are alike; a decision is wrong once in a thousand times.
    let text = format!(
        "
        name = 'skill'
        game = 'chess'
        openings.book = 'table4'
        schedule.pairs = 600
        limits.nodes = 2000
        adjudication = {{ resign = {{ moves = 2, centipawns = 400 }}, max_plies = 120 }}
        sprt = {{ elo0 = 0.0, elo1 = 100.0, alpha = 0.001, beta = 0.001 }}
        players = [{{ player = 'uci:stockfish,skill={stronger}' }}, {{ player = 'uci:stockfish,skill={weaker}' }}]
        "
    );
    let config = LeagueConfig::from_toml(&text).expect("valid");
    let path = folder.path();
    let summary = run(&config, path, path, &registry(), &RunOptions::default(), &mut |_| {}).expect("runs");
    match summary.stop {
        Stop::Decided(test) => assert_eq!(test.decision, SprtDecision::AcceptElo1, "{test:?}"),
        other => panic!("no decision on {stronger} against {weaker}: {other:?}"),
    }
}

#[test]
fn skill_5_of_stockfish_beats_skill_0() {
    check_order(5, 0);
}

#[test]
#[ignore = "some 300 games; at 2,000 nodes these levels are about 80 Elo apart"]
fn skill_10_of_stockfish_beats_skill_5() {
    check_order(10, 5);
}

/// An engine as a shell script: greets as UCI asks, and does `on_go` when it should move.
#[cfg(unix)]
fn engine(folder: &Path, name: &str, on_go: &str) {
    let script = format!(
        "while read -r word rest; do
    case \"$word\" in
        uci) echo \"id name {name}\"; echo uciok;;
        isready) echo readyok;;
        go) {on_go};;
        quit) exit 0;;
    esac
done
"
    );
    mavis_testkit::install_script(&folder.join(name), &script);
}

#[cfg(unix)]
#[test]
fn engines_that_misbehave_lose_with_a_reason_and_the_league_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    // A path with spaces is a path.
    let engines = folder.path().join("my engines");
    std::fs::create_dir(&engines).expect("a folder");
    engine(&engines, "crashes", "exit 3");
    engine(&engines, "hangs", "sleep 60");
    engine(&engines, "cheats", "echo 'info depth 1 score cp 900 pv a1a8'; echo 'bestmove a1a8'");
    engine(&engines, "babbles", "echo 'bestmove'; echo 'bestmove e2e9 \u{1F600}'; echo 'mate in minus two'");
    let player = |name: &str| {
        let path = engines.join(name);
        format!(
            "{{ name = '{name}', player = 'uci:{},patience=1000', limits = {{ time = 0.05 }} }}",
            path.display()
        )
    };
    let bad = ["crashes", "hangs", "cheats", "babbles"];
    let text = format!(
        "
        name = 'misbehaving'
        game = 'chess'
        schedule = {{ kind = 'gauntlet', pairs = 1, challengers = ['random'] }}
        adjudication.max_plies = 40
        players = [{{ player = 'random' }}, {}]
        ",
        bad.map(player).join(", ")
    );
    let (games, standings) = play(&folder.path().join("league"), &text);
    for name in bad {
        let own: Vec<&StoredGame> =
            games.iter().filter(|game| game.first == name || game.second == name).collect();
        assert_eq!(own.len(), 2);
        for game in own {
            let winner = if game.first == name { "0-1" } else { "1-0" };
            let result = serde_json::to_value(game.result).expect("text");
            assert_eq!(result, winner, "{name}: {:?}", game.end);
            assert!(game.end.by.is_fault(), "{name}: {:?}", game.end);
            assert!(!game.end.reason.is_empty(), "{name}");
            assert!(name != "hangs" || game.end.by != EndKind::Illegal, "{:?}", game.end);
        }
    }
    let table = report::table(&standings);
    for name in bad {
        assert!(table.contains(&format!("note: {name} lost")), "{name} in {table}");
    }
}
