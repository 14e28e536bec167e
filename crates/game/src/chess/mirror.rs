//! Mirror images in which the mover's chances are the same.

use super::Chess;
use crate::Move;
use shakmaty::{EnPassantMode, FromSetup, Position as _};

/// A way to mirror a chess position. Neither is a symmetry in the sense of [`Game`](crate::Game): one changes the side to move, the
/// other is not always there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mirror {
    /// Colors exchanged and the board upside down; the other side moves.
    Colors,
    /// Left and right exchanged; none while a king may still castle.
    Files,
}

impl Mirror {
    /// The same move in the mirrored position.
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

impl Chess {
    /// A mirror image, without history; `None` where there is none.
    #[must_use]
    pub fn mirrored(&self, mirror: Mirror) -> Option<Self> {
        let mut setup = self.position.to_setup(EnPassantMode::Legal);
        match mirror {
            Mirror::Colors => setup.mirror(),
            Mirror::Files if setup.castling_rights.any() => return None,
            Mirror::Files => {
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
    fn images_have_the_images_of_all_moves() {
        let mut rng = rand::rngs::StdRng::seed_from_u64(5);
        let mut n_files = 0;
        for start in [Chess::default(), Chess::start960(17).unwrap()] {
            for _ in 0..20 {
                let mut position = start.clone();
                for _ in 0..120 {
                    for mirror in [Mirror::Colors, Mirror::Files] {
                        let Some(image) = position.mirrored(mirror) else { continue };
                        n_files += usize::from(mirror == Mirror::Files);
                        assert_eq!(image.mirrored(mirror).unwrap(), position, "{position}");
                        let mut moves = crate::Moves::new();
                        position.legal_moves_into(&mut moves);
                        let mut images: Vec<_> = moves.iter().map(|mv| mirror.of_move(*mv)).collect();
                        let mut legal = crate::Moves::new();
                        image.legal_moves_into(&mut legal);
                        images.sort_unstable();
                        legal.sort_unstable();
                        assert_eq!(images[..], legal[..], "{position} {image}");
                        assert_eq!(image.end_reason().is_some(), position.end_reason().is_some());
                    }
                    let Some(mv) = position.random_move(rng.random()) else { break };
                    position.play_unchecked(mv);
                }
            }
        }
        assert!(n_files > 100, "{n_files}");
    }
}
