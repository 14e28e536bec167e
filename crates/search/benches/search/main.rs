//! Speed of the searches in simulations a second of processor time, one core.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

// The same clock as the benches of the rules.
#[cfg(unix)]
#[path = "../../../game/benches/rules/cpu_time.rs"]
mod cpu_time;
mod goals;
mod mcts;
mod rollout;

#[cfg(unix)]
use cpu_time::CpuTime as Clock;
#[cfg(not(unix))]
use criterion::measurement::WallTime as Clock;
use criterion::{Criterion, criterion_group, criterion_main};

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Clock);
    targets = goals::goals, mcts::overhead, rollout::rollouts
}
criterion_main!(benches);
