//! Solves Benzene's regression positions as far as a limit of nodes reaches and lists what came of each.
//!
//!     cargo run --release -p mavis-oracle --example hex_problems -- 6-7 20000
//!
//! The arguments are the board sizes, the limit of nodes per position and, to share the work, a part (`0/4`). Lines of
//! an earlier run on standard input are passed on and their positions skipped.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for a person who reads its output")]

#[path = "../tests/hex/problems.rs"]
mod problems;

use mavis_oracle::hex::HexSolver;
use problems::Solution;
use std::io::IsTerminal;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes = arguments.first().map_or("6-7", String::as_str);
    let (from, to) = sizes.split_once('-').unwrap_or((sizes, sizes));
    let node_limit = arguments.get(1).map_or(20_000, |text| text.parse().unwrap());
    let (part, n_parts) = arguments.get(2).and_then(|text| text.split_once('/')).unwrap_or(("0", "1"));
    let (part, n_parts): (usize, usize) = (part.parse().unwrap(), n_parts.parse().unwrap());
    let before = match std::io::stdin() {
        stdin if stdin.is_terminal() => String::new(),
        stdin => std::io::read_to_string(stdin).unwrap(),
    };
    print!("{before}");
    let table = include_str!("../tests/data/hex/benzene_positions.tsv");
    let all = problems::read(table, &(from.parse().unwrap()..=to.parse().unwrap()));
    for problem in all.iter().skip(part).step_by(n_parts) {
        let size = problem.position.size();
        let name = format!("{size}x{size} {}:", problem.id);
        if before.lines().any(|line| line.starts_with(&name)) {
            continue;
        }
        let mut solver = HexSolver::new(node_limit);
        let start = std::time::Instant::now();
        let answer = match problem.check(&mut solver) {
            Solution::Right => "solved".to_owned(),
            Solution::Wrong(found) => format!("WRONG {found}"),
            Solution::OutOfReach => "open".to_owned(),
        };
        println!("{name} {answer}, {} nodes, {:.1?}", solver.n_nodes(), start.elapsed());
    }
}
