//! Sowing taken back.

use super::{HALF, N_BOTH, N_PITS, Togyz};
use crate::{Game, Move, game::pick};

/// The most stones a pit is assumed to have had; more are hardly ever seen, and every number is looked at.
const MOST_SOWN: usize = 48;
/// Captures larger than this are not looked for.
const MOST_CAPTURED: u8 = 40;

/// See [`Game::random_predecessor`]: all ways of taking the last move back are found, and one is drawn.
pub(super) fn predecessor(after: &Togyz, mut random: impl FnMut() -> u32) -> Option<(Togyz, Move)> {
    let mover = after.side.other().index();
    let mut found = Vec::with_capacity(32);
    for code in 0..N_PITS {
        let from = mover * N_PITS + code;
        for n_sown in 1..=MOST_SOWN {
            // What the sowing itself leaves in its own pit is all that is there now, so most counts are out at once.
            let here = sown_into(from, n_sown, from);
            if after.pits[from] == here {
                unsow(after, from, n_sown, &mut found);
            }
        }
    }
    (!found.is_empty()).then(|| found.swap_remove(pick(random(), found.len())))
}

/// Stones that sowing `n_sown` from a pit puts into another (or into itself).
fn sown_into(from: usize, n_sown: usize, pit: usize) -> u8 {
    let first = if n_sown == 1 { from + 1 } else { from };
    let distance = (pit + 2 * N_BOTH - first) % N_BOTH;
    if distance >= n_sown { 0 } else { ((n_sown - distance - 1) / N_BOTH + 1) as u8 }
}

/// Adds the positions before a sowing of so many stones: without a capture, with one of any size, with a new tuzdyk.
fn unsow(after: &Togyz, from: usize, n_sown: usize, found: &mut Vec<(Togyz, Move)>) {
    let mover = after.side.other().index();
    let last = (from + n_sown.max(2) - 1) % N_BOTH;
    let mut tuzdyks = after.tuzdyks;
    let mut attempt = |captured: u8, tuzdyks: [Option<u8>; 2]| {
        if let Some(before) = restored(after, from, n_sown, captured, tuzdyks) {
            let mv = Move((from % N_PITS) as u16);
            let mut again = before;
            again.play_unchecked(mv);
            if before.is_legal(mv) && again == *after {
                found.push((before, mv));
            }
        }
    };
    attempt(0, tuzdyks);
    if after.pits[last] != 0 || last / N_PITS == mover {
        return;
    }
    for captured in (2..=MOST_CAPTURED).step_by(2) {
        attempt(captured, tuzdyks);
    }
    if tuzdyks[mover] == Some(last as u8) {
        tuzdyks[mover] = None;
        attempt(3, tuzdyks);
    }
}

/// The position before, `captured` stones having gone from the last pit to the mover's kazan.
fn restored(
    after: &Togyz,
    from: usize,
    n_sown: usize,
    captured: u8,
    tuzdyks: [Option<u8>; 2],
) -> Option<Togyz> {
    let mover = after.side.other();
    let last = (from + n_sown.max(2) - 1) % N_BOTH;
    let mut before = Togyz { tuzdyks, side: mover, ply: after.ply.saturating_sub(1), ..*after };
    before.kazans[mover.index()] = before.kazans[mover.index()].checked_sub(captured)?;
    before.pits[last] += captured;
    for pit in 0..N_BOTH {
        let sown = sown_into(from, n_sown, pit);
        // What fell into a tuzdyk went on to its owner.
        match tuzdyks.iter().position(|tuzdyk| *tuzdyk == Some(pit as u8)) {
            Some(owner) => before.kazans[owner] = before.kazans[owner].checked_sub(sown)?,
            None => before.pits[pit] = before.pits[pit].checked_sub(sown)?,
        }
    }
    before.pits[from] = n_sown as u8;
    // Tuzdyks are always empty, and a majority ends the game.
    let emptied = tuzdyks.iter().flatten().all(|&pit| before.pits[usize::from(pit)] == 0);
    (emptied && before.kazans[0].max(before.kazans[1]) <= HALF).then_some(before)
}
