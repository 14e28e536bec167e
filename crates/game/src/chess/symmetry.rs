//! Symmetries of chess: the chances of the side to move are the same on the transformed board.

use super::Chess;
use crate::Move;
use shakmaty::{EnPassantMode, FromSetup, Position as _};

/// A symmetry of chess. Neither is one of the symmetries of [`Game`](crate::Game): one changes the side to move, the
/// other is not always there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChessSymmetry {
    /// Colors exchanged and the board upside down; the other side moves.
    Colors,
    /// Left and right exchanged; none while a king may still castle.
    Files,
}

impl ChessSymmetry {
    /// The same move in the transformed position.
    #[must_use]
    pub fn of_move(self, mv: Move) -> Move {
        // Squares count from a1 along the ranks, six bits each.
        let square = match self {
            Self::Colors => 0b111_000,
            Self::Files => 0b000_111,
        };
        Move(mv.0 ^ (square | square << 6))
    }
}

/// The symmetries that make view number `view` of a position, in their order.
pub(super) fn of_view(view: usize) -> impl Iterator<Item = ChessSymmetry> {
    let files = (view & 2 != 0).then_some(ChessSymmetry::Files);
    let colors = (view & 1 != 0).then_some(ChessSymmetry::Colors);
    files.into_iter().chain(colors)
}

/// Views of a position: each of the two symmetries or not.
pub(super) const N_VIEWS: usize = 4;

impl Chess {
    /// The position under a symmetry, without history; `None` where there is none.
    #[must_use]
    pub fn transformed_by(&self, symmetry: ChessSymmetry) -> Option<Self> {
        let mut setup = self.position.to_setup(EnPassantMode::Legal);
        match symmetry {
            ChessSymmetry::Colors => setup.mirror(),
            ChessSymmetry::Files if setup.castling_rights.any() => return None,
            ChessSymmetry::Files => {
                setup.board.flip_horizontal();
                setup.promoted = setup.promoted.flip_horizontal();
                setup.ep_square = setup.ep_square.map(shakmaty::Square::flip_horizontal);
            }
        }
        shakmaty::Chess::from_setup(setup, self.castling_mode()).ok().map(Self::from_position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Game;
    use rand::{Rng, SeedableRng};

    #[test]
    fn transformed_positions_have_all_moves_transformed() {
        let mut rng = rand::rngs::StdRng::seed_from_u64(5);
        let mut n_files = 0;
        for start in [Chess::default(), Chess::start960(17).unwrap()] {
            for _ in 0..20 {
                let mut position = start.clone();
                for _ in 0..120 {
                    for symmetry in [ChessSymmetry::Colors, ChessSymmetry::Files] {
                        let Some(transformed) = position.transformed_by(symmetry) else { continue };
                        n_files += usize::from(symmetry == ChessSymmetry::Files);
                        assert_eq!(transformed.transformed_by(symmetry).unwrap(), position, "{position}");
                        let mut moves = crate::Moves::new();
                        position.legal_moves_into(&mut moves);
                        let mut expected: Vec<_> = moves.iter().map(|mv| symmetry.of_move(*mv)).collect();
                        let mut legal = crate::Moves::new();
                        transformed.legal_moves_into(&mut legal);
                        expected.sort_unstable();
                        legal.sort_unstable();
                        assert_eq!(expected[..], legal[..], "{position} {transformed}");
                        assert_eq!(transformed.end_reason().is_some(), position.end_reason().is_some());
                    }
                    let Some(mv) = position.random_move(rng.random()) else { break };
                    position.play_unchecked(mv);
                }
            }
        }
        assert!(n_files > 100, "{n_files}");
    }
}
