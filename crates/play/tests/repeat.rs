//! The same seed gives the same game, with the model that ships, in every game.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_game::{Position, Rules};
use mavis_model::MavModel;
use mavis_play::{GameRecord, Referee, Registry, add_models};
use std::path::Path;

pub(super) fn shipped() -> Result<MavModel, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mavis-9m.safetensors");
    MavModel::load(&path).map_err(|error| error.to_string())
}

/// A few plies of two searches that share a model, a cache and its batches, from a fresh registry.
fn game(rules: Rules, spec: &str) -> GameRecord {
    let mut registry = Registry::default();
    add_models(&mut registry, shipped);
    let build = |seed| registry.build(&spec.parse().unwrap(), seed).unwrap();
    let (mut first, mut second) = (build(5), build(6));
    let referee = Referee { max_plies: Some(4), ..Referee::default() };
    referee.play(&Position::start(rules), [&mut *first, &mut *second])
}

/// Moves, values and counts of every move.
fn told(record: &GameRecord) -> Vec<(String, Option<f32>, u64, u64)> {
    let row = |made: &mavis_play::MoveRecord| {
        (made.text.clone(), made.thought.value, made.thought.nodes, made.thought.kept)
    };
    record.moves.iter().map(row).collect()
}

#[test]
fn games_of_the_real_model_repeat_exactly() {
    for rules in Rules::ALL {
        let spec = "mav-mcts:sims=24,batch=16,threads=2";
        let (one, other) = (game(rules, spec), game(rules, spec));
        assert_eq!(one.moves.len(), 4, "{rules}");
        assert_eq!(told(&one), told(&other), "{rules}");
    }
}

/// As many runs as "the same in ten runs" means.
#[test]
#[ignore = "sixty searched games of the real model, minutes of two cores"]
fn ten_runs_of_the_real_model_are_the_same() {
    for rules in Rules::ALL {
        let spec = "mav-mcts:sims=32,batch=16,threads=2";
        let first = told(&game(rules, spec));
        assert_eq!(first.len(), 4, "{rules}");
        for run in 2..=10 {
            assert_eq!(told(&game(rules, spec)), first, "{rules}, run {run}");
        }
    }
}

/// Two games at once share batches with each other: neither may notice.
#[test]
fn a_game_does_not_depend_on_what_shares_its_batches() {
    let alone = told(&game(Rules::Connect4, "mav-mcts:sims=24,batch=16"));
    let mut registry = Registry::default();
    add_models(&mut registry, shipped);
    let shared = std::thread::scope(|scope| {
        let registry = &registry;
        let played: Vec<_> = [Rules::Connect4, Rules::Othello, Rules::Connect4]
            .into_iter()
            .map(|rules| {
                scope.spawn(move || {
                    let spec = "mav-mcts:sims=24,batch=16".parse().unwrap();
                    let mut players = [registry.build(&spec, 5).unwrap(), registry.build(&spec, 6).unwrap()];
                    let [first, second] = &mut players;
                    let referee = Referee { max_plies: Some(4), ..Referee::default() };
                    referee.play(&Position::start(rules), [&mut **first, &mut **second])
                })
            })
            .collect();
        played.into_iter().map(|thread| told(&thread.join().unwrap())).collect::<Vec<_>>()
    });
    assert_eq!(shared[0], alone);
    assert_eq!(shared[2], alone);
}
