//! FEN, UCI, SAN and the board as text.

use super::{Chess, code};
use crate::{Game, Move, MoveError, PositionError};
use shakmaty::{
    CastlingMode, CastlingSide, EnPassantMode, File, Position, Rank, Role, Square,
    fen::Fen,
    san::{San, SanPlus},
    uci::UciMove,
};

/// FEN, or X-FEN where the inner of two rooks may castle.
pub(super) fn fen(position: &shakmaty::Chess) -> Fen {
    Fen::from_position(position, EnPassantMode::Legal)
}

pub(super) fn parse_position(mode: CastlingMode, text: &str) -> Result<shakmaty::Chess, PositionError> {
    let game = match mode {
        CastlingMode::Standard => "chess",
        CastlingMode::Chess960 => "chess960",
    };
    let bad = |reason: String| PositionError::new(game, reason);
    let fen: Fen = text.trim().parse().map_err(|error| bad(format!("{error} in '{}'", text.trim())))?;
    let setup = fen.as_setup();
    if setup.pockets.is_some() || setup.remaining_checks.is_some() || setup.promoted.any() {
        return Err(bad("fields of another variant (pockets, checks or promoted pieces)".to_owned()));
    }
    // No game leads to these two, but composed positions and published perft suites have them, and all rules hold.
    fen.into_position(mode)
        .or_else(shakmaty::PositionError::ignore_impossible_check)
        .or_else(shakmaty::PositionError::ignore_too_much_material)
        .map_err(|error| bad(error.to_string()))
}

pub(super) fn move_text(chess: &Chess, mv: Move) -> String {
    match chess.shakmaty_move(mv) {
        Some(mv) => UciMove::from_move(mv, chess.castling_mode()).to_string(),
        None => format!("code {}", mv.0),
    }
}

/// Reads UCI, castling in either spelling, or SAN.
pub(super) fn parse_move(chess: &Chess, text: &str) -> Result<Move, MoveError> {
    let illegal = || MoveError::Illegal { text: text.to_owned() };
    let position = chess.position();
    let mv = if let Ok(uci) = text.parse::<UciMove>() {
        castling_by_target(position, uci).or_else(|| uci.to_move(position).ok()).ok_or_else(illegal)?
    } else if let Some(san) = parse_san(text) {
        san.to_move(position).map_err(|_| illegal())?
    } else {
        return Err(MoveError::Syntax {
            text: text.to_owned(),
            game: chess.rules().name(),
            expected: "UCI such as e2e4 or a7a8q, or SAN such as Nf3",
        });
    };
    let mv = code::encode(mv);
    if chess.is_legal(mv) { Ok(mv) } else { Err(illegal()) }
}

/// Castling written with the king's target, which no other king move reaches if it is two files away or more.
fn castling_by_target(position: &shakmaty::Chess, uci: UciMove) -> Option<shakmaty::Move> {
    let UciMove::Normal { from, to, promotion: None } = uci else { return None };
    let side = match to.file() {
        File::G => CastlingSide::KingSide,
        File::C => CastlingSide::QueenSide,
        _ => return None,
    };
    let is_castling = position.our(Role::King).contains(from)
        && from.rank() == to.rank()
        && from.distance(to) >= 2
        // King takes rook is the other spelling; it names the rook.
        && !position.us().contains(to);
    let rook = position.castles().rook(position.turn(), side)?;
    is_castling.then_some(shakmaty::Move::Castle { king: from, rook })
}

/// SAN, with castling also written in digits.
fn parse_san(text: &str) -> Option<San> {
    let text = match text.trim_end_matches(['+', '#']) {
        "0-0" => "O-O",
        "0-0-0" => "O-O-O",
        _ => text,
    };
    SanPlus::from_ascii(text.as_bytes()).ok().map(|san| san.san)
}

/// Ranks from the top with their names, White's pieces in capitals.
pub(super) fn drawing(position: &shakmaty::Chess) -> String {
    let mut drawing = String::new();
    for rank in Rank::ALL.into_iter().rev() {
        drawing.push(rank.char());
        for file in File::ALL {
            let piece = position.board().piece_at(Square::from_coords(file, rank));
            drawing.push(' ');
            drawing.push(piece.map_or('.', |piece| piece.char()));
        }
        drawing.push('\n');
    }
    drawing.push_str("  a b c d e f g h\n");
    drawing
}
