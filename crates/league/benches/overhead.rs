//! What a league costs beside the players: the same games by the referee alone and through a whole league with its log.
//!
//! The bound is 1 % of a move of 100 ms, that is 1 ms a move; a chess game of random players has some 300 moves.

#![expect(missing_docs, reason = "criterion makes functions without docs")]

use criterion::{Criterion, criterion_group, criterion_main};
use mavis_game::{Position, Rules};
use mavis_league::wire::LeagueConfig;
use mavis_league::{RunOptions, run};
use mavis_play::{RandomPlayer, Referee, Registry};
use std::sync::Arc;

const GAMES: u64 = 20;

fn overhead(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("20 chess games of random players");
    group.sample_size(10);
    group.bench_function("referee alone", |bencher| {
        bencher.iter(|| {
            for game in 0..GAMES {
                let (mut first, mut second) = (RandomPlayer::new(2 * game), RandomPlayer::new(2 * game + 1));
                Referee::default().play(&Position::start(Rules::Chess), [&mut first, &mut second]);
            }
        });
    });
    let registry = Arc::new(Registry::basic());
    let config = LeagueConfig::from_toml(
        "name='b'\ngame='chess'\nconcurrency=1\nschedule.pairs=10\nplayers=[{player='random'},{player='random',name='r2'}]",
    )
    .expect("valid");
    group.bench_function("league", |bencher| {
        bencher.iter(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let options = RunOptions::default();
            let summary = run(&config, folder.path(), folder.path(), &registry, &options, &mut |_| {});
            assert_eq!(summary.expect("runs").played, GAMES);
        });
    });
    group.finish();
}

criterion_group!(benches, overhead);
criterion_main!(benches);
