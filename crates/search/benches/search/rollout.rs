//! Simulations per second of the rollout search, one core, every game from its start position.

use crate::Clock;
use criterion::{Criterion, Throughput};
use mavis_game::{Position, Rules};
use mavis_search::{Stop, rollout};

pub(crate) fn rollouts(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("rollout");
    group.sample_size(10);
    for (rules, simulations) in [
        (Rules::Connect4, 100_000),
        (Rules::HEX, 20_000),
        (Rules::Othello, 10_000),
        (Rules::Togyz, 10_000),
        (Rules::Chess, 1_000),
    ] {
        let position = Position::start(rules);
        let settings = rollout::RolloutSettings { simulations, ..Default::default() };
        group.throughput(Throughput::Elements(u64::from(simulations)));
        group.bench_function(rules.name(), |bencher| {
            bencher.iter(|| rollout::search(&position, &settings, &Stop::never()));
        });
    }
    group.finish();
}
