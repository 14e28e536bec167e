//! What is marked on a board.

use std::collections::VecDeque;

/// Why a cell stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// The last move.
    Last,
    /// Part of the line or chain that won.
    Winning,
    /// A king in check.
    Attacked,
    /// An empty place where the side to move may play.
    Legal,
}

type Cells = [(char, Mark)];

/// The cells of a line of four on a board of seven columns, the longest there is.
pub(super) fn connect4_line(cells: &Cells) -> Vec<usize> {
    let at = |row: i32, column: i32| -> Option<(usize, char)> {
        let inside = (0..6).contains(&row) && (0..7).contains(&column);
        let index = usize::try_from(row * 7 + column).ok().filter(|_| inside)?;
        cells.get(index).map(|cell| (index, cell.0)).filter(|(_, content)| *content != '.')
    };
    let mut longest = Vec::new();
    for row in 0..6 {
        for column in 0..7 {
            for (down, right) in [(0, 1), (1, 0), (1, 1), (1, -1)] {
                let Some((_, own)) = at(row, column) else { continue };
                let line: Vec<usize> = (0..7)
                    .map_while(|step| at(row + step * down, column + step * right))
                    .take_while(|(_, content)| *content == own)
                    .map(|(index, _)| index)
                    .collect();
                if line.len() >= 4 && line.len() > longest.len() {
                    longest = line;
                }
            }
        }
    }
    longest
}

/// A shortest chain that joins a player's two edges, or nothing.
pub(super) fn hex_path(cells: &Cells, size: usize) -> Vec<usize> {
    // The first player joins top and bottom, the second left and right.
    joined(cells, size, 'x', |index| index / size)
        .or_else(|| joined(cells, size, 'o', |index| index % size))
        .unwrap_or_default()
}

fn joined(cells: &Cells, size: usize, stone: char, depth: impl Fn(usize) -> usize) -> Option<Vec<usize>> {
    let is_own = |index: &usize| cells.get(*index).is_some_and(|cell| cell.0 == stone);
    let mut before: Vec<Option<usize>> = vec![None; cells.len()];
    let mut queue: VecDeque<usize> =
        (0..cells.len()).filter(|&index| depth(index) == 0).filter(is_own).collect();
    let mut seen: Vec<bool> = (0..cells.len()).map(|index| queue.contains(&index)).collect();
    while let Some(index) = queue.pop_front() {
        if depth(index) + 1 == size {
            return Some(std::iter::successors(Some(index), |&at| before[at]).collect());
        }
        for next in neighbors(index, size).filter(is_own) {
            if !std::mem::replace(&mut seen[next], true) {
                before[next] = Some(index);
                queue.push_back(next);
            }
        }
    }
    None
}

/// b2 touches b1, c1, a2, c2, a3 and b3.
fn neighbors(index: usize, size: usize) -> impl Iterator<Item = usize> {
    let (row, column) = (index / size, index % size);
    let steps = [(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)];
    steps.into_iter().filter_map(move |(down, right)| {
        let row = row.checked_add_signed(down).filter(|&row| row < size)?;
        let column = column.checked_add_signed(right).filter(|&column| column < size)?;
        Some(row * size + column)
    })
}
