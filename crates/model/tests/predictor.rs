//! Predictors of paper 002: tokens against a second implementation, learning, resuming, bags, policies.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_data::bag::{BagRecord, BagWriter};
use mavis_data::{AnnotatedPosition, Annotations};
use mavis_game::{Game, Move, Position, Rules};
use mavis_model::predictor::{
    BagSamples, PositionSamples, Predictor, PredictorBatches, PredictorLoss, PredictorModel,
    PredictorObjective, PredictorSettings, PredictorTarget, Samples, Target, tokens,
};
use mavis_model::train::{Budget, Event, Keeper, RunFolder, learn};
use mavis_model::{MavModel, ModelError};
use mavis_net::{Algorithm, TrainState, Trainer, TransformerConfig, cpu::CpuTrainer, initial_parameters};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{CastlingSide, Color, EnPassantMode, Position as _, Square};
use std::collections::BTreeSet;
use std::sync::{Arc, atomic::AtomicBool};

/// Positions of random play, most of them odd.
fn positions(n: usize, seed: u64) -> Vec<Position> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Vec::new();
    let mut position = Position::start(Rules::Chess);
    while found.len() < n {
        if position.outcome().is_some() || position.ply() > 220 {
            position = Position::start(Rules::Chess);
        }
        let moves = position.legal_moves();
        position.play_unchecked(moves[rng.random_range(0..moves.len())]);
        found.push(position.clone());
    }
    found
}

/// The 77 characters read off the board, not off the text.
fn second_tokenizer(position: &shakmaty::Chess) -> Vec<u8> {
    let mut out = Vec::new();
    for rank in (0..8).rev() {
        for file in 0..8 {
            let piece = position.board().piece_at(Square::new(rank * 8 + file));
            out.push(piece.map_or(b'.', |piece| piece.char() as u8));
        }
    }
    out.push(if position.turn() == Color::White { b'w' } else { b'b' });
    let padded = |mut text: String, width: usize| {
        while text.len() < width {
            text.push('.');
        }
        text.into_bytes()
    };
    let mut rights = String::new();
    for (color, side, letter) in [
        (Color::White, CastlingSide::KingSide, 'K'),
        (Color::White, CastlingSide::QueenSide, 'Q'),
        (Color::Black, CastlingSide::KingSide, 'k'),
        (Color::Black, CastlingSide::QueenSide, 'q'),
    ] {
        if position.castles().has(color, side) {
            rights.push(letter);
        }
    }
    out.extend(padded(if rights.is_empty() { "-".to_owned() } else { rights }, 4));
    let passant = position.ep_square(EnPassantMode::Legal);
    out.extend(padded(passant.map_or("-".to_owned(), |square| square.to_string()), 2));
    out.extend(padded(position.halfmoves().to_string(), 3));
    out.extend(padded(position.fullmoves().to_string(), 3));
    out
}

#[test]
fn tokens_agree_with_a_second_implementation_on_10_000_fens() {
    let mut seen = BTreeSet::new();
    for position in positions(10_000, 77) {
        let Position::Chess(chess) = &position else { panic!("chess") };
        let fen = position.to_string();
        let ours = tokens::characters(&fen).unwrap();
        assert_eq!(ours.to_vec(), second_tokenizer(chess.position()), "{fen}");
        for mv in position.legal_moves() {
            let text = position.move_text(mv);
            let action = tokens::action_index(&text).unwrap();
            assert_eq!(tokens::actions()[usize::from(action)], text);
        }
        seen.insert(fen);
    }
    assert!(seen.len() > 9_500, "{}", seen.len());
    // The moves of the language are the same 1,968, listed by other code.
    let listed: BTreeSet<&str> = mavis_lang::moves::move_tokens(Rules::Chess)
        .filter_map(|token| mavis_lang::moves::move_of(Rules::Chess, token))
        .filter_map(|mv| mavis_lang::moves::move_text(Rules::Chess, mv))
        .collect();
    assert!(listed.into_iter().eq(tokens::actions().iter().map(String::as_str)));
}

