//! Traces in training: by a real solver and by a model, in batches beside examples, learned and resumed.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_data::{
    AnnotatedPosition, Annotations, Labeler, TracePlan, TraceSettings, TraceTable, traces, wire::TraceRow,
};
use mavis_game::{Game, Position, Rules};
use mavis_lang::{check_trace, read_trace};
use mavis_model::{
    MavModel, ModelLabels, Preset,
    loader::Batches,
    mixture::{BatchSettings, ExampleSettings, Mixture, MixtureSettings},
    pack::{LossSettings, PackedBatch, tag},
};
use mavis_net::{
    Device, OptimizerSettings, Precision, StepSettings, TrainState, Trainer, cpu::CpuTrainer,
    initial_parameters,
};
use mavis_oracle::{Oracle, connect4::Connect4Solver};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

fn roots(rules: Rules, n: usize, n_plies: u32) -> Vec<Position> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut roots = Vec::new();
    while roots.len() < n {
        let mut position = Position::start(rules);
        position.playout(n_plies, || random.random());
        if position.outcome().is_none() {
            roots.push(position);
        }
    }
    roots
}

fn settings(out: &Path, plan: TracePlan) -> TraceSettings {
    let stop = Arc::new(AtomicBool::new(false));
    TraceSettings { input: "test".to_owned(), plan, seed: 3, shard_size: 64, out: out.to_owned(), stop }
}

/// Traces of late Connect Four by the solver.
fn solved(n: usize) -> Arc<TraceTable> {
    let folder = tempfile::tempdir().unwrap();
    let solvers: Vec<Box<dyn Oracle>> = vec![Box::new(Connect4Solver::default())];
    let plan = TracePlan { sizes: vec![(2, 1), (3, 1), (2, 2)], per_root: 2, ..TracePlan::default() };
    traces(&settings(folder.path(), plan), &roots(Rules::Connect4, n, 26), solvers, |_| {}).unwrap();
    Arc::new(TraceTable::open(&[folder.path()], |_| true).unwrap())
}

fn mixture(table: &Arc<TraceTable>, tokens: usize, loss: LossSettings) -> Mixture {
    let records = roots(Rules::Connect4, 100, 20).into_iter().map(|position| {
        let ranking = Connect4Solver::default().evaluate(&position).unwrap();
        let moves = ranking.moves.iter().map(|entry| (entry.mv, entry.win_probability)).collect();
        AnnotatedPosition { position, moves, best: ranking.moves.first().map(|entry| entry.mv) }
    });
    let set: Arc<dyn Annotations> = Arc::new(records.collect::<Vec<_>>());
    let batch = BatchSettings { examples: tokens / 90, tokens, sequence: 8_192 };
    let examples = ExampleSettings::default();
    let settings =
        MixtureSettings { seed: 3, batch, examples, loss, input: mavis_model::InputAttention::Full };
    Mixture::new(vec![(set, 1.0)], settings).unwrap().with_traces(vec![(table.clone(), 1.0)], 0.4)
}

fn filled(mixture: &Mixture, number: u64) -> PackedBatch {
    let mut packed = PackedBatch::default();
    mixture.fill(number, &mut packed).unwrap();
    packed.batch.validate(2816, |_| 0).unwrap();
    packed.rows.validate(packed.batch.len(), 2816).unwrap();
    packed
}

