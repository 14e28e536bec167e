//! The Connect Four solver on the public test sets, one core, no book, a fresh memory each time.

use crate::commands::bench::usage::thread_seconds;
use mavis_game::{Connect4, Game, Move};
use mavis_oracle::connect4::{Book, Connect4Solver, DEFAULT_MEMORY};
use serde::Serialize;

/// A set with the nodes a position that Pascal Pons' solver needs for it without a book, which are the same on every machine.
struct Set {
    name: &'static str,
    text: &'static str,
    nodes: f64,
}

const SETS: [Set; 3] = [
    Set {
        name: "Test_L3_R1",
        text: include_str!("../../../../../oracle/tests/data/connect4/Test_L3_R1.txt"),
        nodes: 51.0,
    },
    Set {
        name: "Test_L2_R1",
        text: include_str!("../../../../../oracle/tests/data/connect4/Test_L2_R1.txt"),
        nodes: 449.0,
    },
    Set {
        name: "Test_L1_R1",
        text: include_str!("../../../../../oracle/tests/data/connect4/Test_L1_R1.txt"),
        nodes: 3266.0,
    },
];

#[derive(Serialize)]
pub(super) struct Solved {
    set: &'static str,
    positions: usize,
    /// Positions whose score is not that of the set.
    wrong: usize,
    nodes_per_position: f64,
    /// Processor time for all positions, the best of several times.
    processor_seconds: f64,
    pons_nodes_per_position: f64,
}

pub(super) fn measure() -> Vec<Solved> {
    SETS.iter().map(Set::measure).collect()
}

impl Set {
    fn measure(&self) -> Solved {
        let lines: Vec<(Connect4, i32)> = self.text.lines().filter_map(parse).collect();
        let (mut best, mut spent, mut n_nodes, mut wrong) = (f64::MAX, 0.0, 0, 0);
        let mut n_times = 0;
        // Short ones are repeated, since the clock of a busy machine is coarse.
        while n_times < 5 || (spent < 0.5 && n_times < 100) {
            let begin = thread_seconds();
            let mut solver = Connect4Solver::new(DEFAULT_MEMORY, Book::default());
            wrong = lines.iter().filter(|(position, score)| solver.score(*position) != *score).count();
            let seconds = thread_seconds() - begin;
            (best, spent, n_nodes) = (best.min(seconds), spent + seconds, solver.n_nodes());
            n_times += 1;
        }
        Solved {
            set: self.name,
            positions: lines.len(),
            wrong,
            nodes_per_position: n_nodes as f64 / lines.len() as f64,
            processor_seconds: best,
            pons_nodes_per_position: self.nodes,
        }
    }
}

fn parse(line: &str) -> Option<(Connect4, i32)> {
    let (columns, score) = line.split_once(' ')?;
    let mut position = Connect4::default();
    for column in columns.bytes() {
        position.play(Move(u16::from(column.checked_sub(b'1')?))).ok()?;
    }
    Some((position, score.trim().parse().ok()?))
}

pub(super) fn text(sets: &[Solved]) -> String {
    let mut text = "Connect Four, one core, no book   nodes/position  (Pons)         ms\n".to_owned();
    for set in sets {
        text.push_str(&format!(
            "  {}, {} of {} right {:>14.0} {:>8.0} {:>10.1}\n",
            set.set,
            set.positions - set.wrong,
            set.positions,
            set.nodes_per_position,
            set.pons_nodes_per_position,
            1e3 * set.processor_seconds
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_text_was_measured_but_for_the_nodes_of_pons() {
        let solved = Solved {
            set: "a set",
            positions: 12,
            wrong: 2,
            nodes_per_position: 34.0,
            processor_seconds: 0.056,
            pons_nodes_per_position: 78.0,
        };
        let text = text(&[solved]);
        let (head, row) = text.split_once('\n').unwrap();
        assert!(head.ends_with("nodes/position  (Pons)         ms"), "{head}");
        let numbers = row.split(|letter: char| letter != '.' && !letter.is_ascii_digit());
        let numbers: Vec<&str> = numbers.filter(|part| !part.is_empty()).collect();
        assert_eq!(numbers, ["10", "12", "34", "78", "56.0"]);
    }
}
