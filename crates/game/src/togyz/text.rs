//! Position text and drawing of Togyz Kumalak.
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

use super::{N_BOTH, N_PITS, N_STONES, Togyz};
use crate::{Game, PositionError, Side};
use std::fmt;

pub(super) fn parse(text: &str) -> Result<Togyz, PositionError> {
    let fields: Vec<&str> = text.trim().split(' ').collect();
    let [pits, kazans, side] = *fields else {
        return Err(bad("expected 'PITS/PITS KAZANS SIDE'".to_owned()));
    };
    let mut position = Togyz { kazans: parse_kazans(kazans)?, ..Togyz::default() };
    (position.side, position.ply) = match side {
        "w" => (Side::First, 0),
        "b" => (Side::Second, 1),
        _ => return Err(bad(format!("unknown side '{side}'"))),
    };
    let (first, second) =
        pits.split_once('/').ok_or_else(|| bad("expected the pits of two sides with '/'".to_owned()))?;
    for (row, side) in [(first, Side::First), (second, Side::Second)] {
        parse_pits(&mut position, row, side)?;
    }
    let stones = position.pits.iter().chain(&position.kazans).map(|&n| u32::from(n)).sum::<u32>();
    if stones != N_STONES {
        return Err(bad(format!("expected {N_STONES} stones in all, got {stones}")));
    }
    if let (Some(first), Some(second)) = (position.tuzdyk(Side::First), position.tuzdyk(Side::Second))
        && first == second
    {
        return Err(bad(format!("both tuzdyks are on pit {first}")));
    }
    Ok(position)
}

fn parse_kazans(text: &str) -> Result<[u8; 2], PositionError> {
    let (first, second) =
        text.split_once(',').ok_or_else(|| bad(format!("expected two kazans, got '{text}'")))?;
    Ok([parse_count(first)?, parse_count(second)?])
}

/// Reads the pits of `side`; a tuzdyk among them is the other side's.
fn parse_pits(position: &mut Togyz, row: &str, side: Side) -> Result<(), PositionError> {
    let pits: Vec<&str> = row.split(',').collect();
    if pits.len() != N_PITS {
        return Err(bad(format!("expected 9 pits in '{row}', got {}", pits.len())));
    }
    let tuzdyk = side.other().of_mut(&mut position.tuzdyks);
    let start = if side == Side::First { 0 } else { N_PITS };
    let places = position.pits.iter_mut().enumerate().skip(start);
    for ((pit, number), (place, stones)) in pits.into_iter().zip(1..).zip(places) {
        if pit != "X" {
            *stones = parse_count(pit)?;
            continue;
        }
        *stones = 0;
        if number == N_PITS {
            return Err(bad("pit 9 is never a tuzdyk".to_owned()));
        }
        if tuzdyk.replace(place as u8).is_some() {
            return Err(bad(format!("two tuzdyks in '{row}'")));
        }
    }
    Ok(())
}

fn parse_count(text: &str) -> Result<u8, PositionError> {
    // Only the spelling that is printed, so that equal positions have equal text.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let count = if plain { text.parse().ok() } else { None };
    count.filter(|&n| u32::from(n) <= N_STONES).ok_or_else(|| bad(format!("'{text}' is no count of stones")))
}

fn bad(reason: String) -> PositionError {
    PositionError::new("togyz", reason)
}

pub(super) fn write(position: &Togyz, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (pit, stones) in pit_texts(position).iter().enumerate() {
        f.write_str(match pit {
            0 => "",
            N_PITS => "/",
            _ => ",",
        })?;
        f.write_str(stones)?;
    }
    let side = if position.side_to_move() == Side::First { "w" } else { "b" };
    write!(f, " {},{} {side}", position.kazans[0], position.kazans[1])
}

/// The stones of every pit, or X for a tuzdyk.
fn pit_texts(position: &Togyz) -> [String; N_BOTH] {
    let mut pits = 0..;
    position.pits.map(|stones| {
        let is_tuzdyk = position.tuzdyks.contains(&pits.next());
        if is_tuzdyk { "X".to_owned() } else { stones.to_string() }
    })
}

/// The second player sits at the top, so sowing runs counterclockwise.
pub(super) fn drawing(position: &Togyz) -> String {
    let line = |label: &str, cells: Vec<String>, tail: String| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>4}")).collect();
        format!("{label:>6} {cells}{tail}\n")
    };
    let kazan = |side: Side| format!("   kazan {}", position.kazan(side));
    let numbers: Vec<String> = (1..=N_PITS).map(|pit| pit.to_string()).collect();
    let reversed = numbers.iter().rev().cloned().collect();
    let (mut bottom, mut top) = (pit_texts(position).to_vec(), Vec::new());
    top.extend(bottom.drain(N_PITS..).rev());
    let rule = format!("{:>8}{}\n", "", "-".repeat(4 * N_PITS));
    [
        line("", reversed, String::new()),
        line("black", top, kazan(Side::Second)),
        rule,
        line("white", bottom, kazan(Side::First)),
        line("", numbers, String::new()),
    ]
    .concat()
}
