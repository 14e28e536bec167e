//! The solver on the public test sets, one core, no book, a fresh memory a set.
#![allow(missing_docs, reason = "criterion writes functions without docs")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mavis_game::{Connect4, Game, Move};
use mavis_oracle::connect4::{Book, Connect4Solver, DEFAULT_MEMORY};
use std::hint::black_box;

fn positions(text: &str) -> Vec<Connect4> {
    text.lines()
        .map(|line| {
            let mut position = Connect4::default();
            line.bytes().take_while(u8::is_ascii_digit).for_each(|column| {
                position.play_unchecked(Move(u16::from(column - b'1')));
            });
            position
        })
        .collect()
}

fn sets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("connect4");
    group.sample_size(10);
    for (name, text) in [
        ("L3_R1", include_str!("../tests/data/connect4/Test_L3_R1.txt")),
        ("L2_R1", include_str!("../tests/data/connect4/Test_L2_R1.txt")),
        ("L1_R1", include_str!("../tests/data/connect4/Test_L1_R1.txt")),
    ] {
        let positions = positions(text);
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                let mut solver = Connect4Solver::new(DEFAULT_MEMORY, Book::default());
                positions.iter().map(|&position| solver.score(black_box(position))).sum::<i32>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sets);
criterion_main!(benches);
