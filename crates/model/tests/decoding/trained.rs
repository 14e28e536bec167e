//! The network of these tests, and positions it knows and does not know.

use mavis_data::AnnotatedPosition;
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{Annotation, Commands, ExampleBuilder, Top, vocabulary};
use mavis_model::{
    InputAttention::{self, Causal, Full, Reread},
    MavModel,
    decode::MavDecoder,
    pack::{LossSettings, PackedBatch, Packer},
};
use mavis_net::{
    Algorithm, OptimizerSettings, Precision, StepSettings, TrainState, Trainer, TransformerConfig,
    cpu::CpuTrainer, initial_parameters,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::LazyLock;

const N_KNOWN: usize = 8;
const N_STEPS: usize = 360;

/// Positions of random games, each with the one before and the move between, the last of a game among them.
pub(crate) fn positions(rules: Rules, n: usize, seed: u64) -> Vec<(Position, Move, Position)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < n {
        let mut position = Position::start(rules);
        let ply = rng.random_range(0..20);
        for at in 0.. {
            let legal = position.legal_moves();
            let Some(&mv) = legal.get(rng.random_range(0..legal.len().max(1))) else { break };
            let before = position.clone();
            position.play_unchecked(mv);
            if at == ply || (at > ply && position.outcome().is_some()) {
                found.push((before, mv, position.clone()));
            }
        }
    }
    found.truncate(n);
    found
}

/// Known positions that are not over, with the moves the network was trained to list.
pub(crate) fn known() -> Vec<Position> {
    let running = positions(Rules::Connect4, N_KNOWN, 1).into_iter().map(|(_, _, after)| after);
    running.filter(|position| position.outcome().is_none()).collect()
}

/// What a move is worth here: a number that only depends on the move and the stones on the board.
pub(crate) fn value(position: &Position, mv: Move) -> f32 {
    f32::from((mv.0 * 5 + position.ply() as u16) % 8) / 8.0
}

fn annotated(position: &Position) -> AnnotatedPosition {
    let moves: Vec<(Move, f32)> =
        position.legal_moves().into_iter().map(|mv| (mv, value(position, mv))).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    AnnotatedPosition { position: position.clone(), moves, best: best.map(|(mv, _)| mv) }
}

pub(crate) fn tracking(rules: Rules) -> Commands {
    Commands { top: None, best: false, ..Commands::tracking(rules) }
}

/// A model of the tests, for each way to read positions.
pub(crate) fn model(input: InputAttention) -> &'static MavModel {
    static CAUSAL: LazyLock<MavModel> = LazyLock::new(|| train(Causal));
    static FULL: LazyLock<MavModel> = LazyLock::new(|| train(Full));
    static REREAD: LazyLock<MavModel> = LazyLock::new(|| train(Reread));
    match input {
        Causal => &CAUSAL,
        Full => &FULL,
        Reread => &REREAD,
    }
}

pub(crate) fn decoder(input: InputAttention) -> MavDecoder {
    MavDecoder::cpu(model(input), Precision::Exact).unwrap()
}

fn train(input: InputAttention) -> MavModel {
    train_for(N_STEPS, input)
}

/// A network that was trained for fewer or more steps.
pub(crate) fn train_for(n_steps: usize, input: InputAttention) -> MavModel {
    let packer = Packer { loss: LossSettings::default(), input };
    fit(config(), input, n_steps, |rng| batch(&packer, rng))
}

/// The shape of the small networks here.
pub(crate) fn config() -> TransformerConfig {
    TransformerConfig {
        vocab: vocabulary().padded_len(),
        d_model: 48,
        n_layers: 2,
        n_heads: 2,
        d_ff: 96,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm: true,
        tied: true,
        init_seed: 5,
        variant: Default::default(),
    }
}

/// Trains a network on some batches.
pub(crate) fn fit(
    config: TransformerConfig,
    input: InputAttention,
    n_steps: usize,
    batch: impl Fn(&mut Xoshiro256PlusPlus) -> PackedBatch,
) -> MavModel {
    let optimizer =
        OptimizerSettings { algorithm: Algorithm::Muon, average_decay: 0.0, ..OptimizerSettings::default() };
    let state = TrainState::new(initial_parameters(&config).unwrap());
    let mut trainer = CpuTrainer::new(config.clone(), optimizer, state).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    for step in 0..n_steps {
        let packed = batch(&mut rng);
        let rate = 1e-2 * (1.0 - step as f32 / n_steps as f32).min(step as f32 / 10.0 + 0.1);
        let settings = StepSettings { learning_rate: rate };
        trainer.train_step(&packed.batch, &packed.rows, &settings).unwrap();
    }
    let parameters = trainer.state().unwrap().parameters;
    MavModel { config, input, step: n_steps as u64, parameters }
}

/// Every known position in all the ways the tests ask for it, in new orders.
fn batch(packer: &Packer, rng: &mut Xoshiro256PlusPlus) -> PackedBatch {
    let mut packed = PackedBatch::default();
    let mut builder = ExampleBuilder::default();
    for (before, mv, after) in positions(Rules::Connect4, N_KNOWN, 1) {
        let annotated = annotated(&after);
        let annotation = Annotation {
            position: &after,
            moves: &annotated.moves,
            best: annotated.best,
            previous: Some((&before, mv)),
        };
        let all = Commands::top_all_best(Rules::Connect4);
        let three = Commands { top: Some(Top::Best(3)), ..all };
        let joint = Commands { best: false, ..Commands::tracking(Rules::Connect4) };
        for commands in [all, Commands::top_all(Rules::Connect4), three, tracking(Rules::Connect4), joint] {
            let example = builder.build(&annotation, &commands, rng).unwrap();
            if commands.best || commands.top.is_none() {
                packer.push_chain(&mut packed, &example, &annotated);
            } else {
                packer.push_star(&mut packed, &example, &annotated);
            }
        }
    }
    packed.finish();
    packed
}
