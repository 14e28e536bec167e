//! Moves taken back: a position that leads to a given one, and the move that does.
//!
//! Candidates are drawn by weight and each is checked by playing it forward, so that rights, clocks and en passant agree exactly.

use super::{Chess, code};
use crate::{Game, Move, game::pick};
use shakmaty::{
    Bitboard, CastlingMode, CastlingSide, Color, EnPassantMode, File, FromSetup, Piece, Position as _, Rank,
    Role, Setup, Square, attacks,
};

/// Candidates that are played forward before none is found. Nearly always the first or second is right.
const MOST_TRIES: usize = 48;
/// What a piece weighs among quiet unmoves; its origins share it.
const PIECE: u32 = 8_400;
/// What a pawn's step back weighs against the captures of one piece, so that both are about as common as in games.
const PUSH: u32 = 6_000;
/// Captured pieces with their weights: what is taken in games is mostly a pawn or a minor piece.
const CAPTURED: [(Role, u32); 5] =
    [(Role::Pawn, 4), (Role::Knight, 3), (Role::Bishop, 3), (Role::Rook, 2), (Role::Queen, 1)];

/// A move taken back, not yet known to be possible.
#[derive(Clone, Copy)]
enum Unmove {
    /// A piece of the role it had before goes back, and what it took returns.
    Normal {
        role: Role,
        from: Square,
        to: Square,
        captured: Option<Role>,
    },
    EnPassant {
        from: Square,
        to: Square,
    },
    /// King and rook go back to where they castled from.
    Castle {
        side: CastlingSide,
        king: Square,
        rook: Square,
    },
}

impl Chess {
    /// See [`Game::random_predecessor`].
    pub(super) fn unmoved(&self, mut random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        let mut candidates = Candidates::of(self);
        for _ in 0..MOST_TRIES {
            let unmove = candidates.draw(random())?;
            if let Some(found) = self.take_back(unmove, &mut random) {
                return Some(found);
            }
        }
        None
    }

    /// The position before an unmove, if playing forward from it gives this one.
    fn take_back(&self, unmove: Unmove, random: &mut impl FnMut() -> u32) -> Option<(Self, Move)> {
        let mover = !self.position.turn();
        let mut setup = self.position.to_setup(EnPassantMode::Legal);
        setup.turn = mover;
        setup.ep_square = None;
        let fullmoves = u32::from(setup.fullmoves) - u32::from(mover.is_black());
        setup.fullmoves = fullmoves.try_into().ok()?;
        let board = &mut setup.board;
        let (touched, mv) = match unmove {
            Unmove::Normal { role, from, to, captured } => {
                let promotion = board.role_at(to).filter(|&now| now != role);
                board.discard_piece_at(to);
                board.set_piece_at(from, Piece { color: mover, role });
                if let Some(role) = captured {
                    board.set_piece_at(to, Piece { color: !mover, role });
                }
                ([from, to], shakmaty::Move::Normal { role, from, to, capture: captured, promotion })
            }
            Unmove::EnPassant { from, to } => {
                board.discard_piece_at(to);
                board.set_piece_at(from, Role::Pawn.of(mover));
                board.set_piece_at(Square::from_coords(to.file(), from.rank()), Role::Pawn.of(!mover));
                setup.ep_square = Some(to);
                ([from, to], shakmaty::Move::EnPassant { from, to })
            }
            Unmove::Castle { side, king, rook } => {
                board.discard_piece_at(side.king_to(mover));
                board.discard_piece_at(side.rook_to(mover));
                board.set_piece_at(king, Role::King.of(mover));
                board.set_piece_at(rook, Role::Rook.of(mover));
                setup.castling_rights.add(rook);
                ([king, rook], shakmaty::Move::Castle { king, rook })
            }
        };
        setup.halfmoves = match (setup.halfmoves.checked_sub(1), unmove) {
            (Some(before), _) => before,
            (None, Unmove::EnPassant { .. }) => 0,
            // What the clock was before it fell to zero is lost; mostly it was low.
            (None, _) => pick(random(), 2) as u32 * pick(random(), 12) as u32,
        };
        restore_rights(&mut setup, self.castling_mode(), touched, random);
        let before = shakmaty::Chess::from_setup(setup, self.castling_mode())
            .or_else(shakmaty::PositionError::ignore_impossible_check)
            .ok()
            .map(Self::from_position)?;
        let mv = code::encode(mv);
        if !before.is_legal(mv) {
            return None;
        }
        let mut after = before.clone();
        after.play_unchecked(mv);
        let same = after.position == self.position
            && after.position.halfmoves() == self.position.halfmoves()
            && after.position.fullmoves() == self.position.fullmoves();
        same.then_some((before, mv))
    }
}

