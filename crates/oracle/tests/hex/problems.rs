//! Benzene's regression positions, for the tests and for the list in `docs/hex-oracle.md`.

use mavis_game::{Game, Hex, Side};
use mavis_oracle::hex::{HexSolver, Solved};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A position with its solution.
pub(crate) struct Problem {
    /// The file of the suite and the number in it.
    pub(crate) id: String,
    /// The position.
    pub(crate) position: Hex,
    /// Winning moves, or the winner.
    pub(crate) expected: Vec<String>,
    /// Whether the winning moves are asked for, not the winner.
    pub(crate) find_winning: bool,
}

/// What a solver said.
pub(crate) enum Solution {
    /// The expected.
    Right,
    /// This instead.
    Wrong(String),
    /// Nothing within its limit.
    OutOfReach,
}

/// The problems of the solvers on boards of some sizes, each position once.
pub(crate) fn read(table: &str, sizes: &RangeInclusive<usize>) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|row| row[8].starts_with("dfpn-sol") || row[8].starts_with("dfs-sol"))
        .filter(|row| sizes.contains(&row[2].parse().unwrap()))
        .map(|row| Problem {
            id: format!("{} {}", row[0], row[1]),
            position: position(&row),
            expected: row[9].split_whitespace().map(str::to_owned).collect(),
            find_winning: row[8].contains("find-winning"),
        })
        .filter(|problem| seen.insert(format!("{} {}", problem.position, problem.find_winning)))
        .collect()
}

fn position(row: &[&str]) -> Hex {
    let size: usize = row[2].parse().unwrap();
    let mut cells = vec!['.'; size * size];
    let mut put = |text: &str, stone: char| {
        let column = usize::from(text.as_bytes()[0] - b'a');
        cells[(text[1..].parse::<usize>().unwrap() - 1) * size + column] = stone;
    };
    row[4].split_whitespace().for_each(|text| put(text, 'x'));
    row[5].split_whitespace().for_each(|text| put(text, 'o'));
    let n_moves = row[7].parse::<usize>().map_or(usize::MAX, |up_to| up_to.saturating_sub(1));
    for mv in row[6].split_whitespace().take(n_moves) {
        let (side, text) = mv.split_once(':').unwrap();
        put(text, if side == "B" { 'x' } else { 'o' });
    }
    let side = if row[8].ends_with("black") { 'x' } else { 'o' };
    let rows: Vec<String> = cells.chunks(size).map(|row| row.iter().collect()).collect();
    Hex::parse(size as u8, false, &format!("{} {side}", rows.join("/"))).unwrap()
}

impl Problem {
    /// Solves the problem.
    pub(crate) fn check(&self, solver: &mut HexSolver) -> Solution {
        let position = &self.position;
        let (found, right) = if self.find_winning {
            let Solved::Yes(moves) = solver.winning_moves(position).unwrap() else {
                return Solution::OutOfReach;
            };
            let found: BTreeSet<String> = moves.into_iter().map(|mv| position.move_text(mv)).collect();
            let expected: BTreeSet<String> = self.expected.iter().cloned().collect();
            // Benzene leaves out winning moves that are inferior to a listed one.
            let right = expected.is_subset(&found) && expected.is_empty() == found.is_empty();
            (format!("{found:?}"), right)
        } else {
            let Solved::Yes(wins) = solver.wins(position).unwrap() else { return Solution::OutOfReach };
            let winner = if wins { position.side_to_move() } else { position.side_to_move().other() };
            let expected = if self.expected[0] == "black" { Side::First } else { Side::Second };
            (format!("{winner:?}"), winner == expected)
        };
        if right { Solution::Right } else { Solution::Wrong(found) }
    }
}
