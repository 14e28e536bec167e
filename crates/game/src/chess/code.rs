//! The 16-bit code of a chess move.

use crate::Move;
use shakmaty::{Position, Role, Square};

/// `from | to << 6 | promotion << 12`, castling as the king taking its rook.
pub(super) fn encode(mv: shakmaty::Move) -> Move {
    let promotion = mv.promotion().map_or(0, |role| u16::from(role) - u16::from(Role::Pawn));
    // Only drops have no origin, and chess has none.
    let from = mv.from().map_or(0, u16::from);
    Move(from | u16::from(mv.to()) << 6 | promotion << 12)
}

/// The move a code means in `position`, legal or not; `None` where no piece could make it.
pub(super) fn decode(position: &shakmaty::Chess, mv: Move) -> Option<shakmaty::Move> {
    let from = Square::new(u32::from(mv.0 & 63));
    let to = Square::new(u32::from(mv.0 >> 6 & 63));
    let promotion = match mv.0 >> 12 {
        0 => None,
        1 => Some(Role::Knight),
        2 => Some(Role::Bishop),
        3 => Some(Role::Rook),
        4 => Some(Role::Queen),
        _ => return None,
    };
    let board = position.board();
    let role = board.role_at(from)?;
    if promotion.is_some() && role != Role::Pawn {
        return None;
    }
    Some(match role {
        Role::King if position.us().contains(to) => shakmaty::Move::Castle { king: from, rook: to },
        Role::Pawn if from.file() != to.file() && !board.occupied().contains(to) => {
            // A promotion is never en passant, and the two must not share a meaning.
            promotion.is_none().then_some(shakmaty::Move::EnPassant { from, to })?
        }
        _ => shakmaty::Move::Normal { role, from, capture: board.role_at(to), to, promotion },
    })
}