/// Gives back rights that the move may have cost: a king or rook that moved, a rook that was taken. Each returns half of the time.
fn restore_rights(
    setup: &mut Setup,
    mode: CastlingMode,
    touched: [Square; 2],
    random: &mut impl FnMut() -> u32,
) {
    for color in Color::ALL {
        let Some(king) = setup.board.king_of(color).filter(|king| king.rank() == back_rank(color)) else {
            continue;
        };
        if mode == CastlingMode::Standard && king.file() != File::E {
            continue;
        }
        let rooks = setup.board.by_piece(Role::Rook.of(color)) & Bitboard::from_rank(back_rank(color));
        // The outermost rook on each side of the king.
        for rook in [rooks.first().filter(|rook| *rook < king), rooks.last().filter(|rook| *rook > king)] {
            let Some(rook) = rook else { continue };
            let is_home = mode == CastlingMode::Chess960 || matches!(rook.file(), File::A | File::H);
            let may_be_lost = touched.contains(&king) || touched.contains(&rook);
            if is_home && may_be_lost && pick(random(), 2) == 0 {
                setup.castling_rights.add(rook);
            }
        }
    }
}

fn back_rank(color: Color) -> Rank {
    color.fold_wb(Rank::First, Rank::Eighth)
}

/// Unmoves by weight.
struct Candidates {
    weighted: Vec<(u32, Unmove)>,
    total: u32,
}

impl Candidates {
    fn of(chess: &Chess) -> Self {
        let mut candidates = Self { weighted: Vec::with_capacity(64), total: 0 };
        let position = &chess.position;
        let mover = !position.turn();
        let empty = !position.board().occupied();
        if let Some(square) = position.legal_ep_square() {
            // Only the double step just made leaves this square behind.
            let file = square.file();
            let [from, to] = mover.fold_wb([Rank::Second, Rank::Fourth], [Rank::Seventh, Rank::Fifth]);
            let [from, to] = [from, to].map(|rank| Square::from_coords(file, rank));
            candidates.push(1, Unmove::Normal { role: Role::Pawn, from, to, captured: None });
            return candidates;
        }
        let rights = position.castles();
        for to in position.board().by_color(mover) {
            let Some(role) = position.board().role_at(to) else { continue };
            // Who may still castle has not moved.
            let unmoved =
                rights.castling_rights().contains(to) || (role == Role::King && rights.has_color(mover));
            if !unmoved {
                candidates.push_piece(position, Role::of(role, mover), to, empty);
            }
        }
        if !rights.has_color(mover) && position.halfmoves() > 0 {
            candidates.push_castles(chess, mover);
        }
        candidates
    }

    fn push(&mut self, weight: u32, unmove: Unmove) {
        self.weighted.push((weight, unmove));
        self.total += weight;
    }

    /// Takes one out, each as often as it weighs.
    fn draw(&mut self, random: u32) -> Option<Unmove> {
        let mut left = pick(random, self.total as usize) as u32;
        let idx = self.weighted.iter().position(|&(weight, _)| {
            let here = left < weight;
            left = left.saturating_sub(weight);
            here
        })?;
        let (weight, unmove) = self.weighted.swap_remove(idx);
        self.total -= weight;
        Some(unmove)
    }