#[test]
fn traces_take_their_share_of_every_batch_and_weigh_by_the_node() {
    let table = solved(60);
    let mixture = mixture(&table, 20_000, LossSettings::default());
    let lengths: Vec<usize> = (0..table.len()).map(|idx| table.get(idx).unwrap().tokens.len() - 1).collect();
    let (mut n_traces, mut n_all) = (0, 0);
    for number in 0..5 {
        let packed = filled(&mixture, number);
        let again = filled(&mixture, number);
        assert_eq!((&packed.batch, &packed.rows), (&again.batch, &again.rows));
        let first = &packed.batch.sequence(0);
        assert!(lengths.contains(&first.len()), "traces come first");
        assert!(packed.n_further > 0);
        assert_eq!(packed.rows.normalizer, Some((packed.n_examples + packed.n_further) as f32));
        // Examples of one Connect Four position are far shorter than any trace.
        let shortest = *lengths.iter().min().unwrap();
        let sizes = (0..packed.batch.n_sequences()).map(|idx| packed.batch.sequence(idx).len());
        n_traces += sizes.clone().filter(|len| *len >= shortest).sum::<usize>();
        n_all += packed.batch.len();
    }
    let share = n_traces as f64 / n_all as f64;
    assert!((0.3..0.5).contains(&share), "{share}");
    let of_tag = |packed: &PackedBatch, wanted: u8| {
        let rows = packed.rows.tags.iter().zip(&packed.rows.weights).filter(|(tag, _)| **tag == wanted);
        (rows.clone().count(), rows.map(|(_, weight)| *weight).sum::<f32>())
    };
    let whole = filled(&mixture, 1);
    let n_in_traces =
        whole.n_further + whole.batch.n_sequences() - whole.n_examples + mixture.traces_per_batch();
    let (n_search, weight) = of_tag(&whole, tag::SEARCH);
    assert!(n_search > 100 && (weight - n_in_traces as f32).abs() < 0.1, "{weight} {n_in_traces}");
    let game_only = self::mixture(&table, 20_000, LossSettings { search: 0.0, ..LossSettings::default() });
    let game_only = filled(&game_only, 1);
    assert_eq!(of_tag(&game_only, tag::SEARCH).0, 0, "the ablation");
    assert_eq!(of_tag(&game_only, tag::TEXT), of_tag(&whole, tag::TEXT));
}

#[test]
fn a_small_network_learns_the_lines_of_the_search() {
    let mixture = mixture(&solved(60), 3_000, LossSettings::default());
    let config = Preset::Test.shape(mavis_lang::vocabulary().len(), 1);
    let state = TrainState::new(initial_parameters(&config).unwrap());
    let mut trainer = CpuTrainer::new(config, OptimizerSettings::default(), state).unwrap();
    let mut losses = Vec::new();
    for number in 0..30 {
        let packed = filled(&mixture, number);
        trainer.submit(&packed.batch, &packed.rows, &StepSettings { learning_rate: 3e-3 }).unwrap();
        let report = trainer.collect().unwrap().unwrap();
        let search = report.loss.tags.iter().find(|row| row.tag == tag::SEARCH).unwrap();
        losses.push((report.loss.loss, search.loss));
    }
    let mean = |part: &[(f32, f32)]| part.iter().map(|(_, search)| *search).sum::<f32>() / part.len() as f32;
    let (begin, end) = (mean(&losses[..3]), mean(&losses[27..]));
    assert!(end < 0.5 * begin, "search {begin} to {end}");
    assert!(losses[29].0 < 0.7 * losses[0].0, "{losses:?}");
}

#[test]
fn a_model_labels_every_game_and_always_the_same() {
    let bytes = include_bytes!("../../../models/mavis-9m.safetensors");
    let model = MavModel::from_bytes("the bundled model", bytes).unwrap();
    let labels = ModelLabels::open(&model, Precision::Bf16, Device::Cpu).unwrap();
    assert!(labels.identity().settings.contains("cpu"));
    let folder = tempfile::tempdir().unwrap();
    for rules in [
        Rules::Chess,
        Rules::Chess960,
        Rules::Connect4,
        Rules::Othello,
        Rules::Togyz,
        Rules::Hex { size: 5, swap: false },
    ] {
        let roots = roots(rules, 2, 8);
        let [one, two] = ["one", "two"].map(|name| folder.path().join(format!("{}-{name}", rules.name())));
        let plan = TracePlan { sizes: vec![(2, 1), (3, 1)], per_root: 2, ..TracePlan::default() };
        traces(&settings(&one, plan.clone()), &roots, labels.clone().shared(1), |_| {}).unwrap();
        traces(&settings(&two, plan), &roots, labels.clone().shared(3), |_| {}).unwrap();
        let rows = |path: &Path| -> Vec<TraceRow> {
            mavis_data::TableReader::open(&[path]).unwrap().collect::<Result<_, _>>().unwrap()
        };
        assert_eq!(rows(&one), rows(&two));
        assert_eq!(rows(&one).len(), 4);
        for row in rows(&one) {
            let tokens: Vec<u16> = row.tokens.iter().map(|&token| token as u16).collect();
            assert_eq!(check_trace(&read_trace(&tokens).unwrap(), None), Ok(()), "{rules}");
        }
    }
}
