//! Position text and drawing of Togyz Kumalak.

use super::{N_BOTH, N_PITS, N_STONES, Togyz};
use crate::{Game, PositionError, Side};
use std::fmt;

pub(super) fn parse(text: &str) -> Result<Togyz, PositionError> {
    let fields: Vec<&str> = text.trim().split(' ').collect();
    let [pits, kazans, side] = fields[..] else {
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
    for (index, pit) in pits.into_iter().enumerate() {
        let place = side.index() * N_PITS + index;
        if pit != "X" {
            position.pits[place] = parse_count(pit)?;
            continue;
        }
        position.pits[place] = 0;
        if index == N_PITS - 1 {
            return Err(bad("pit 9 is never a tuzdyk".to_owned()));
        }
        if position.tuzdyks[side.other().index()].replace(place as u8).is_some() {
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
    for pit in 0..N_BOTH {
        f.write_str(match pit {
            0 => "",
            N_PITS => "/",
            _ => ",",
        })?;
        f.write_str(&pit_text(position, pit))?;
    }
    let side = if position.side_to_move() == Side::First { "w" } else { "b" };
    write!(f, " {},{} {side}", position.kazans[0], position.kazans[1])
}

fn pit_text(position: &Togyz, pit: usize) -> String {
    if position.tuzdyks.contains(&Some(pit as u8)) { "X".to_owned() } else { position.pits[pit].to_string() }
}

/// The second player sits at the top, so sowing runs counterclockwise.
pub(super) fn drawing(position: &Togyz) -> String {
    let line = |label: &str, cells: Vec<String>, tail: String| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>4}")).collect();
        format!("{label:>6} {cells}{tail}\n")
    };
    let numbers = |pits: &[usize]| pits.iter().map(|pit| (pit % N_PITS + 1).to_string()).collect();
    let counts = |pits: &[usize]| pits.iter().map(|&pit| pit_text(position, pit)).collect();
    let kazan = |side: Side| format!("   kazan {}", position.kazan(side));
    let bottom: Vec<usize> = (0..N_PITS).collect();
    let top: Vec<usize> = (N_PITS..N_BOTH).rev().collect();
    let rule = format!("{:>8}{}\n", "", "-".repeat(4 * N_PITS));
    [
        line("", numbers(&top), String::new()),
        line("black", counts(&top), kazan(Side::Second)),
        rule,
        line("white", counts(&bottom), kazan(Side::First)),
        line("", numbers(&bottom), String::new()),
    ]
    .concat()
}