    /// Where the piece on `to` may have come from.
    fn push_piece(&mut self, position: &shakmaty::Chess, piece: Piece, to: Square, empty: Bitboard) {
        let is_zeroing = position.halfmoves() == 0;
        if piece.role == Role::Pawn {
            if is_zeroing {
                self.push_pawn(piece.color, to, empty, PUSH, to);
            }
            return;
        }
        let origins = attacks::attacks(to, piece, !empty) & empty;
        for from in origins {
            let weight = PIECE / origins.count() as u32;
            if is_zeroing {
                self.push_captures(piece.role, from, to, weight / 2);
            } else {
                self.push(weight, Unmove::Normal { role: piece.role, from, to, captured: None });
            }
        }
        if is_zeroing && to.rank() == back_rank(!piece.color) && piece.role != Role::King {
            self.push_pawn(piece.color, to, empty, PUSH / 4, to);
        }
    }

    /// Pawn unmoves that end on `to`, whether a pawn stands there or what it became.
    fn push_pawn(&mut self, mover: Color, to: Square, empty: Bitboard, weight: u32, target: Square) {
        let role = Role::Pawn;
        let back = |square: Square, steps: i32| {
            square
                .offset(mover.fold_wb(-8, 8) * steps)
                .filter(|square| empty.contains(*square) && square.rank() != back_rank(mover))
        };
        if let Some(from) = back(to, 1) {
            self.push(weight, Unmove::Normal { role, from, to, captured: None });
            if to.rank() == mover.fold_wb(Rank::Fourth, Rank::Fifth)
                && let Some(from) = back(to, 2)
            {
                self.push(weight, Unmove::Normal { role, from, to, captured: None });
            }
        }
        for from in attacks::pawn_attacks(!mover, target) & empty {
            if from.rank() == back_rank(mover) {
                continue;
            }
            self.push_captures(role, from, to, weight / 2);
            if to.rank() == mover.fold_wb(Rank::Sixth, Rank::Third) && back(to, 1).is_some() {
                self.push(weight / 8, Unmove::EnPassant { from, to });
            }
        }
    }

    fn push_captures(&mut self, role: Role, from: Square, to: Square, weight: u32) {
        let on_edge = matches!(to.rank(), Rank::First | Rank::Eighth);
        for (captured, share) in CAPTURED {
            if captured != Role::Pawn || !on_edge {
                let captured = Some(captured);
                self.push((weight * share / 13).max(1), Unmove::Normal { role, from, to, captured });
            }
        }
    }

    /// Castlings that end where king and rook now stand; in Chess960 they may have started anywhere on the rank.
    fn push_castles(&mut self, chess: &Chess, mover: Color) {
        let board = chess.position.board();
        for side in CastlingSide::ALL {
            let (king_to, rook_to) = (side.king_to(mover), side.rook_to(mover));
            if board.king_of(mover) != Some(king_to) || board.piece_at(rook_to) != Some(Role::Rook.of(mover))
            {
                continue;
            }
            let free =
                Bitboard::from_rank(back_rank(mover)) & !(board.occupied().without(king_to).without(rook_to));
            let standard = chess.castling_mode() == CastlingMode::Standard;
            let home = if side == CastlingSide::KingSide { File::H } else { File::A };
            let mut starts = Vec::with_capacity(24);
            for king in free {
                for rook in free.without(king) {
                    let is_home = king.file() == File::E && rook.file() == home;
                    if (side == CastlingSide::KingSide) == (rook > king) && (is_home || !standard) {
                        starts.push((king, rook));
                    }
                }
            }
            for &(king, rook) in &starts {
                self.push(3 * PIECE / starts.len() as u32, Unmove::Castle { side, king, rook });
            }
        }
    }
}
