//! A trained network answers alike all at once and token by token, and in fewer bits almost as exactly.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic is the failure a test wants to show, and numbers are wanted"
)]

use mavis_data::{AnnotatedPosition, Annotations};
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{Commands, Request};
use mavis_model::{
    MavModel, Preset,
    decode::{GreedySettings, MavDecoder},
    loader::Batches as _,
    measure::{against_exact, fan_out_against_chain},
    mixture::{BatchSettings, ExampleSettings, Mixture, MixtureSettings},
    pack::PackedBatch,
};
use mavis_net::{
    Algorithm, OptimizerSettings, Precision, StepSettings, TrainState, Trainer, cpu::CpuTrainer,
    initial_parameters,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{collections::HashSet, path::PathBuf, sync::Arc};

const N_STEPS: u64 = 1_000;
const N_KNOWN: usize = 20_000;

/// What a column is worth to begin with; no two are equal, so that there is one best move.
const COLUMNS: [f32; 7] = [0.20, 0.36, 0.52, 0.76, 0.60, 0.44, 0.28];

/// Positions of random games. A move is worth what its column is; one that wins is won.
fn random_positions(n: usize, seed: u64) -> Vec<AnnotatedPosition> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut positions = Vec::new();
    while positions.len() < n {
        let mut position = Position::start(Rules::Connect4);
        for _ in 0..rng.random_range(0..32) {
            let Some(mv) = position.random_move(rng.random()) else { break };
            position.play_unchecked(mv);
        }
        let moves: Vec<(Move, f32)> =
            position.legal_moves().into_iter().map(|mv| (mv, value(&position, mv))).collect();
        let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
        if let Some((best, _)) = best {
            positions.push(AnnotatedPosition { position, moves, best: Some(best) });
        }
    }
    positions
}

fn value(position: &Position, mv: Move) -> f32 {
    let mut next = position.clone();
    next.play_unchecked(mv);
    if next.outcome().and_then(|end| end.winner()).is_some() {
        return 1.0;
    }
    COLUMNS[usize::from(mv.0)]
}

fn train() -> MavModel {
    let set: Arc<dyn Annotations> = Arc::new(random_positions(N_KNOWN, 1));
    let settings = MixtureSettings {
        seed: 3,
        batch: BatchSettings { examples: 48, ..BatchSettings::default() },
        examples: ExampleSettings {
            plain: 0.3,
            tracked: 0.0,
            random_play: 0.0,
            star: 0.1,
            tracking: 0.0,
            ..ExampleSettings::default()
        },
        ..MixtureSettings::default()
    };
    let mixture = Mixture::new(vec![(set, 1.0)], settings).unwrap();
    let config = Preset::Test.shape(mavis_lang::vocabulary().len(), 1);
    let optimizer =
        OptimizerSettings { algorithm: Algorithm::Muon, average_decay: 0.98, ..OptimizerSettings::default() };
    let state = TrainState::new(initial_parameters(&config).unwrap());
    let mut trainer = CpuTrainer::new(config.clone(), optimizer, state).unwrap();
    let mut packed = PackedBatch::default();
    for step in 0..N_STEPS {
        mixture.fill(step, &mut packed).unwrap();
        let done = step as f32 / N_STEPS as f32;
        let learning_rate = 5e-3 * (step as f32 / 30.0).min(1.0) * (1.0 - done).max(0.02);
        let report =
            trainer.train_step(&packed.batch, &packed.rows, &StepSettings { learning_rate }).unwrap();
        assert!(report.loss.loss.is_finite());
    }
    let parameters = trainer.state().unwrap().average;
    MavModel { config, input: mavis_model::InputAttention::Causal, step: N_STEPS, parameters }
}

#[test]
#[ignore = "trains for some minutes"]
fn all_at_once_token_by_token_and_in_fewer_bits() {
    // A model once trained may be kept, since the training is the same every time.
    let kept = std::env::var_os("MAVIS_AGREEMENT_MODEL").map(PathBuf::from);
    let model = match &kept {
        Some(path) if path.exists() => MavModel::load(path).unwrap(),
        _ => train(),
    };
    if let Some(path) = &kept {
        model.save(path).unwrap();
    }
    let known: HashSet<u64> =
        random_positions(N_KNOWN, 1).iter().map(|record| record.position.key()).collect();
    let mut positions: Vec<Position> =
        random_positions(800, 2).into_iter().map(|record| record.position).collect();
    positions.retain(|position| !known.contains(&position.key()));
    positions.truncate(400);
    assert_eq!(positions.len(), 400);
    let requests: Vec<Request> = positions
        .iter()
        .map(|position| Request::at(position.clone(), Commands::top_all(position.rules())))
        .collect();
    for (precision, most) in [(Precision::Bf16, 0.002), (Precision::Int8, 0.01)] {
        let near = against_exact(&model, precision, &positions).unwrap();
        eprintln!("{precision} and exact: {near:?}");
        assert!(near.same_best >= 0.98 && near.value_difference < most, "{precision}: {near:?}");
    }
    for precision in [Precision::Exact, Precision::Bf16] {
        let mut decoder = MavDecoder::cpu(&model, precision).unwrap();
        let both = fan_out_against_chain(&mut decoder, &requests, 16, GreedySettings::default()).unwrap();
        eprintln!("all at once and token by token, {precision}: {both:?}");
        assert!(both.same_set >= 0.98 && both.same_best >= 0.95 && both.value_difference <= 0.02, "{both:?}");
    }
}
