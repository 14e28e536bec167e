//! Whole runs: they learn, they go on exactly where they were killed, they say what is wrong.
#![allow(clippy::unwrap_used)] // Helpers outside test functions may unwrap too: a panic is the failure.

use mavis_game::Rules;
use mavis_net::Device;
use mavis_probs::{
    Algorithm, Evaluation, ProbsError, ProbsSettings, RunOptions, Size, Summary, preset, read_metrics, train,
    wire::{EvaluationLine, Line},
};
use std::{
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Trains until some round is logged, which may be the middle of it: the checkpoint comes after.
fn run(settings: &ProbsSettings, folder: &Path, until: u32) -> Result<Summary, ProbsError> {
    let stop = AtomicBool::new(false);
    let mut watch = |line: &Line| {
        if matches!(line, Line::Round(round) if round.round >= until) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    train(
        settings,
        folder,
        RunOptions {
            device: Device::Cpu,
            stop: &stop,
            deadline: None,
            watch: &mut watch,
            meter: Arc::default(),
            elsewhere: None,
        },
    )
}

/// A run small enough to repeat.
fn tiny(rules: Rules, algorithm: Algorithm) -> ProbsSettings {
    ProbsSettings {
        algorithm,
        games: 12,
        expansions: 10,
        simulations: 12,
        net: Size::S10k,
        rounds: 4,
        evaluation: Evaluation { every: 2, games: 4, plies: 1 },
        ..preset("small", rules).unwrap()
    }
}

fn evaluations(folder: &Path) -> Vec<EvaluationLine> {
    let evaluation = |line| match line {
        Line::Evaluation(line) => Some(line),
        Line::Round(_) => None,
    };
    read_metrics(&folder.join("metrics.jsonl")).unwrap().into_iter().filter_map(evaluation).collect()
}

/// The metrics without what the clock says.
fn timeless(folder: &Path) -> Vec<Line> {
    let mut lines = read_metrics(&folder.join("metrics.jsonl")).unwrap();
    for line in &mut lines {
        match line {
            Line::Round(round) => {
                for seconds in [
                    &mut round.seconds,
                    &mut round.self_play_seconds,
                    &mut round.value_seconds,
                    &mut round.search_seconds,
                    &mut round.action_seconds,
                ] {
                    *seconds = 0.0;
                }
            }
            Line::Evaluation(line) => line.seconds = 0.0,
        }
    }
    lines
}

#[test]
fn a_stopped_run_goes_on_as_if_it_never_stopped() {
    for algorithm in [Algorithm::Probs, Algorithm::Azero] {
        let settings = tiny(Rules::Connect4, algorithm);
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        run(&settings, whole.path(), u32::MAX).unwrap();
        for until in 1..=4 {
            assert_eq!(run(&settings, parts.path(), until).unwrap().rounds, until);
            // What a run leaves that is killed in the middle of the next round: lines no checkpoint knows of, half a file.
            let mut metrics =
                std::fs::OpenOptions::new().append(true).open(parts.path().join("metrics.jsonl")).unwrap();
            if until < 4 {
                metrics.write_all(b"{\"event\":\"round\",\"rou").unwrap();
                std::fs::write(parts.path().join(".checkpoint.safetensors.partial"), [7; 100]).unwrap();
            }
        }
        assert_eq!(timeless(parts.path()), timeless(whole.path()));
        for name in ["model.safetensors", "best.safetensors"] {
            let [one, two] = [&whole, &parts].map(|folder| std::fs::read(folder.path().join(name)).unwrap());
            assert!(one == two, "{name} of {algorithm:?} differs");
        }
    }
}

#[test]
fn a_run_stopped_before_its_second_rating_has_a_trained_net_as_its_best() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = tiny(Rules::Connect4, Algorithm::Probs);
    settings.evaluation.every = 100;
    let summary = run(&settings, folder.path(), 1).unwrap();
    let rated: Vec<u32> = evaluations(folder.path()).iter().map(|line| line.round).collect();
    assert_eq!((rated, summary.best_elo.is_some()), (vec![0, 1], true));
    let best = std::fs::read(folder.path().join("best.safetensors")).unwrap();
    assert!(String::from_utf8_lossy(&best[..4000]).contains("note.round\":\"1\""), "the round in its header");
}

#[test]
fn every_game_trains_with_both_algorithms() {
    let hex = "hex:size=4".parse().unwrap();
    for rules in [Rules::Togyz, Rules::Othello, hex, Rules::Chess] {
        for algorithm in [Algorithm::Probs, Algorithm::Azero] {
            let settings = ProbsSettings {
                games: 2,
                turns: 30,
                rounds: 1,
                expansions: 4,
                simulations: 4,
                evaluation: Evaluation { every: 1, games: 2, plies: 0 },
                ..tiny(rules, algorithm)
            };
            let folder = tempfile::tempdir().unwrap();
            let summary = run(&settings, folder.path(), u32::MAX).unwrap();
            assert_eq!(summary.rounds, 1, "{rules}");
            assert!(summary.evaluations > 0 && folder.path().join("elo.svg").exists(), "{rules}");
        }
    }
}

#[test]
fn another_run_in_the_folder_is_refused_and_more_rounds_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ProbsSettings { rounds: 1, ..tiny(Rules::Connect4, Algorithm::Probs) };
    run(&settings, folder.path(), u32::MAX).unwrap();
    let other = ProbsSettings { expansions: 11, ..settings.clone() };
    let error = run(&other, folder.path(), u32::MAX).unwrap_err().to_string();
    assert!(error.contains("expansions = 10, not 11"), "{error}");
    assert_eq!(run(&ProbsSettings { rounds: 2, ..settings }, folder.path(), u32::MAX).unwrap().rounds, 2);
}

#[test]
fn a_few_rounds_beat_the_random_player() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ProbsSettings {
        net: Size::S10k,
        rounds: 8,
        games: 100,
        evaluation: Evaluation { every: 6, games: 60, plies: 1 },
        ..preset("small", Rules::Connect4).unwrap()
    };
    run(&settings, folder.path(), u32::MAX).unwrap();
    let rated = evaluations(folder.path());
    let (before, after) = (&rated[0], &rated[rated.len() - 1]);
    assert!(after.low > before.elo && after.low > 1000.0, "{before:?} {after:?}");
}

#[test]
#[ignore = "five minutes on two cores"]
fn five_minutes_pass_the_two_ply_lookahead() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ProbsSettings { rounds: 20, ..preset("small", Rules::Connect4).unwrap() };
    run(&settings, folder.path(), u32::MAX).unwrap();
    let rated = evaluations(folder.path());
    let last = &rated[rated.len() - 1];
    assert!(last.low > 1501.0, "{last:?}");
}

#[test]
fn a_net_of_convolutions_learns_hex_and_is_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let settings = |rules: &str, net| ProbsSettings {
        net,
        rounds: 1,
        random_plies: 1,
        ..tiny(rules.parse().unwrap(), Algorithm::Azero)
    };
    run(&settings("hex:size=4", Size::S190k), &folder.path().join("hex"), 1).unwrap();
    let model = mavis_probs::Model::load(&folder.path().join("hex/model.safetensors")).unwrap();
    assert_eq!(mavis_net::NetworkConfig::layout(&model.config.action).unwrap().tensors().len(), 14);
    for game in ["connect4", "hex:size=4,swap"] {
        let error = run(&settings(game, Size::S190k), &folder.path().join("other"), 1).unwrap_err();
        assert!(error.to_string().contains("net") && error.to_string().contains("190k"), "{error}");
    }
}
