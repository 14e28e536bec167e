//! Building and encoding training examples: 60,000 chess examples per second on one core is the goal.
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mavis_game::Rules;
use mavis_lang::{Commands, Example, ExampleBuilder, Variety, vocabulary};
use std::hint::black_box;
use support::{Annotated, random, random_play};

const N: usize = 1_000;

fn positions(rules: Rules) -> Vec<Annotated> {
    let mut rng = random(1);
    random_play(rules, N, 1)
        .into_iter()
        .map(|(position, previous)| Annotated::random(position, previous, &mut rng))
        .collect()
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.throughput(Throughput::Elements(N as u64));
    for rules in [Rules::Chess, Rules::Connect4] {
        let positions = positions(rules);
        let mut builder = ExampleBuilder::default();
        let mut example = Example::default();
        let mut rng = random(2);
        group.bench_function(format!("{rules} top_all"), |b| {
            b.iter(|| {
                for annotated in &positions {
                    let commands = Commands::top_all_best(rules);
                    builder
                        .build_into(&annotated.as_annotation(), &commands, &mut rng, &mut example)
                        .expect("complete annotations");
                    black_box(&example);
                }
            });
        });
        group.bench_function(format!("{rules} varied"), |b| {
            b.iter(|| {
                for annotated in &positions {
                    let has_previous = annotated.previous.is_some();
                    let commands =
                        Variety::default().draw(rules, annotated.moves.len(), has_previous, &mut rng);
                    builder
                        .build_into(&annotated.as_annotation(), &commands, &mut rng, &mut example)
                        .expect("complete annotations");
                    black_box(&example);
                }
            });
        });
    }
    group.finish();
}

fn text(c: &mut Criterion) {
    let mut rng = random(2);
    let texts: Vec<String> = positions(Rules::Chess)
        .iter()
        .map(|annotated| {
            ExampleBuilder::default()
                .build(&annotated.as_annotation(), &Commands::top_all_best(Rules::Chess), &mut rng)
                .expect("complete annotations")
                .text()
        })
        .collect();
    let mut group = c.benchmark_group("text");
    group.throughput(Throughput::Elements(N as u64));
    group.bench_function("encode chess top_all", |b| {
        b.iter(|| texts.iter().for_each(|text| drop(black_box(vocabulary().encode(text)))));
    });
    group.finish();
}

criterion_group!(benches, build, text);
criterion_main!(benches);