/// Values that follow from the board: how much material the mover is ahead after the move.
fn annotated(n: usize, seed: u64) -> Vec<AnnotatedPosition> {
    let worth = |position: &Position| {
        let text = position.to_string();
        let points = |c| "pnbrq".find(c).map_or(0.0, |idx| [1.0, 3.0, 3.0, 5.0, 9.0][idx]);
        let board = text.split(' ').next().unwrap();
        board
            .chars()
            .map(|c| if c.is_uppercase() { points(c.to_ascii_lowercase()) } else { -points(c) })
            .sum::<f32>()
    };
    let mut records = Vec::new();
    for position in positions(n, seed).into_iter().filter(|position| position.outcome().is_none()) {
        let sign = if position.to_string().contains(" w ") { 1.0 } else { -1.0 };
        let moves: Vec<(Move, f32)> = (position.legal_moves().into_iter())
            .map(|mv| {
                let mut after = position.clone();
                after.play_unchecked(mv);
                (mv, 1.0 / (1.0 + (-0.5 * sign * worth(&after)).exp()))
            })
            .collect();
        let best = moves.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(mv, _)| *mv);
        records.push(AnnotatedPosition { position, moves, best });
    }
    records
}

fn settings(target: Target, steps: u64) -> PredictorSettings {
    let mut settings = PredictorSettings {
        target,
        bins: 16,
        shape: Some([32, 2, 2, 64]),
        samples: 16,
        ..PredictorSettings::default()
    };
    settings.run.budget = Budget::Steps(steps);
    settings.run.log_every = 1;
    settings.run.schedule.peak = 3e-3;
    settings.run.schedule.warmup = 5;
    settings
}

#[derive(Default)]
struct Notes {
    losses: Vec<f32>,
    quality: Vec<mavis_model::predictor::PredictorQuality>,
    stop_after: Option<usize>,
    state: Option<TrainState>,
}

