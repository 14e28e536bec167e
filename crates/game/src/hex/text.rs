//! Position and move text of Hex, and its drawing.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use super::{Hex, flood, zobrist};
use crate::{Game, Move, MoveError, PositionError, Side};
use std::fmt;

pub(super) fn parse(size: u8, swap_rule: bool, text: &str) -> Result<Hex, PositionError> {
    let mut position = Hex::new(size, swap_rule);
    let (board, side) = text.trim().split_once(' ').ok_or_else(|| bad("expected 'ROWS SIDE'".to_owned()))?;
    let rows: Vec<&str> = board.split('/').collect();
    if rows.len() != position.size() {
        return Err(bad(format!("expected {size} rows, got {}", rows.len())));
    }
    for (row, cells) in rows.into_iter().enumerate() {
        if cells.chars().count() != position.size() {
            return Err(bad(format!("row '{cells}' does not have {size} cells")));
        }
        for (column, cell) in cells.chars().enumerate() {
            match cell {
                'x' => position.place(Side::First, row, column),
                'o' => position.place(Side::Second, row, column),
                '.' => {}
                other => return Err(bad(format!("unknown cell '{other}'"))),
            }
        }
    }
    match side {
        "x" => {}
        "o" => {
            position.side = Side::Second;
            position.key ^= zobrist::SIDE;
        }
        _ => return Err(bad(format!("unknown side '{side}'"))),
    }
    let joins = |side: Side| flood::joins(side.of(&position.stones), position.size(), side);
    if joins(position.side) {
        return Err(bad("the side to move has already won".to_owned()));
    }
    position.winner = Some(position.side.other()).filter(|&side| joins(side));
    Ok(position)
}

fn bad(reason: String) -> PositionError {
    PositionError::new("hex", reason)
}

/// Reads a move that need not be legal.
pub(super) fn parse_move(position: &Hex, text: &str) -> Result<Move, MoveError> {
    let syntax = || MoveError::Syntax {
        text: text.to_owned(),
        game: "hex",
        expected: "a cell of the board such as b3, or swap",
    };
    if text == "swap" {
        return Ok(Hex::SWAP);
    }
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_lowercase).ok_or_else(syntax)?;
    let number = letters.as_str();
    let column = usize::from((letter as u8).saturating_sub(b'a'));
    // Only the spelling that is printed: no sign, no leading zero.
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    let row = number.parse::<usize>().ok().filter(|_| plain).and_then(|row| row.checked_sub(1));
    match row {
        Some(row) if row.max(column) < position.size() => Ok(position.placement(row, column)),
        _ => Err(syntax()),
    }
}

pub(super) fn column_letter(column: usize) -> char {
    char::from(b'a'.saturating_add(column as u8))
}

fn cell_text(position: &Hex, row: usize, column: usize) -> &'static str {
    match position.cell(row, column) {
        Some(Side::First) => "x",
        Some(Side::Second) => "o",
        None => ".",
    }
}

pub(super) fn write(position: &Hex, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for row in 0..position.size() {
        if row > 0 {
            f.write_str("/")?;
        }
        (0..position.size()).try_for_each(|column| f.write_str(cell_text(position, row, column)))?;
    }
    f.write_str(if position.side_to_move() == Side::First { " x" } else { " o" })
}

/// The rhombus, with letters above and below and each edge's owner named.
pub(super) fn drawing(position: &Hex) -> String {
    let size = position.size();
    let letters: String = (0..size).map(|column| format!(" {}", column_letter(column))).collect();
    let mut drawing = format!("  {letters}\n");
    for (row, number) in (0..size).zip(1..) {
        let cells: String =
            (0..size).map(|column| format!(" {}", cell_text(position, row, column))).collect();
        drawing.push_str(&format!("{}{:>3}{cells}  {}\n", " ".repeat(row), number, number));
    }
    drawing.push_str(&format!("{}   {letters}\n", " ".repeat(size)));
    drawing.push_str("x joins top and bottom, o joins left and right\n");
    drawing
}
