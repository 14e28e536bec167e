//! Random games of Hex without looking at the board after each stone.

use super::flood::{self, Rows};
use super::{Hex, MAX_SIZE};
use crate::{Game, Outcome, Side, game::pick};

/// Plays at random until one side has joined its edges or `max_plies` are played.
///
/// A connection stays whatever comes later and only one side can have one. So the empty cells are shuffled and all
/// of them filled, one flood fill finds the winner, and a search by halves finds the stone that won: the position ends
/// as if the stones had been played one by one up to it, at a fraction of the work. The numbers of `random` beyond
/// that stone are drawn all the same.
pub(super) fn playout(
    position: &mut Hex,
    max_plies: u32,
    mut random: impl FnMut() -> u32,
) -> Option<Outcome> {
    let mut plies_left = max_plies as usize;
    if position.may_swap() && plies_left > 0 {
        // The swap is no placement; the choice is over after one ply.
        let mv = position.random_move(random())?;
        position.play_unchecked(mv);
        plies_left -= 1;
    }
    if position.winner.is_some() {
        return position.outcome();
    }
    let mut cells = [Cell::default(); MAX_SIZE * MAX_SIZE];
    let n_empty = list_empty(position, &mut cells);
    let n_plies = n_empty.min(plies_left);
    for index in 0..n_plies {
        cells.swap(index, index + pick(random(), n_empty - index));
    }
    let cells = &cells[..n_plies];
    position.winner = winner(position, cells, n_plies == n_empty);
    let n_played = match position.winner {
        Some(side) => plies_to_win(position, cells, side),
        None => n_plies,
    };
    for cell in &cells[..n_played] {
        position.place(position.side, cell.row.into(), cell.column.into());
        position.pass_turn();
    }
    position.outcome()
}

#[derive(Clone, Copy, Default)]
struct Cell {
    row: u8,
    column: u8,
}

fn list_empty(position: &Hex, cells: &mut [Cell]) -> usize {
    let mut n_cells = 0;
    for row in 0..position.size() {
        let mut empty = position.empty(row);
        while empty != 0 {
            cells[n_cells] = Cell { row: row as u8, column: empty.trailing_zeros() as u8 };
            n_cells += 1;
            empty &= empty - 1;
        }
    }
    n_cells
}

/// Who has joined the edges once all of `cells` are filled in turn.
fn winner(position: &Hex, cells: &[Cell], is_full: bool) -> Option<Side> {
    let joins = |side| flood::joins(&filled(position, cells, side), position.size(), side);
    if joins(Side::First) {
        Some(Side::First)
    } else {
        // On a full board exactly one side is connected.
        (is_full || joins(Side::Second)).then_some(Side::Second)
    }
}

/// The smallest number of plies after which `side`, who wins at the latest by the last, has won.
fn plies_to_win(position: &Hex, cells: &[Cell], side: Side) -> usize {
    let (mut before, mut after) = (0, cells.len());
    while before + 1 < after {
        let middle = before.midpoint(after);
        if flood::joins(&filled(position, &cells[..middle], side), position.size(), side) {
            after = middle;
        } else {
            before = middle;
        }
    }
    after
}

/// The stones of `side` once `cells` are filled in turn.
fn filled(position: &Hex, cells: &[Cell], side: Side) -> Rows {
    let mut stones = position.stones[side.index()];
    for cell in cells.iter().skip(usize::from(side != position.side)).step_by(2) {
        stones[usize::from(cell.row)] |= 1 << cell.column;
    }
    stones
}
