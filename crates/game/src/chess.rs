//! Chess and Chess960, on the rules of `shakmaty`.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod code;
mod history;
mod key;
mod notation;
mod start;
mod symmetry;
mod unmove;

pub use symmetry::ChessSymmetry;

use crate::{EndReason, Game, Move, MoveError, Moves, Outcome, PositionError, Rules, Side, game::pick};
use history::History;
use key::Key;
use shakmaty::{Bitboard, CastlingMode, Color, Position as _, Role, attacks};
use std::fmt;

/// Plies without a capture or pawn move after which a draw may be claimed.
const CLAIMABLE_PLIES: u32 = 100;
/// Plies without a capture or pawn move after which the game is drawn.
const DRAWN_PLIES: u32 = 150;

/// A chess or Chess960 position with the history that repetition needs.
///
/// The move code is `from | to << 6 | promotion << 12`: squares count from a1 = 0 along the ranks, the promotion is
/// 1 knight, 2 bishop, 3 rook, 4 queen, and castling is always the king taking its own rook. The text is UCI: `e1g1`
/// in chess, `e1h1` in Chess960. Position text is FEN, for Chess960 X-FEN; the en-passant square stands only where
/// such a capture is legal, and equality and key see it the same way.
#[derive(Clone, Debug)]
pub struct Chess {
    position: shakmaty::Chess,
    /// Kept up to date by `play_unchecked`, since every ply needs it for repetition.
    key: Key,
    history: History,
}

impl Default for Chess {
    fn default() -> Self {
        Self::from_position(shakmaty::Chess::default())
    }
}

impl Chess {
    /// Takes over a position of `shakmaty`, its castling mode included, without history.
    #[must_use]
    pub fn from_position(position: shakmaty::Chess) -> Self {
        Self { key: Key::of(&position), position, history: History::default() }
    }

    /// The Chess960 start position with this number (0 to 959; 518 is the classical array).
    #[must_use]
    pub fn start960(number: u16) -> Option<Self> {
        start::setup(number).map(Self::from_position)
    }

    /// Reads FEN, X-FEN or Shredder-FEN; missing fields take their defaults.
    ///
    /// # Errors
    /// When the text is malformed or breaks a rule: kings, pawns on a back rank, castling rights, en passant, the wrong
    /// side in check.
    pub fn parse(mode: CastlingMode, text: &str) -> Result<Self, PositionError> {
        notation::parse_position(mode, text).map(Self::from_position)
    }

    /// The position as `shakmaty` knows it.
    #[must_use]
    pub fn position(&self) -> &shakmaty::Chess {
        &self.position
    }

    /// Whether this is chess or Chess960.
    #[must_use]
    pub fn castling_mode(&self) -> CastlingMode {
        self.position.castles().mode()
    }

    /// Whether the king of the side to move is attacked.
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.position.is_check()
    }

    /// How often the position has occurred since the last irreversible move, now included.
    #[must_use]
    pub fn repetitions(&self) -> u32 {
        self.history.repetitions()
    }

    /// The code of a `shakmaty` move.
    #[must_use]
    pub fn move_code(mv: shakmaty::Move) -> Move {
        code::encode(mv)
    }

    /// The `shakmaty` move of a legal code; `None` if no piece stands on the origin or the code is malformed.
    #[must_use]
    pub fn shakmaty_move(&self, mv: Move) -> Option<shakmaty::Move> {
        code::decode(&self.position, mv)
    }

    /// The move in standard algebraic notation, with check and mate signs.
    ///
    /// # Errors
    /// When the move is not legal here.
    pub fn san(&self, mv: Move) -> Result<String, MoveError> {
        self.shakmaty_move(mv)
            .filter(|_| self.is_legal(mv))
            .map(|mv| shakmaty::san::SanPlus::from_move(self.position.clone(), mv).to_string())
            .ok_or_else(|| MoveError::Illegal { text: format!("code {}", mv.0) })
    }

    /// The draws that end a game without a look at the moves; none of them can be mate, save by 75 moves.
    fn drawn(&self) -> Option<EndReason> {
        if self.position.is_insufficient_material() {
            Some(EndReason::DeadMaterial)
        } else if self.history.repetitions() >= 5 {
            Some(EndReason::FivefoldRepetition)
        } else {
            (self.position.halfmoves() >= DRAWN_PLIES).then_some(EndReason::SeventyFiveMoves)
        }
    }
}

impl PartialEq for Chess {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
            && self.castling_mode() == other.castling_mode()
            && self.position == other.position
    }
}

impl Eq for Chess {}

