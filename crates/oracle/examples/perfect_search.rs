//! Searches every won position of Test_L1_R1 with perfect answers and 200 simulations, and lists what came of each.
//!
//!     cargo run --release -p mavis-oracle --example perfect_search -- 4-14 2 256
//!
//! The arguments are the numbers of stones, the threads, and the mebibytes of each solver (two a thread, the second
//! little used). Lines of an earlier run on standard input are passed on and their positions skipped. Few stones take
//! long: the solver works for every bad move the search looks at.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a person who reads its output"
)]

#[path = "../tests/perfect/wins.rs"]
mod wins;

use std::{
    io::IsTerminal,
    sync::atomic::{AtomicUsize, Ordering},
};
use wins::{Finder, Known, won};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let stones = arguments.first().map_or("4-14", String::as_str);
    let (from, to) = stones.split_once('-').unwrap_or((stones, stones));
    let n_threads: usize = arguments.get(1).map_or(2, |text| text.parse().unwrap());
    let mebibytes: usize = arguments.get(2).map_or(256, |text| text.parse().unwrap());
    let before = match std::io::stdin() {
        stdin if stdin.is_terminal() => String::new(),
        stdin => std::io::read_to_string(stdin).unwrap(),
    };
    print!("{before}");
    let is_done = |columns: &str| before.lines().any(|line| line.split(' ').next() == Some(columns));
    let all: Vec<&str> = won(from.parse().unwrap()..=to.parse().unwrap()).collect();
    let todo: Vec<&str> = all.iter().copied().filter(|columns| !is_done(columns)).collect();
    let (known, next, n_missed) = (Known::default(), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                let mut finder = Finder::new(mebibytes << 20, &known);
                while let Some(columns) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = std::time::Instant::now();
                    let (best, wins) = finder.search(columns);
                    n_missed.fetch_add(usize::from(!wins), Ordering::Relaxed);
                    let result = if wins { "wins" } else { "DOES NOT WIN" };
                    println!("{columns} {} {result} in {:.1?}", best.0 + 1, start.elapsed());
                }
            });
        }
    });
    let n_missed = n_missed.into_inner() + before.lines().filter(|line| line.contains(" DOES NOT ")).count();
    eprintln!("the win is found in {} of {} won positions", all.len() - n_missed, all.len());
}
