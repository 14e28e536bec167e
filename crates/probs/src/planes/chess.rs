//! Chess: six kinds of piece for each side, castling rooks and the en-passant square, turned so that the mover plays upward.
//!
//! Move counters and repetitions are left out: equal positions have equal planes.

use super::{Planes, set_bits};
use mavis_game::{Chess, Move};
use shakmaty::{Color, EnPassantMode, Position as _, Role};

const N_CHANNELS: usize = 14;
/// From any square to any other; promotions to a queen are among them.
const N_PLAIN: usize = 64 * 64;

impl Planes for Chess {
    fn shape(&self) -> [usize; 3] {
        [8, 8, N_CHANNELS]
    }

    /// Plain moves, then three underpromotions from eight files to eight files.
    fn n_actions(&self) -> usize {
        N_PLAIN + 3 * 64
    }

    fn write(&self, planes: &mut [f32]) {
        let position = self.position();
        let turn = position.turn();
        let seen = |bits: u64| if turn == Color::White { bits } else { bits.swap_bytes() };
        let board = position.board();
        for (half, color) in [turn, turn.other()].into_iter().enumerate() {
            for (kind, role) in Role::ALL.into_iter().enumerate() {
                let pieces = board.by_color(color) & board.by_role(role);
                set_bits(planes, N_CHANNELS, 6 * half + kind, seen(pieces.0));
            }
        }
        set_bits(planes, N_CHANNELS, 12, seen(position.castles().castling_rights().0));
        if let Some(square) = position.ep_square(EnPassantMode::Legal) {
            set_bits(planes, N_CHANNELS, 13, seen(1 << u32::from(square)));
        }
    }

    fn action(&self, mv: Move) -> usize {
        let flip = if self.position().turn() == Color::White { 0 } else { 56 };
        let (from, to) = (usize::from(mv.0 & 63) ^ flip, usize::from(mv.0 >> 6 & 63) ^ flip);
        match usize::from(mv.0 >> 12) {
            promotion @ 1..=3 => N_PLAIN + (promotion - 1) * 64 + (from & 7) * 8 + (to & 7),
            _ => from * 64 + to,
        }
    }
}
