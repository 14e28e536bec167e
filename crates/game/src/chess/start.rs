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
    *rank.get_mut(number % 4 * 2 + 1)? = Some(Role::Bishop);
    *rank.get_mut(number / 4 % 4 * 2)? = Some(Role::Bishop);
    *free_files(&mut rank).nth(number / 16 % 6)? = Some(Role::Queen);
    let [one, other] = KNIGHTS.get(number / 96)?;
    for (file, role) in free_files(&mut rank).enumerate() {
        if file == *one || file == *other {
            *role = Some(Role::Knight);
        }
    }
    let mut rest = [Role::Rook, Role::King, Role::Rook].into_iter();
    let mut roles = [Role::Rook; 8];
    for (role, placed) in roles.iter_mut().zip(rank) {
        *role = placed.or_else(|| rest.next())?;
    }
    Some(roles)
}

fn free_files(rank: &mut [Option<Role>; 8]) -> impl Iterator<Item = &mut Option<Role>> {
    rank.iter_mut().filter(|role| role.is_none())
}
