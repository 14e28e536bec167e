//! Leagues that are stopped, killed, changed and damaged.

use super::players::registry;
use super::{FOUR, config, games, options, run_in, timeless};
use mavis_game::Rules;
use mavis_league::wire::{LeagueStore, StoreError};
use mavis_league::{Event, RunError, RunOptions, Stop, run};
use mavis_stable::folder_lock::LockError;
use std::io::Write;

#[test]
fn a_stopped_league_ends_with_exactly_the_planned_games() {
    let (whole, broken) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let summary = run_in(whole.path(), &config(FOUR), &options()).expect("runs");
    assert_eq!((summary.played, summary.planned, summary.stop), (72, 72, Stop::Complete));

    // Stopped at once and drained at several moments, with half a line at the end of the log as a kill leaves it.
    let mut total = 0;
    for stop_after in [5, 3, 11, 1] {
        let options = RunOptions { concurrency: Some(3), ..options() };
        let mut seen = 0;
        let summary = run(&config(FOUR), broken.path(), broken.path(), &registry(), &options, &mut |event| {
            if let Event::Finished { .. } = event {
                seen += 1;
                if seen == stop_after {
                    if stop_after % 2 == 0 { options.cancel.cancel() } else { options.drain.cancel() }
                }
            }
        })
        .expect("runs");
        assert_eq!(summary.stop, Stop::Stopped);
        assert!(summary.played >= stop_after);
        total += summary.played;
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .open(broken.path().join("games.jsonl"))
            .expect("the log is there");
        log.write_all(b"{\"game\":99,\"pair\":4").unwrap();
    }
    let mut dropped = 0;
    let summary = run(&config(FOUR), broken.path(), broken.path(), &registry(), &options(), &mut |event| {
        if let Event::Begin { dropped_bytes, .. } = event {
            dropped = dropped_bytes;
        }
    })
    .expect("runs");
    assert_eq!((summary.played + total, summary.finished, dropped), (72, 72, 19));
    let numbers: Vec<u64> = games(broken.path()).iter().map(|game| game.game).collect();
    assert_eq!(numbers, (0..72).collect::<Vec<_>>());
    // Games do not depend on who else played, in which order or on how many threads.
    assert_eq!(timeless(games(broken.path())), timeless(games(whole.path())));
    // Running a finished league plays nothing.
    assert_eq!(run_in(whole.path(), &config(FOUR), &options()).expect("runs").played, 0);
}

#[test]
fn a_changed_configuration_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let mut changed = config(FOUR);
    changed.seed = 12;
    changed.players[3].player = "mcts:sims=40".to_owned();
    match run_in(folder.path(), &changed, &options()) {
        Err(RunError::Store(error @ StoreError::Changed { .. })) => {
            let text = error.to_string();
            assert!(text.contains("seed: 11 -> 12"), "{text}");
            assert!(text.contains("players.4.player: \"mcts:sims=30\" -> \"mcts:sims=40\""), "{text}");
            assert_eq!(text.lines().count(), 3, "{text}");
        }
        other => panic!("{other:?}"),
    }
    // More pairs, another concurrency and other ratings are the same league.
    let mut extended = config(FOUR);
    extended.schedule.pairs = 7;
    extended.concurrency = Some(1);
    extended.ratings.half_wins = true;
    extended.players[0].external = Some(1000.0);
    let summary = run_in(folder.path(), &extended, &options()).expect("runs");
    assert_eq!((summary.played, summary.finished), (12, 84));
    // Fewer are not.
    match run_in(folder.path(), &config(FOUR), &options()) {
        Err(RunError::Store(StoreError::Changed { differences, .. })) => {
            assert_eq!(differences[0].to_string(), "schedule.pairs: 7 -> 6");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_processes_cannot_run_one_league() {
    let folder = tempfile::tempdir().expect("a folder");
    let _held = LeagueStore::open(folder.path(), &config(FOUR)).expect("free");
    assert!(matches!(
        run_in(folder.path(), &config(FOUR), &options()),
        Err(RunError::Store(StoreError::Lock(LockError::Busy { .. })))
    ));
}

#[test]
fn a_damaged_line_inside_the_log_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let path = folder.path().join("games.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = "{}";
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = LeagueStore::read(folder.path()).expect_err("damaged").to_string();
    assert!(error.contains("games.jsonl line 5"), "{error}");
    lines[4] = lines[3];
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = LeagueStore::read(folder.path()).expect_err("twice").to_string();
    assert!(error.contains("line 5: this game is in the log twice"), "{error}");
    // A number that cannot be counted up.
    for field in ["game", "pair"] {
        let mut game: serde_json::Value = serde_json::from_str(lines[3]).expect("a game");
        game[field] = u64::MAX.into();
        let wild: mavis_league::wire::StoredGame = serde_json::from_value(game.clone()).expect("a game");
        assert!(mavis_league::wire::pgn(&config(FOUR), Rules::Connect4, &wild).is_ok());
        std::fs::write(&path, game.to_string() + "\n\n").unwrap();
        let error = LeagueStore::read(folder.path()).expect_err("out of range").to_string();
        assert!(error.contains("line 1: game or pair 18446744073709551615"), "{error}");
    }
}
