//! Chess960 start positions by number.

use shakmaty::{Bitboard, Board, CastlingMode, Color, File, Rank, Role, Setup, Square};

/// The start position with this number, or `None` from 960 up (Scharnagl's numbering).
pub(super) fn setup(number: u16) -> Option<shakmaty::Chess> {
    let roles = back_rank(number)?;
    let mut board = Board::empty();
    let mut castling_rights = Bitboard::EMPTY;
    for (file, role) in File::ALL.into_iter().zip(roles) {
        for (color, pawns) in [(Color::White, Rank::Second), (Color::Black, Rank::Seventh)] {
            let square = Square::from_coords(file, color.backrank());
            board.set_piece_at(square, role.of(color));
            board.set_piece_at(Square::from_coords(file, pawns), color.pawn());
            if role == Role::Rook {
                castling_rights.add(square);
            }
        }
    }
    Setup { board, castling_rights, ..Setup::empty() }.position(CastlingMode::Chess960).ok()
}

/// The pieces from the a-file on.
fn back_rank(number: u16) -> Option<[Role; 8]> {
    /// Which two of the five files left the knights take.
    const KNIGHTS: [[usize; 2]; 10] =
        [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]];
    let number = usize::from(number);
    let mut rank = [None; 8];
    rank[number % 4 * 2 + 1] = Some(Role::Bishop);
    rank[number / 4 % 4 * 2] = Some(Role::Bishop);
    let free = free_files(&rank);
    rank[free[number / 16 % 6]] = Some(Role::Queen);
    let free = free_files(&rank);
    for knight in KNIGHTS.get(number / 96)? {
        rank[free[*knight]] = Some(Role::Knight);
    }
    let mut rest = [Role::Rook, Role::King, Role::Rook].into_iter();
    let mut roles = [Role::Rook; 8];
    for (role, placed) in roles.iter_mut().zip(rank) {
        *role = placed.or_else(|| rest.next())?;
    }
    Some(roles)
}

fn free_files(rank: &[Option<Role>; 8]) -> Vec<usize> {
    (0..8).filter(|&file| rank[file].is_none()).collect()
}