impl Keeper for Notes {
    fn log(&mut self, event: &Event) -> Result<(), ModelError> {
        match event {
            Event::Step(line) => self.losses.push(line.by_kind["answer"]),
            Event::Measure(measured) => self.quality.extend(measured.predictions.values().cloned()),
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

fn objective(settings: &PredictorSettings) -> PredictorObjective {
    let held_out = annotated(40, 4).into_iter().take(20).collect();
    objective_of(settings, annotated(400, 3), held_out)
}

fn objective_of(
    settings: &PredictorSettings,
    train: Vec<AnnotatedPosition>,
    measured: Vec<AnnotatedPosition>,
) -> PredictorObjective {
    let train: Arc<dyn Annotations> = Arc::new(train);
    let samples = PositionSamples::new(train, settings.target).unwrap();
    let spec = settings.spec().unwrap();
    let sets: Vec<(Arc<dyn Samples>, f32)> = vec![(Arc::new(samples), 1.0)];
    PredictorObjective {
        spec,
        batches: PredictorBatches::new(sets, settings.samples, spec, settings.run.seed).unwrap(),
        validation_positions: measured.len(),
        validation: vec![("measured".to_owned(), Arc::new(measured))],
        puzzles: Vec::new(),
    }
}

fn run(settings: &PredictorSettings, state: Option<TrainState>, stop_after: Option<usize>) -> Notes {
    run_objective(settings, &objective(settings), state, stop_after)
}

fn run_objective(
    settings: &PredictorSettings,
    objective: &PredictorObjective,
    state: Option<TrainState>,
    stop_after: Option<usize>,
) -> Notes {
    let config = settings.network().unwrap();
    let state = state.unwrap_or_else(|| TrainState::new(initial_parameters(&config).unwrap()));
    let mut trainer = CpuTrainer::new(config, settings.run.optimizer.clone(), state).unwrap();
    let mut notes = Notes { stop_after, ..Notes::default() };
    learn(&mut trainer, objective, &settings.run, &mut notes).unwrap();
    notes
}

/// Learns positions until they are known by heart: whatever stands between labels and policies (actions, sides, bins, masks, order) must
/// then agree. The last loss, and what the policy makes of the same positions.
fn by_heart(
    (target, loss): (Target, PredictorLoss),
    n: usize,
    n_steps: u64,
) -> (f32, mavis_model::predictor::PredictorQuality) {
    // After the opening moves of a random game values differ.
    let known: Vec<_> = annotated(2 * n + 40, 3).into_iter().skip(30).take(n).collect();
    let mut settings = settings(target, n_steps);
    settings.loss = loss;
    settings.shape = Some([64, 2, 2, 128]);
    settings.samples = if target == Target::ActionValue { 32 } else { 16 };
    settings.run.optimizer.algorithm = Algorithm::Muon;
    settings.run.optimizer.average_decay = 0.9;
    let objective = objective_of(&settings, known.clone(), known);
    let notes = run_objective(&settings, &objective, None, None);
    let last = &notes.losses[notes.losses.len() - 10..];
    (last.iter().sum::<f32>() / 10.0, notes.quality.last().unwrap().clone())
}

#[test]
fn a_few_positions_are_learned_by_heart() {
    for (target, n_steps) in Target::ALL.into_iter().zip([150, 120, 200]) {
        let (loss, quality) = by_heart((target, PredictorLoss::Log), 12, n_steps);
        assert!(loss < 0.25, "{target}: loss {loss}, {quality:?}");
        match target {
            // Values are the middles of sixteen bins, so moves within one bin cannot be told apart.
            Target::ActionValue => {
                assert!(quality.regret < 0.02 && quality.value_error.unwrap() < 0.03, "{quality:?}");
            }
            Target::BehavioralCloning => assert!(quality.action_accuracy > 0.99, "{quality:?}"),
            // The policy asks about positions one move later, which are not among the known.
            Target::StateValue => {}
        }
    }
}

#[test]
fn a_few_positions_are_learned_by_heart_by_squared_error() {
    for (target, n_steps) in [(Target::ActionValue, 150), (Target::StateValue, 120)] {
        let (loss, quality) = by_heart((target, PredictorLoss::SquaredError), 12, n_steps);
        assert!(loss < 1e-3, "{target}: loss {loss}, {quality:?}");
        if target == Target::ActionValue {
            assert!(quality.regret < 0.02 && quality.value_error.unwrap() < 0.03, "{quality:?}");
        }
    }
}

#[test]
fn every_target_learns_and_is_measured() {
    for target in Target::ALL {
        let notes = run(&settings(target, 60), None, None);
        let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
        let (first, last) = (mean(&notes.losses[..5]), mean(&notes.losses[50..]));
        assert!(last < first - 0.3, "{target}: {first} to {last}");
        let quality = notes.quality.last().unwrap();
        assert!(quality.n_positions > 10 && quality.kendall_tau.abs() <= 1.0, "{quality:?}");
        assert_eq!(quality.value_error.is_some(), target != Target::BehavioralCloning);
    }
}

#[test]
fn losses_after_a_resume_equal_those_of_an_unbroken_run() {
    let settings = settings(Target::ActionValue, 6);
    let whole = run(&settings, None, None);
    let first = run(&settings, None, Some(2));
    let rest = run(&settings, first.state, None);
    let joined: Vec<f32> = first.losses.iter().chain(&rest.losses).copied().collect();
    assert_eq!(whole.losses, joined);
}

#[test]
fn every_move_is_a_sample_for_av_and_every_position_for_sv_and_bc() {
    let records = annotated(30, 5);
    let n_moves: usize = records.iter().map(|record| record.moves.len()).sum();
    let set: Arc<dyn Annotations> = Arc::new(records.clone());
    let of = |target| PositionSamples::new(Arc::clone(&set), target).unwrap();
    let (av, sv, bc) = (of(Target::ActionValue), of(Target::StateValue), of(Target::BehavioralCloning));
    assert_eq!((av.len(), sv.len(), bc.len()), (n_moves, records.len(), records.len()));
    let mut idx = 0;
    for (record_idx, record) in records.iter().enumerate() {
        let characters = tokens::characters(&record.position.to_string()).unwrap();
        for (mv, value) in &record.moves {
            let sample = av.get(idx).unwrap().unwrap();
            let text = record.position.move_text(*mv);
            assert_eq!((sample.characters, sample.target), (characters, PredictorTarget::Value(*value)));
            assert_eq!(sample.action, tokens::action_index(&text));
            idx += 1;
        }
        let best = record.moves.iter().map(|(_, value)| *value).fold(0.0, f32::max);
        assert_eq!(sv.get(record_idx).unwrap().unwrap().target, PredictorTarget::Value(best));
        let text = record.position.move_text(record.best.unwrap());
        let action = tokens::action_index(&text).unwrap();
        assert_eq!(bc.get(record_idx).unwrap().unwrap().target, PredictorTarget::Action(action));
    }
}

#[test]
fn no_batch_of_several_sets_is_larger_than_a_device_has_room_for() {
    let set = |n: usize, seed: u64| -> Arc<dyn Samples> {
        let found = PositionSamples::new(Arc::new(annotated(n, seed)), Target::StateValue).unwrap();
        Arc::new(found)
    };
    let sets: Vec<_> = (0..7).map(|seed| (set(9 + seed as usize, seed), 9.0 + seed as f32)).collect();
    let settings = settings(Target::StateValue, 1);
    let batches = PredictorBatches::new(sets, 16, settings.spec().unwrap(), 1).unwrap();
    let sizes: Vec<usize> = (0..200)
        .map(|number| {
            let mut packed = mavis_model::pack::PackedBatch::default();
            mavis_model::loader::Batches::fill(&batches, number, &mut packed).unwrap();
            packed.batch.n_sequences()
        })
        .collect();
    // Shares of seven sets are no whole numbers, so some batches have more than 16.
    assert!(sizes.iter().any(|&n| n > 16) && sizes.iter().all(|&n| n <= batches.most_samples_per_batch()));
}

#[test]
fn bags_are_read_by_kind_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fen = Position::start(Rules::Chess).to_string();
    let path = folder.path().join("actions.bag");
    let mut bag = BagWriter::create(&path).unwrap();
    bag.write(&BagRecord::ActionValue(fen.clone(), "e2e4".to_owned(), 0.53)).unwrap();
    bag.write(&BagRecord::ActionValue(fen.clone(), "a2a3".to_owned(), 0.5)).unwrap();
    bag.finish().unwrap();
    let samples = BagSamples::open(&path, Target::ActionValue, |_| true).unwrap();
    assert_eq!(samples.len(), 2);
    let first = samples.get(0).unwrap().unwrap();
    assert_eq!((first.action, first.target), (tokens::action_index("e2e4"), PredictorTarget::Value(0.53)));
    assert!(BagSamples::open(&path, Target::ActionValue, |_| false).unwrap().is_empty());
    let refused = BagSamples::open(&path, Target::StateValue, |_| true).unwrap_err();
    assert_eq!(refused.to_string(), "record 0 has no data for target sv");
    let path = folder.path().join("odd.bag");
    for (record, reason) in [
        (BagRecord::StateValue(fen, 1.5), "1.5 is no win probability"),
        (BagRecord::StateValue("8/8 w".to_owned(), 0.5), "not a FEN"),
    ] {
        let mut bag = BagWriter::create(&path).unwrap();
        bag.write(&record).unwrap();
        bag.finish().unwrap();
        let refused = BagSamples::open(&path, Target::StateValue, |_| true).unwrap_err();
        assert!(refused.to_string().contains(reason), "{refused}");
    }
}

#[test]
fn a_predictor_survives_its_file_and_scores_every_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let position = Position::parse(Rules::Chess, "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 30").unwrap();
    let moves: Vec<Move> = position.legal_moves().into_iter().collect();
    for target in Target::ALL {
        let settings = settings(target, 1);
        let config = settings.network().unwrap();
        assert_eq!(
            config.variant.learned_positions,
            Some(if target == Target::ActionValue { 79 } else { 78 })
        );
        let parameters = initial_parameters(&config).unwrap();
        let model = PredictorModel { config, spec: settings.spec().unwrap(), step: 9, parameters };
        model.save(&path).unwrap();
        let back = PredictorModel::load(&path).unwrap();
        assert_eq!((back.config.clone(), back.spec, back.step), (model.config, model.spec, 9));
        let scores = Predictor::cpu(&back).unwrap().scores(&position, &moves).unwrap();
        assert_eq!(scores.len(), moves.len());
        match target {
            // The rules know that Rd8 mates.
            Target::StateValue => {
                let mate = moves.iter().position(|mv| position.move_text(*mv) == "d1d8").unwrap();
                assert_eq!(scores[mate], 1.0);
            }
            Target::ActionValue => assert!(scores.iter().all(|score| (0.2..0.8).contains(score))),
            Target::BehavioralCloning => assert!(scores.iter().sum::<f32>() < 1.0),
        }
        let othello = Position::start(Rules::Othello);
        let legal: Vec<Move> = othello.legal_moves().into_iter().collect();
        let refused = Predictor::cpu(&back).unwrap().scores(&othello, &legal).unwrap_err();
        assert_eq!(refused.to_string(), "predictors know chess, not othello");
    }
    assert!(MavModel::load(&path).unwrap_err().to_string().contains("vocabulary"));
}

#[test]
fn a_file_says_by_which_loss_its_numbers_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let position = Position::parse(Rules::Chess, "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 30").unwrap();
    let moves: Vec<Move> = position.legal_moves().into_iter().collect();
    for target in [Target::ActionValue, Target::StateValue] {
        let settings = PredictorSettings { loss: PredictorLoss::SquaredError, ..settings(target, 1) };
        let config = settings.network().unwrap();
        let layout = mavis_net::Layout::transformer(&config).unwrap();
        let mut parameters = initial_parameters(&config).unwrap();
        // A head whose first column alone is large gives values far outside of 0 to 1.
        let head = layout.tensor("lm_head.weight").unwrap().range();
        for (idx, weight) in parameters[head].iter_mut().enumerate() {
            *weight = if idx < config.d_model { *weight * 1000.0 } else { f32::from(u8::from(idx % 2 == 0)) };
        }
        let model = PredictorModel { config, spec: settings.spec().unwrap(), step: 9, parameters };
        model.save(&path).unwrap();
        let back = PredictorModel::load(&path).unwrap();
        assert_eq!((back.spec, back.spec.n_outputs()), (model.spec, 8));
        let scores = Predictor::cpu(&back).unwrap().scores(&position, &moves).unwrap();
        assert!(scores.iter().any(|score| !(0.0..=1.0).contains(score)), "{scores:?}");
        let best = scores.iter().copied().fold(f32::MIN, f32::max);
        let mate = moves.iter().position(|mv| position.move_text(*mv) == "d1d8").unwrap();
        let n_best = scores.iter().filter(|score| **score == best).count();
        assert!(target == Target::ActionValue || (scores[mate], n_best) == (best, 1), "{scores:?}");
    }
    let mut log = settings(Target::StateValue, 1);
    log.bins = 128;
    assert!(
        !log.spec().unwrap().card().notes.contains_key("loss"),
        "files of the log loss stay as they were"
    );
}

