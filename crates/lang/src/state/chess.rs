//! Chess: side, castling rights in 4 places, 64 squares from a1, en passant in 2, halfmoves, full moves in 3 digits.

use crate::vocab::{COUNTS, Token, spaced, spaced_letter};
use mavis_game::{CastlingMode, Chess};
use shakmaty::{CastlingSide, Color, Position, Square};

/// The number of fields.
pub(crate) const WIDTH: usize = 1 + 4 + 64 + 2 + 1 + 3;
pub(crate) const RIGHTS: usize = 1;
pub(crate) const SQUARES: usize = RIGHTS + 4;
pub(crate) const EN_PASSANT: usize = SQUARES + 64;
pub(crate) const HALFMOVES: usize = EN_PASSANT + 2;
pub(crate) const FULLMOVES: usize = HALFMOVES + 1;

/// The order of the four places of castling rights, with the letter each has in chess.
const CASTLES: [(Color, CastlingSide, u8); 4] = [
    (Color::White, CastlingSide::KingSide, b'K'),
    (Color::White, CastlingSide::QueenSide, b'Q'),
    (Color::Black, CastlingSide::KingSide, b'k'),
    (Color::Black, CastlingSide::QueenSide, b'q'),
];

/// Counters beyond the width (162 halfmoves, 999 moves) stay at their highest value.
pub(super) fn write(chess: &Chess, tokens: &mut Vec<Token>) {
    let position = chess.position();
    tokens.push(spaced(if position.turn().is_white() { b'w' } else { b'b' }));
    for (color, side, letter) in CASTLES {
        tokens.push(spaced(match (position.castles().rook(color, side), chess.castling_mode()) {
            (None, _) => b'-',
            (Some(_), CastlingMode::Standard) => letter,
            // The file of the rook, since Chess960 may have two of them on one side of the king.
            (Some(rook), CastlingMode::Chess960) if color.is_white() => rook.file().upper_char() as u8,
            (Some(rook), CastlingMode::Chess960) => rook.file().char() as u8,
        }));
    }
    let mut squares = [spaced(b'.'); 64];
    for (square, piece) in position.board() {
        if let Some(place) = squares.get_mut(usize::from(square)) {
            *place = spaced(piece.char() as u8);
        }
    }
    tokens.extend(squares);
    match position.legal_ep_square() {
        Some(square) => {
            tokens.push(spaced(square.file().char() as u8));
            tokens.push(COUNTS.start + 1 + u16::from(square.rank()));
        }
        None => tokens.extend([spaced(b'-'); 2]),
    }
    tokens.push(COUNTS.start + position.halfmoves().min(162) as Token);
    let fullmoves = position.fullmoves().get().min(999) as Token;
    tokens.extend([fullmoves / 100, fullmoves / 10 % 10, fullmoves % 10].map(|digit| COUNTS.start + digit));
}

/// The FEN that the fields spell, or the index of the first field out of place.
pub(super) fn text(tokens: &[Token]) -> Result<String, usize> {
    let letter = |at: usize, allowed: &[u8]| {
        tokens
            .get(at)
            .and_then(|&token| spaced_letter(token))
            .filter(|letter| allowed.contains(letter))
            .map(char::from)
            .ok_or(at)
    };
    let number = |at: usize, most: Token| {
        tokens.get(at).and_then(|&token| COUNTS.place(token)).filter(|&count| count <= most).ok_or(at)
    };
    let side = letter(0, b"wb")?;
    let mut castles = String::new();
    for (place, allowed) in [(0, b"-KABCDEFGH"), (1, b"-QABCDEFGH"), (2, b"-kabcdefgh"), (3, b"-qabcdefgh")] {
        castles.extend(Some(letter(RIGHTS + place, allowed)?).filter(|&right| right != '-'));
    }
    let mut fen = String::with_capacity(96);
    for rank in (0..8).rev() {
        let mut n_empty = 0_u8;
        for file in 0..8 {
            let cell = letter(SQUARES + 8 * rank + file, b".KQRBNPkqrbnp")?;
            if cell == '.' {
                n_empty += 1;
                continue;
            }
            if n_empty > 0 {
                fen.push(char::from(b'0' + n_empty));
                n_empty = 0;
            }
            fen.push(cell);
        }
        if n_empty > 0 {
            fen.push(char::from(b'0' + n_empty));
        }
        fen.push(if rank > 0 { '/' } else { ' ' });
    }
    let en_passant = match letter(EN_PASSANT, b"-abcdefgh")? {
        '-' => letter(EN_PASSANT + 1, b"-").map(String::from)?,
        file => format!("{file}{}", number(EN_PASSANT + 1, 8)?),
    };
    let halfmoves = number(HALFMOVES, 162)?;
    let mut fullmoves = 0;
    for place in 0..3 {
        fullmoves = 10 * fullmoves + number(FULLMOVES + place, 9)?;
    }
    let castles = if castles.is_empty() { "-" } else { &castles };
    Ok(format!("{fen}{side} {castles} {en_passant} {halfmoves} {fullmoves}"))
}

const _: () = assert!(Square::A1 as u8 == 0 && Square::H1 as u8 == 7 && FULLMOVES + 3 == WIDTH);
