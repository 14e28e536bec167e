//! Passes of the 7.6M-parameter shape on CPU: prompt pass, sequential decoding, fan-out, training step.
#![allow(missing_docs)] // The macro makes a public function without one.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mavis_net::cpu::{CpuDecoder, CpuTrainer};
use mavis_net::{
    Batch, BatchToken, Decoder, LossRows, OptimizerSettings, Precision, StepSettings, TrainState, Trainer,
    TransformerConfig, Want, initial_parameters,
};

fn config() -> TransformerConfig {
    TransformerConfig {
        vocab: 2304,
        d_model: 256,
        n_layers: 8,
        n_heads: 8,
        d_ff: 704,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm: false,
        tied: false,
        init_seed: 1,
        variant: Default::default(),
    }
}

/// The parameters as a small checkpoint holds them.
fn bf16(parameters: &[f32]) -> Vec<f32> {
    parameters.iter().map(|x| half::bf16::from_f32(*x).to_f32()).collect()
}

fn decoders() -> Vec<(&'static str, CpuDecoder)> {
    let parameters = initial_parameters(&config()).expect("the shape is served");
    let new = |parameters: &[f32], precision| {
        CpuDecoder::new(config(), parameters, precision).expect("the parameters fit")
    };
    vec![
        ("f32", new(&parameters, Precision::Exact)),
        ("f32, weights exact in bf16", new(&bf16(&parameters), Precision::Exact)),
        ("bf16", new(&parameters, Precision::Bf16)),
        ("int8", new(&parameters, Precision::Int8)),
    ]
}

fn tokens(n: usize) -> Vec<u32> {
    (0..n).map(|i| (i * 37 % 2304) as u32).collect()
}

fn prompt(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prompt of 16 x 112, all logits");
    let mut batch = Batch::default();
    (0..16).for_each(|_| batch.push_causal(&tokens(112)));
    group.throughput(Throughput::Elements(batch.len() as u64));
    let all = Want::rows((0..batch.len() as u32).collect::<Vec<_>>());
    for (name, mut decoder) in decoders() {
        group.bench_function(name, |bencher| bencher.iter(|| decoder.logits(&batch, &all).expect("it runs")));
        group.bench_function(BenchmarkId::new(name, "last logits"), |bencher| {
            bencher.iter(|| decoder.logits(&batch, &Want::last(&batch)).expect("it runs"));
        });
    }
    group.finish();
}

fn sequential(criterion: &mut Criterion) {
    for streams in [1, 16] {
        let mut group = criterion.benchmark_group(format!("128 tokens after 112, {streams} streams"));
        group.throughput(Throughput::Elements(128 * streams as u64));
        for (name, mut decoder) in decoders() {
            let caches: Vec<_> = (0..streams).map(|_| decoder.open().expect("there is memory")).collect();
            let mut batch = Batch::default();
            (0..streams).for_each(|_| batch.push_causal(&tokens(112)));
            decoder.extend(&caches, &batch, &Want::default()).expect("it runs");
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    for cache in &caches {
                        decoder.truncate(*cache, 112).expect("it is longer");
                    }
                    for i in 0..128u32 {
                        batch.clear();
                        for _ in 0..streams {
                            batch.begin();
                            batch.push(BatchToken {
                                id: i,
                                position: 112 + i,
                                prefix_end: 0,
                                branch_start: 0,
                            });
                        }
                        decoder.extend(&caches, &batch, &Want::last(&batch)).expect("it runs");
                    }
                });
            });
        }
        group.finish();
    }
}

fn fan_out(criterion: &mut Criterion) {
    for requests in [1, 16] {
        let mut group =
            criterion.benchmark_group(format!("fan-out of 35 moves after 112, {requests} requests"));
        group.throughput(Throughput::Elements(requests as u64));
        for (name, mut decoder) in decoders() {
            let mut prompts = Batch::default();
            (0..requests).for_each(|_| prompts.push_causal(&tokens(112)));
            let mut branches = Batch::default();
            for _ in 0..requests {
                branches.begin();
                (0..35).for_each(|id| branches.push_branch(&[id], 112, 112, 112));
            }
            let values =
                Want { rows: (0..branches.len() as u32).collect(), columns: Some(2048..2112), brief: None };
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    let caches: Vec<_> =
                        (0..requests).map(|_| decoder.open().expect("there is memory")).collect();
                    decoder.extend(&caches, &prompts, &Want::last(&prompts)).expect("it runs");
                    decoder.extend(&caches, &branches, &values).expect("it runs");
                    caches.into_iter().for_each(|cache| decoder.close(cache));
                });
            });
        }
        group.finish();
    }
}

fn training(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training step of 16 x 112");
    let (mut batch, mut rows) = (Batch::default(), LossRows::default());
    (0..16).for_each(|_| batch.push_causal(&tokens(112)));
    (0..batch.len() as u32).filter(|row| row % 5 < 2).for_each(|row| rows.push_hard(row, 1.0, 0, row % 2304));
    group.throughput(Throughput::Elements(batch.len() as u64)).sample_size(10);
    let state = TrainState::new(initial_parameters(&config()).expect("the shape is served"));
    let mut trainer =
        CpuTrainer::new(config(), OptimizerSettings::default(), state).expect("the parameters fit");
    group.bench_function("AdamW", |bencher| {
        let settings = StepSettings { learning_rate: 1e-4 };
        bencher.iter(|| trainer.train_step(&batch, &rows, &settings).expect("it runs"));
    });
    group.finish();
}

criterion_group!(
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = prompt, sequential, fan_out, training
);
criterion_main!(benches);
