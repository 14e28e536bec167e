//! Players that misbehave, and players that cannot play at all.

use super::{config, games, options, run_in};
use mavis_game::{Outcome, Side};
use mavis_league::wire::EndKind;
use mavis_league::{RunError, RunOptions, Stop};
use std::time::Duration;

#[test]
fn players_that_misbehave_lose_with_a_reason_and_the_league_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'faults'
        game = 'connect4'
        schedule = { kind = 'gauntlet', pairs = 1 }
        limits.time = 0.05
        tolerance = 5.0
        players = [{ player = 'random' }, { player = 'crash:from=3' }, { player = 'panic' }, { player = 'illegal' },
                   { player = 'hang:from=2' }, { player = 'deaf' }]
    ";
    // Longer than a panic takes to print its trace on a busy machine.
    let options = RunOptions { patience: Duration::from_secs(2), ..options() };
    let summary = run_in(folder.path(), &config(text), &options).expect("runs");
    assert_eq!((summary.finished, summary.stop), (10, Stop::Complete));
    let games = games(folder.path());
    let by = |name: &str| {
        games.iter().filter(|game| game.first == name || game.second == name).collect::<Vec<_>>()
    };
    for (name, kind, reason) in [
        ("crash:from=3", EndKind::Failure, "the engine died"),
        ("panic", EndKind::Failure, "panicked"),
        ("illegal", EndKind::Illegal, "illegal move"),
        ("hang:from=2", EndKind::Time, "did not answer"),
        ("deaf", EndKind::Time, "did not answer"),
    ] {
        assert_eq!(by(name).len(), 2);
        for game in by(name) {
            // Random play may win by chance before a late fault, but not in these few plies.
            let winner = if game.first == name { Side::Second } else { Side::First };
            assert_eq!(Outcome::from(game.result), Outcome::Win(winner), "{game:?}");
            assert_eq!(game.end.by, kind, "{game:?}");
            assert!(game.end.reason.contains(reason), "{game:?}");
        }
    }
    assert!(by("hang:from=2").iter().all(|game| game.moves.len() >= 2), "moves before the fault are kept");
    assert!(games.iter().all(|game| game.end.by.is_fault()));
}

#[test]
fn timed_players_do_not_share_cores_unless_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'timed'
        game = 'connect4'
        concurrency = 4
        limits.time = 0.05
        schedule.pairs = 1
        players = [{ player = 'random' }, { player = 'lookahead:1' }]
    ";
    assert!(matches!(
        run_in(folder.path(), &config(text), &options()),
        Err(RunError::Oversubscribed { games: 4, cores_each: 1, cores: 2 })
    ));
    let asked = RunOptions { oversubscribe: true, ..options() };
    assert_eq!(run_in(folder.path(), &config(text), &asked).expect("runs").finished, 2);
}

#[test]
fn a_player_that_cannot_play_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let league = |game: &str, rest: &str| {
        config(&format!(
            "
            name = 'refused'
            game = '{game}'
            schedule.pairs = 1
            adjudication.max_plies = 4
            players = [{{ player = 'random' }}, {{ player = 'chess-only', name = 'picky' }}]
            {rest}
            "
        ))
    };
    let refused = |game: &str, rest: &str, message: &str| {
        let error = run_in(&out, &league(game, rest), &options()).expect_err("cannot begin").to_string();
        assert_eq!(error, message);
        assert!(!out.exists(), "nothing is written");
    };
    refused("othello", "", "player 'picky': faulty does not play othello");
    let judged = |judge: &str| format!("[adjudication.early]\njudge = '{judge}'");
    refused("chess", &judged("random"), "adjudication.early.judge: 'random' gives no value of a position");
    refused("chess", &judged("rendom"), "player 'judge': unknown player 'rendom' (did you mean 'random'?)");
    run_in(&out, &league("chess", ""), &options()).expect("it plays chess");
}
