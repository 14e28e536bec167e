//! Stockfish through the pool against Stockfish alone: the same positions, nodes and lines in one run.
//!
//! Alone means a file of commands in and the answers thrown away, the most that one process gives.
#![allow(missing_docs, reason = "criterion writes functions without docs")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mavis_game::{Game as _, Position, Rules};
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::pool::evaluate_all;
use mavis_oracle::process::find_engine;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const NODES: u64 = 5000;

fn positions() -> Vec<Position> {
    let games = [
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8",
        "d2d4 d7d5 c2c4 d5c4 e2e4 b8c6 g1f3 c8g4 d4d5 c6e5 f1c4 e5c4 d1a4 c7c6 a4c4 g4f3",
    ];
    let mut positions = Vec::new();
    for game in games {
        let mut position = Position::start(Rules::Chess);
        for mv in game.split(' ') {
            if position.play_text(mv).is_ok() {
                positions.push(position.clone());
            }
        }
    }
    positions
}

/// `n` processes at once, each with every `n`-th position.
fn alone(program: &std::path::Path, positions: &[Position], n: usize) {
    let mut children = Vec::new();
    for offset in 0..n {
        let mut text = "setoption name Hash value 1\nsetoption name MultiPV value 256\n".to_owned();
        for position in positions.iter().skip(offset).step_by(n) {
            writeln!(text, "ucinewgame\nposition fen {position}\ngo nodes {NODES}").ok();
        }
        // `ucinewgame` waits for the last search, `quit` would cut it off.
        text += "ucinewgame\nquit\n";
        let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let Ok(mut child) = child else { continue };
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes()).ok();
        }
        children.push(child);
    }
    for mut child in children {
        child.wait().ok();
    }
}

fn stockfish(criterion: &mut Criterion) {
    let Ok(program) = find_engine("stockfish", std::env::var_os("PATH").as_deref()) else { return };
    let positions = positions();
    let mut group = criterion.benchmark_group("stockfish");
    group.sample_size(10).throughput(Throughput::Elements(positions.len() as u64));
    for n in [1, 2] {
        group.bench_function(format!("alone/{n}"), |bencher| bencher.iter(|| alone(&program, &positions, n)));
        group.bench_function(format!("pool/{n}"), |bencher| {
            bencher.iter(|| {
                // Started anew, as the processes alone are.
                let settings = EngineSettings::new(program.clone(), Limit::Nodes(NODES));
                let mut oracles: Vec<_> =
                    (0..n).filter_map(|_| UciOracle::start(settings.clone()).ok()).collect();
                let mut n_judged = 0;
                evaluate_all(&mut oracles, positions.iter().cloned(), |judged| {
                    n_judged += usize::from(judged.result.is_ok());
                    true
                });
                assert_eq!(n_judged, positions.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, stockfish);
criterion_main!(benches);
