//! Othello: own discs, the opponent's, legal squares and the board itself, 4x8x8 as in paper 004; 64 squares and the pass.

use super::{Planes, set_bits};
use mavis_game::{Move, Othello};

impl Planes for Othello {
    fn shape(&self) -> [usize; 3] {
        [8, 8, 4]
    }

    fn n_actions(&self) -> usize {
        65
    }

    fn write(&self, planes: &mut [f32]) {
        for (channel, cells) in [self.own(), self.opponent(), self.placements(), !0].into_iter().enumerate() {
            set_bits(planes, 4, channel, cells);
        }
    }

    fn action(&self, mv: Move) -> usize {
        usize::from(mv.0)
    }
}
