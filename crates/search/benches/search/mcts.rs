//! Overhead of the search alone: simulations a second over an evaluator that costs nothing, one core.
//!
//! `plain` calls a function; `async` goes through futures with 16 in flight, as a model player does.

use crate::Clock;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use mavis_eval::Free;
use mavis_game::{Game, Move, Moves, Position, Rules, for_game};
use mavis_search::{
    Stop,
    mcts::{MctsSettings, Search, search_game},
};
use std::sync::Arc;

/// Every legal move is worth a draw.
pub(crate) fn free<G: Game>(position: &G, moves: &mut Vec<(Move, f32)>) {
    let mut legal = Moves::new();
    position.legal_moves_into(&mut legal);
    moves.extend(legal.iter().map(|&mv| (mv, 0.5)));
}

fn settings(simulations: u32) -> MctsSettings {
    MctsSettings { simulations, ..Default::default() }
}

fn plain(group: &mut BenchmarkGroup<'_, Clock>, rules: Rules, simulations: u32) {
    let position = Position::start(rules);
    let settings = settings(simulations);
    group.throughput(Throughput::Elements(u64::from(simulations)));
    group.bench_function(format!("plain/{}", rules.name()), |bencher| {
        bencher.iter(|| for_game!(&position, game => search_game(game, &settings, &Stop::never(), free)));
    });
}

fn asynchronous(group: &mut BenchmarkGroup<'_, Clock>, rules: Rules, simulations: u32) {
    let settings = settings(simulations);
    group.throughput(Throughput::Elements(u64::from(simulations)));
    group.bench_function(format!("async/{}", rules.name()), |bencher| {
        bencher.iter(|| {
            let mut search = Search::new(Position::start(rules), Arc::new(Free), settings.clone());
            search.run_blocking(&Stop::never())
        });
    });
}

pub(crate) fn overhead(criterion: &mut Criterion<Clock>) {
    let mut group = criterion.benchmark_group("mcts");
    group.sample_size(10);
    for (rules, simulations) in [
        (Rules::Connect4, 100_000),
        (Rules::Chess, 50_000),
        (Rules::Othello, 50_000),
        (Rules::Togyz, 50_000),
        (Rules::HEX, 20_000),
    ] {
        plain(&mut group, rules, simulations);
    }
    for (rules, simulations) in [(Rules::Connect4, 20_000), (Rules::Chess, 10_000)] {
        asynchronous(&mut group, rules, simulations);
    }
    group.finish();
}
