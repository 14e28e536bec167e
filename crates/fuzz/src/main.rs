//! Long runs of one fuzz target without a fuzzer: `cargo run --release -p mavis-fuzz -- pgn 10000000 [SEED]`, or `30s` for as long; `all` runs
//! every target, as many at a time as there are cores.
//!
//! Prints how many inputs were run every million, and the first input that breaks a promise, after which it ends with code 1.

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use mavis_fuzz::{Mutator, TARGETS, Target};
use std::panic;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Inputs between two lines of progress.
const STEP: u64 = 1_000_000;

fn main() -> ExitCode {
    match arguments() {
        Some((targets, limit, seed)) => run_all(targets, limit, seed),
        None => {
            let names = TARGETS.map(|target| target.name).join(" ");
            println!("usage: mavis-fuzz TARGET|all INPUTS|SECONDSs [SEED]; targets: {names}");
            ExitCode::from(2)
        }
    }
}

/// How long a target runs.
#[derive(Clone, Copy)]
enum Limit {
    Inputs(u64),
    Seconds(u64),
}

impl Limit {
    fn is_reached(self, n_inputs: u64, start: Instant) -> bool {
        match self {
            Self::Inputs(most) => n_inputs >= most,
            Self::Seconds(most) => start.elapsed().as_secs() >= most,
        }
    }
}

fn arguments() -> Option<(Vec<Target>, Limit, u64)> {
    let mut arguments = std::env::args().skip(1);
    let targets = match arguments.next()?.as_str() {
        "all" => TARGETS.to_vec(),
        name => vec![mavis_fuzz::target(name)?],
    };
    let limit = arguments.next()?;
    let limit = match limit.strip_suffix('s') {
        Some(seconds) => Limit::Seconds(seconds.parse().ok()?),
        None => Limit::Inputs(limit.parse().ok()?),
    };
    let seed = arguments.next().map_or(Some(7), |seed| seed.parse().ok())?;
    Some((targets, limit, seed))
}

fn run_all(targets: Vec<Target>, limit: Limit, seed: u64) -> ExitCode {
    // Readers turn panics of a library into errors; only those that stop a target are shown.
    panic::set_hook(Box::new(|_| {}));
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let left = Mutex::new(targets.into_iter());
    let has_failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                // A lock that is held while a thread panics is none of the targets': their panics are caught.
                while let Some(target) = left.lock().ok().and_then(|mut left| left.next()) {
                    if !run(target, limit, seed) {
                        has_failed.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    if has_failed.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Whether no input stopped the target.
fn run(target: Target, limit: Limit, seed: u64) -> bool {
    let corpus = match target.corpus() {
        Ok(corpus) => corpus,
        Err(error) => {
            println!("{}: no corpus: {error}", target.name);
            return false;
        }
    };
    let mut inputs = Mutator::new(corpus, seed);
    let start = Instant::now();
    for n in 1.. {
        let input = inputs.input();
        if panic::catch_unwind(|| (target.run)(&input)).is_err() {
            println!("{} stops at input {n} of seed {seed}: {}", target.name, input.escape_ascii());
            // Once more, to print the reason.
            drop(panic::take_hook());
            let _stops_again = panic::catch_unwind(|| (target.run)(&input));
            return false;
        }
        let is_reached = limit.is_reached(n, start);
        if n.is_multiple_of(STEP) || is_reached {
            let rate = n as f64 / start.elapsed().as_secs_f64();
            println!("{}: {n} inputs of seed {seed}, {rate:.0} a second", target.name);
        }
        if is_reached {
            break;
        }
    }
    true
}
