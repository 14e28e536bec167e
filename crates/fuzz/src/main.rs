//! Long runs of one fuzz target without a fuzzer: `cargo run --release -p mavis-fuzz -- pgn 10000000 [SEED]`.
//!
//! Prints how many inputs were run every million, and the first input that breaks a promise, after which it ends with code 1.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use mavis_fuzz::{Mutator, TARGETS, Target};
use std::process::ExitCode;
use std::time::Instant;

/// Inputs between two lines of progress.
const STEP: u64 = 1_000_000;

fn main() -> ExitCode {
    match arguments() {
        Some((target, n_inputs, seed)) => run(target, n_inputs, seed),
        None => {
            let names = TARGETS.map(|target| target.name).join(" ");
            println!("usage: mavis-fuzz TARGET INPUTS [SEED]; targets: {names}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Option<(Target, u64, u64)> {
    let mut arguments = std::env::args().skip(1);
    let target = mavis_fuzz::target(&arguments.next()?)?;
    let n_inputs = arguments.next()?.parse().ok()?;
    let seed = arguments.next().map_or(Some(7), |seed| seed.parse().ok())?;
    Some((target, n_inputs, seed))
}

fn run(target: Target, n_inputs: u64, seed: u64) -> ExitCode {
    let corpus = match target.corpus() {
        Ok(corpus) => corpus,
        Err(error) => {
            println!("{}: no corpus: {error}", target.name);
            return ExitCode::from(2);
        }
    };
    let mut inputs = Mutator::new(corpus, seed);
    let start = Instant::now();
    for n in 1..=n_inputs {
        let input = inputs.input();
        if std::panic::catch_unwind(|| (target.run)(&input)).is_err() {
            println!("{} stops at input {n} of seed {seed}: {}", target.name, input.escape_ascii());
            return ExitCode::FAILURE;
        }
        if n.is_multiple_of(STEP) || n == n_inputs {
            let rate = n as f64 / start.elapsed().as_secs_f64();
            println!("{}: {n} inputs of seed {seed}, {rate:.0} a second", target.name);
        }
    }
    ExitCode::SUCCESS
}
