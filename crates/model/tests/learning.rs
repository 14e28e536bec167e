//! A small network learns the rules of Connect Four from examples alone, on the CPU.

#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_data::{AnnotatedPosition, Annotations};
use mavis_game::{Game, Position, Rules};
use mavis_model::{
    ModelError,
    mixture::{ExampleSettings, Mixture, MixtureSettings},
    train::{Budget, Event, Keeper, Material, TrainSettings, train},
    validation::Quality,
};
use mavis_net::{Algorithm, TrainState, Trainer, cpu::CpuTrainer, initial_parameters};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{collections::HashSet, sync::Arc};

/// Positions of random games. Values are 1 for a move that wins at once and a half otherwise, which the rules alone can tell.
fn random_positions(n: usize, seed: u64, known: &mut HashSet<u64>) -> Vec<AnnotatedPosition> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut positions = Vec::new();
    let mut position = Position::start(Rules::Connect4);
    while positions.len() < n {
        let legal = position.legal_moves();
        if legal.is_empty() {
            position = Position::start(Rules::Connect4);
            continue;
        }
        if known.insert(position.key()) && rng.random_bool(0.5) {
            let moves: Vec<_> = legal
                .iter()
                .map(|&mv| {
                    let mut next = position.clone();
                    next.play_unchecked(mv);
                    (mv, if next.outcome().and_then(|end| end.winner()).is_some() { 1.0_f32 } else { 0.5 })
                })
                .collect();
            let best = moves.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(mv, _)| mv);
            positions.push(AnnotatedPosition { position: position.clone(), moves, best });
        }
        position.play_unchecked(legal[rng.random_range(0..legal.len())]);
    }
    positions
}

#[derive(Default)]
struct Notes {
    losses: Vec<f32>,
    quality: Option<Quality>,
    stop_after: Option<usize>,
    state: Option<TrainState>,
}

impl Keeper for Notes {
    fn log(&mut self, event: &Event) -> Result<(), ModelError> {
        match event {
            Event::Step(line) => self.losses.push(line.loss),
            Event::Measure(measured) => self.quality = measured.quality.values().next().cloned(),
        }
        Ok(())
    }

    fn checkpoint(&mut self, trainer: &mut dyn Trainer) -> Result<(), ModelError> {
        self.state = Some(trainer.state()?);
        Ok(())
    }

    fn should_stop(&self) -> bool {
        self.stop_after.is_some_and(|most| self.losses.len() >= most)
    }
}

fn settings(steps: u64) -> TrainSettings {
    let mut settings = TrainSettings::default();
    settings.run.budget = Budget::Steps(steps);
    settings.run.log_every = 1;
    settings.batch.examples = 48;
    settings.run.schedule.peak = 3e-3;
    settings.run.schedule.warmup = 30;
    settings.run.optimizer.average_decay = 0.98;
    // Lists of moves only: in runs this short even a few positions that are over keep a network from learning full columns.
    settings.examples = ExampleSettings {
        plain: 1.0,
        tracked: 0.0,
        random_play: 0.0,
        ended: 0.0,
        ..ExampleSettings::default()
    };
    settings
}

fn run(settings: &TrainSettings, state: Option<TrainState>, stop_after: Option<usize>) -> Notes {
    let mut known = HashSet::new();
    let train_set = random_positions(20_000, 1, &mut known);
    run_on(train_set, &mut known, settings, (state, stop_after))
}

/// Trains on a set and measures on unknown positions that have a full column.
fn run_on(
    train_set: Vec<AnnotatedPosition>,
    known: &mut HashSet<u64>,
    settings: &TrainSettings,
    (state, stop_after): (Option<TrainState>, Option<usize>),
) -> Notes {
    let train_set: Arc<dyn Annotations> = Arc::new(train_set);
    let mut held_out = random_positions(4_000, 2, known);
    held_out.retain(|record| record.moves.len() < 7);
    held_out.truncate(500);
    let mixture = Mixture::new(
        vec![(train_set, 1.0)],
        MixtureSettings {
            seed: settings.run.seed,
            batch: settings.batch,
            examples: settings.examples.clone(),
            loss: settings.loss.clone(),
            input: settings.input,
        },
    )
    .unwrap();
    let material = Material {
        mixture,
        validation: vec![("connect4".to_owned(), Arc::new(held_out))],
        puzzles: Vec::new(),
    };
    let config = settings.network().unwrap();
    let state = state.unwrap_or_else(|| TrainState::new(initial_parameters(&config).unwrap()));
    let mut trainer = CpuTrainer::new(config, settings.run.optimizer.clone(), state).unwrap();
    let mut notes = Notes { stop_after, ..Notes::default() };
    train(&mut trainer, &material, settings, &mut notes).unwrap();
    notes
}

#[test]
fn losses_after_a_resume_equal_those_of_an_unbroken_run() {
    let mut settings = settings(8);
    settings.batch.examples = 12;
    let whole = run(&settings, None, None);
    let first = run(&settings, None, Some(3));
    let rest = run(&settings, first.state, None);
    let joined: Vec<f32> = first.losses.iter().chain(&rest.losses).copied().collect();
    assert_eq!(whole.losses, joined);
}

/// The short version of the test below, about 40 seconds of one core: positions that all have a full column teach faster. Always listing all seven columns
/// would give a precision of 0.79 and no whole set, and that is where such a run is for most of its time; 0.83 and 19 % were seen at its end.
#[test]
fn a_short_run_learns_that_full_columns_are_closed() {
    let mut settings = settings(160);
    settings.batch.examples = 24;
    settings.run.optimizer.algorithm = Algorithm::Muon;
    settings.run.optimizer.average_decay = 0.95;
    settings.input = mavis_model::InputAttention::Full;
    settings.run.schedule.peak = 5e-3;
    settings.run.schedule.warmup = 20;
    let mut known = HashSet::new();
    let mut train_set = random_positions(60_000, 1, &mut known);
    train_set.retain(|record| record.moves.len() < 7);
    let notes = run_on(train_set, &mut known, &settings, (None, None));
    let quality = notes.quality.unwrap();
    assert!(quality.recall >= 0.95 && quality.precision >= 0.8, "{quality:?}");
    assert!(quality.whole_sets >= 0.1, "{quality:?}");
}

#[test]
#[ignore = "about two minutes of training"]
fn legal_sets_of_connect_four_are_learned() {
    let mut settings = settings(500);
    settings.run.optimizer.algorithm = Algorithm::Muon;
    settings.input = mavis_model::InputAttention::Full;
    settings.run.schedule.peak = 5e-3;
    let notes = run(&settings, None, None);
    let quality = notes.quality.unwrap();

    assert!(quality.whole_sets >= 0.97, "{quality:?}");
}
