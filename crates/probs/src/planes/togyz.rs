//! Togyz Kumalak: two rows of nine pits, the mover's first; an action is one of the mover's pits.
//!
//! A pit's count is one of 18 channels and "18 or more" (with 18 stones a sowing comes round), beside its size and parity, for
//! captures hang on it. Paper 004 uses 84 channels; counts beyond a round are rare, so these carry nearly the same.

use super::Planes;
use mavis_game::{Game as _, Move, Togyz};

/// Counts 0 to 17 and more, the count itself, whether it is even, both tuzdyks, both kazans.
const N_CHANNELS: usize = 25;

impl Planes for Togyz {
    fn shape(&self) -> [usize; 3] {
        [2, 9, N_CHANNELS]
    }

    fn n_actions(&self) -> usize {
        9
    }

    fn write(&self, planes: &mut [f32]) {
        let side = self.side_to_move();
        let kazan = |side| f32::from(self.kazan(side)) / 81.0;
        for (row, owner) in [side, side.other()].into_iter().enumerate() {
            // A tuzdyk lies among the pits of the other side.
            let tuzdyk = self.tuzdyk(owner.other());
            for (pit, &count) in self.pits(owner).iter().enumerate() {
                let cell = &mut planes[(row * 9 + pit) * N_CHANNELS..][..N_CHANNELS];
                cell[usize::from(count.min(18))] = 1.0;
                cell[19] = f32::from(count) / 18.0;
                cell[20] = f32::from(count % 2 == 0);
                if tuzdyk == Some(pit as u8 + 1) {
                    cell[21 + row] = 1.0;
                }
                cell[23] = kazan(side);
                cell[24] = kazan(side.other());
            }
        }
    }

    fn action(&self, mv: Move) -> usize {
        usize::from(mv.0)
    }
}