impl Game for Chess {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        match self.castling_mode() {
            CastlingMode::Standard => Rules::Chess,
            CastlingMode::Chess960 => Rules::Chess960,
        }
    }

    fn side_to_move(&self) -> Side {
        match self.position.turn() {
            Color::White => Side::First,
            Color::Black => Side::Second,
        }
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        if self.drawn().is_none() {
            moves.extend(self.position.legal_moves().into_iter().map(code::encode));
        }
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        self.random_shakmaty(random).map(code::encode)
    }

    fn is_legal(&self, mv: Move) -> bool {
        self.drawn().is_none()
            && self.shakmaty_move(mv).is_some_and(|candidate| self.position.is_legal(candidate))
    }

    // Mate wins whatever was repeated or counted before, so neither key nor history is needed.
    fn winning_move(&self) -> Option<Move> {
        if self.drawn().is_some() {
            return None;
        }
        let board = self.position.board();
        let (us, occupied) = (self.position.turn(), board.occupied());
        let king = board.king_of(!us)?;
        let (straight, diagonal) =
            (attacks::rook_attacks(king, occupied), attacks::bishop_attacks(king, occupied));
        let checks_from = |role| match role {
            Role::Pawn => attacks::pawn_attacks(!us, king),
            Role::Knight => attacks::knight_attacks(king),
            Role::Bishop => diagonal,
            Role::Rook => straight,
            Role::Queen => straight | diagonal,
            Role::King => Bitboard::EMPTY,
        };
        // Few moves can give check, and only those are played: what leaves a line to the king may open it, and so may the two special moves.
        let may_check = |mv: &shakmaty::Move| match *mv {
            shakmaty::Move::Normal { role, from, to, promotion, .. } => {
                (straight | diagonal).contains(from) || checks_from(promotion.unwrap_or(role)).contains(to)
            }
            _ => true,
        };
        let mates = |mv: &shakmaty::Move| {
            let mut after = self.position.clone();
            after.play_unchecked(*mv);
            after.is_checkmate()
        };
        self.position.legal_moves().into_iter().find(|mv| may_check(mv) && mates(mv)).map(code::encode)
    }

    fn play_unchecked(&mut self, mv: Move) {
        let Some(mv) = self.shakmaty_move(mv) else { return };
        self.play_shakmaty(mv);
    }

    fn outcome(&self) -> Option<Outcome> {
        self.end_reason().map(|reason| match reason {
            EndReason::Checkmate => Outcome::Win(self.side_to_move().other()),
            _ => Outcome::Draw,
        })
    }

    fn end_reason(&self) -> Option<EndReason> {
        match self.drawn() {
            Some(reason @ (EndReason::DeadMaterial | EndReason::FivefoldRepetition)) => Some(reason),
            // Mate on the very move that completes the 75 still wins.
            drawn if self.position.legal_moves().is_empty() => Some(if self.position.is_check() {
                EndReason::Checkmate
            } else {
                drawn.unwrap_or(EndReason::Stalemate)
            }),
            drawn => drawn,
        }
    }

    fn claimable_draw(&self) -> bool {
        self.history.repetitions() >= 3 || self.position.halfmoves() >= CLAIMABLE_PLIES
    }

    fn key(&self) -> u64 {
        self.key.value()
    }

    fn ply(&self) -> u32 {
        let full = self.position.fullmoves().get() - 1;
        full.saturating_mul(2).saturating_add(u32::from(self.position.turn().is_black()))
    }

    fn move_text(&self, mv: Move) -> String {
        notation::move_text(self, mv)
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        notation::parse_move(self, text)
    }

    fn drawing(&self) -> String {
        notation::drawing(&self.position)
    }

    fn random_predecessor(&self, random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        self.unmoved(random)
    }

    fn n_views(&self) -> usize {
        symmetry::N_VIEWS
    }

    fn view(&self, view: usize) -> Option<Self> {
        symmetry::of_view(view).try_fold(self.clone(), |seen, symmetry| seen.transformed_by(symmetry))
    }

    fn move_in_view(&self, view: usize, mv: Move) -> Move {
        symmetry::of_view(view).fold(mv, |mv, symmetry| symmetry.of_move(mv))
    }

    // Codes would only be made to be read again.
    fn playout(&mut self, max_plies: u32, mut random: impl FnMut() -> u32) -> Option<Outcome> {
        for _ in 0..max_plies {
            match self.random_shakmaty(random()) {
                Some(mv) => self.play_shakmaty(mv),
                None => break,
            }
        }
        self.outcome()
    }

    // Counts need no history, and published ones do not know its draws.
    fn perft(&self, depth: u32) -> u64 {
        shakmaty::perft(&self.position, depth)
    }

    fn perft_moves_into(&self, moves: &mut Moves) {
        moves.extend(self.position.legal_moves().into_iter().map(code::encode));
    }
}

impl Chess {
    fn random_shakmaty(&self, random: u32) -> Option<shakmaty::Move> {
        if self.drawn().is_some() {
            return None;
        }
        let moves = self.position.legal_moves();
        moves.get(pick(random, moves.len())).copied()
    }

    fn play_shakmaty(&mut self, mv: shakmaty::Move) {
        let rights = self.position.castles().castling_rights();
        let before = self.key;
        let pieces = before.moved(&self.position, mv);
        self.position.play_unchecked(mv);
        self.key = pieces.completed(&self.position);
        if mv.is_zeroing() || self.position.castles().castling_rights() != rights {
            self.history.clear();
        } else {
            self.history.push(before.value(), self.key.value());
        }
    }
}

impl fmt::Display for Chess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        notation::fen(&self.position).fmt(f)
    }
}

#[cfg(test)]
mod tests;
