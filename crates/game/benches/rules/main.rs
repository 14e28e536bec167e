//! Speed of the rules: perft against bare shakmaty in one run, and random playouts from the start of every game.

#![allow(missing_docs, reason = "criterion's macro makes a public function without any")]

#[cfg(unix)]
mod cpu_time;

#[cfg(unix)]
use cpu_time::CpuTime as Clock;
#[cfg(not(unix))]
use criterion::measurement::WallTime as Clock;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mavis_game::{Game, Outcome, Position, Rules, for_game, perft};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::hint::black_box;

/// Enough for every game of chess, the longest.
const MAX_PLIES: u32 = 10_000;

fn chess_perft(criterion: &mut Criterion<Clock>) {
    let Position::Chess(start) = Position::start(Rules::Chess) else { return };
    let mut group = criterion.benchmark_group("chess perft 5");
    group.throughput(Throughput::Elements(4_865_609)).sample_size(20);
    group.bench_function("mavis", |bencher| bencher.iter(|| perft(black_box(&start), 5)));
    let bare = start.position().clone();
    group.bench_function("shakmaty", |bencher| bencher.iter(|| shakmaty::perft(black_box(&bare), 5)));
    group.finish();
}

fn playouts(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("playout");
    group.throughput(Throughput::Elements(1));
    for rules in Rules::ALL {
        let start = Position::start(rules);
        group.bench_function(rules.name(), |bencher| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            for_game!(&start, start => bencher.iter(|| playout(start, &mut random)));
        });
    }
    group.finish();
}

fn playout<G: Game>(start: &G, random: &mut Xoshiro256PlusPlus) -> Option<Outcome> {
    start.clone().playout(MAX_PLIES, || random.next_u32())
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Clock);
    targets = chess_perft, playouts
}
criterion_main!(benches);
