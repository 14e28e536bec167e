//! Simulations a second of the rollout search, one core, every game from its start position.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mavis_game::{Position, Rules};
use mavis_search::{Stop, rollout};

fn rollouts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rollout");
    group.sample_size(10);
    for (rules, simulations) in
        [(Rules::Connect4, 100_000), (Rules::Othello, 10_000), (Rules::Togyz, 10_000), (Rules::Chess, 1_000)]
    {
        let position = Position::start(rules);
        let settings = rollout::Settings { simulations, ..Default::default() };
        group.throughput(Throughput::Elements(u64::from(simulations)));
        group.bench_function(rules.name(), |bencher| {
            bencher.iter(|| rollout::search(&position, &settings, &Stop::never()));
        });
    }
    group.finish();
}

criterion_group!(benches, rollouts);
criterion_main!(benches);
