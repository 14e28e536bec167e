//! The key of a position, kept up to date move by move.

use shakmaty::{
    CastlingMode, Color, File, Move, Piece, Position, Square,
    zobrist::{Zobrist64, ZobristValue},
};

/// Tells Chess960 from chess, whose positions may otherwise look the same.
const CHESS960: u64 = 0x5851_F42D_4C95_7F2D;

/// Zobrist keys of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Pieces and side to move: the part that a move changes in few places.
    pieces: u64,
    /// The whole, with castling rights and the legal en-passant square.
    value: u64,
}

impl Key {
    /// The key of `position` from scratch.
    pub(super) fn of(position: &shakmaty::Chess) -> Self {
        let mut pieces = match position.castles().mode() {
            CastlingMode::Standard => 0,
            CastlingMode::Chess960 => CHESS960,
        };
        for (square, piece) in position.board() {
            pieces ^= of_piece(square, piece);
        }
        if position.turn() == Color::White {
            pieces ^= Zobrist64::zobrist_for_white_turn().0;
        }
        Self { pieces, value: 0 }.completed(position)
    }

    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// The key after `mv`, of which only the pieces are right; `completed` adds the rest once the move is played.
    pub(super) fn moved(mut self, before: &shakmaty::Chess, mv: Move) -> Self {
        let turn = before.turn();
        let mut flip = |square, piece| self.pieces ^= of_piece(square, piece);
        match mv {
            Move::Normal { role, from, capture, to, promotion } => {
                flip(from, role.of(turn));
                flip(to, promotion.unwrap_or(role).of(turn));
                if let Some(capture) = capture {
                    flip(to, capture.of(!turn));
                }
            }
            Move::EnPassant { from, to } => {
                flip(from, turn.pawn());
                flip(to, turn.pawn());
                flip(Square::from_coords(to.file(), from.rank()), (!turn).pawn());
            }
            Move::Castle { king, rook } => {
                let (king_file, rook_file) =
                    if king < rook { (File::G, File::F) } else { (File::C, File::D) };
                flip(king, turn.king());
                flip(rook, turn.rook());
                flip(Square::from_coords(king_file, king.rank()), turn.king());
                flip(Square::from_coords(rook_file, rook.rank()), turn.rook());
            }
            // Drops do not exist in chess.
            Move::Put { .. } => {}
        }
        self.pieces ^= Zobrist64::zobrist_for_white_turn().0;
        self
    }

    /// Adds castling rights and en passant of the position whose pieces the key already has.
    pub(super) fn completed(mut self, position: &shakmaty::Chess) -> Self {
        // The rooks' squares rather than sides, since Chess960 may have two rooks on one side of the king.
        let rights = position.castles().castling_rights().0;
        self.value = self.pieces ^ spread(rights);
        if let Some(square) = position.legal_ep_square() {
            self.value ^= Zobrist64::zobrist_for_en_passant_file(square.file()).0;
        }
        self
    }
}

fn of_piece(square: Square, piece: Piece) -> u64 {
    Zobrist64::zobrist_for_piece(square, piece).0
}

/// A bijection that spreads a bitboard over all bits; zero stays zero.
fn spread(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (bits ^ bits >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