#[test]
fn a_run_folder_goes_on_and_ships_a_predictor() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(Target::BehavioralCloning, 3);
    let open = || {
        let card = settings.spec().unwrap().card();
        let stop = Arc::new(AtomicBool::new(false));
        RunFolder::open(folder.path(), card, stop, Box::new(|_| {})).unwrap()
    };
    let mut keeper = open();
    let config = settings.network().unwrap();
    assert!(keeper.resume(&config).unwrap().is_none());
    keeper.keep_settings(&settings).unwrap();
    let state = TrainState::new(initial_parameters(&config).unwrap());
    let mut trainer = CpuTrainer::new(config.clone(), settings.run.optimizer.clone(), state).unwrap();
    learn(&mut trainer, &objective(&settings), &settings.run, &mut keeper).unwrap();
    // A folder has one writer at a time.
    drop(keeper);
    let seeded = TransformerConfig { init_seed: 99, ..config.clone() };
    assert_eq!(open().resume(&seeded).unwrap().unwrap().step, 3);
    let wider = TransformerConfig { d_ff: 96, ..config };
    assert!(matches!(open().resume(&wider), Err(ModelError::OtherNetwork(_))));
    let model = PredictorModel::load(&folder.path().join("model.safetensors")).unwrap();
    assert_eq!((model.spec.target, model.step), (Target::BehavioralCloning, 3));
    let text = std::fs::read_to_string(folder.path().join("settings.toml")).unwrap();
    let back = PredictorSettings::from_table(text.parse().unwrap()).unwrap();
    assert_eq!(back, settings);
}
