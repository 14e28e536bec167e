//! Random games that save their bridges.

use super::field::{Field, Place};
use mavis_game::Side;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;

/// Room that playouts share, so that none allocates.
#[derive(Default)]
pub(super) struct Playout {
    /// Empty cells in the order they will be drawn; filled ones are skipped.
    order: Vec<u16>,
    pub(super) seen: Vec<bool>,
}

impl Playout {
    /// Fills the board and gives the winner.
    pub(super) fn run(&mut self, field: &mut Field, random: &mut Xoshiro256PlusPlus) -> Side {
        self.order.clear();
        self.order.extend(field.empty().map(|place| place as u16));
        for idx in (1..self.order.len()).rev() {
            let other = ((u64::from(random.next_u32()) * (idx as u64 + 1)) >> 32) as usize;
            self.order.swap(idx, other);
        }
        let mut last = None;
        let mut at = 0;
        loop {
            let place = match last.and_then(|last| broken_bridge(field, last, random)) {
                Some(place) => place,
                None => {
                    while at < self.order.len() && field.at(usize::from(self.order[at])) != Place::Empty {
                        at += 1;
                    }
                    match self.order.get(at) {
                        Some(&place) => usize::from(place),
                        None => break,
                    }
                }
            };
            field.play(place);
            last = Some(place);
        }
        field.winner(&mut self.seen)
    }
}

/// The cell that saves a bridge of the side to move which the stone on `last` has just cut into.
fn broken_bridge(field: &Field, last: usize, random: &mut Xoshiro256PlusPlus) -> Option<usize> {
    let own = Place::Stone(field.side);
    let ring = field.ring(last);
    let mut found = None;
    let mut n_found = 0;
    for idx in 0..6 {
        // The two cells of a bridge touch, and its stones touch both of them.
        let ends = [ring[(idx + 1) % 6], ring[(idx + 5) % 6]];
        if field.at(ring[idx]) == Place::Empty && ends.iter().all(|&end| field.at(end) == own) {
            n_found += 1;
            if random.next_u32().is_multiple_of(n_found) {
                found = Some(ring[idx]);
            }
        }
    }
    found
}
