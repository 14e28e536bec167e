//! The sum of all games.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::{
    CastlingMode, Chess, Connect4, EndReason, FromRules, Game, GameVisitor, Hex, IllegalMove, Move,
    MoveError, Moves, Othello, Outcome, PositionError, Rules, Side, Togyz,
};
use std::fmt;

/// A position of any game; every method delegates to the game's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Position {
    /// Chess or Chess960.
    Chess(Chess),
    /// Connect Four.
    Connect4(Connect4),
    /// Hex.
    Hex(Hex),
    /// Othello.
    Othello(Othello),
    /// Togyz Kumalak.
    Togyz(Togyz),
}

/// Runs one expression for whichever game a [`Position`] holds, with `$game` bound to the concrete type's value.
#[macro_export]
macro_rules! for_game {
    ($position:expr, $game:ident => $body:expr) => {
        match $position {
            $crate::Position::Chess($game) => $body,
            $crate::Position::Connect4($game) => $body,
            $crate::Position::Hex($game) => $body,
            $crate::Position::Othello($game) => $body,
            $crate::Position::Togyz($game) => $body,
        }
    };
}

impl Position {
    /// The start position. Chess960 starts from the classical array (number 518) unless a FEN says otherwise.
    #[must_use]
    #[allow(clippy::expect_used, reason = "there are 960 arrays, and no input enters")]
    pub fn start(rules: Rules) -> Self {
        match rules {
            Rules::Chess => Self::Chess(Chess::default()),
            Rules::Chess960 => Self::Chess(Chess::start960(518).expect("518 is below 960")),
            Rules::Connect4 => Self::Connect4(Connect4::default()),
            Rules::Hex { size, swap } => Self::Hex(Hex::new(size, swap)),
            Rules::Othello => Self::Othello(Othello::default()),
            Rules::Togyz => Self::Togyz(Togyz::default()),
        }
    }

    /// Reads a position text of the game named by `rules`.
    ///
    /// # Errors
    /// When the text is malformed or describes a position the rules do not allow.
    pub fn parse(rules: Rules, text: &str) -> Result<Self, PositionError> {
        match rules {
            Rules::Chess => Chess::parse(CastlingMode::Standard, text).map(Self::Chess),
            Rules::Chess960 => Chess::parse(CastlingMode::Chess960, text).map(Self::Chess),
            Rules::Connect4 => Connect4::parse(text).map(Self::Connect4),
            Rules::Hex { size, swap } => Hex::parse(size, swap, text).map(Self::Hex),
            Rules::Othello => Othello::parse(text).map(Self::Othello),
            Rules::Togyz => Togyz::parse(text).map(Self::Togyz),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for_game!(self, game => game.fmt(f))
    }
}

impl Game for Position {
    type Rules = Rules;

    fn rules(&self) -> Rules {
        for_game!(self, game => game.rules())
    }

    fn side_to_move(&self) -> Side {
        for_game!(self, game => game.side_to_move())
    }

    fn legal_moves_into(&self, moves: &mut Moves) {
        for_game!(self, game => game.legal_moves_into(moves));
    }

    fn n_legal_moves(&self) -> usize {
        for_game!(self, game => game.n_legal_moves())
    }

    fn random_move(&self, random: u32) -> Option<Move> {
        for_game!(self, game => game.random_move(random))
    }

    fn is_legal(&self, mv: Move) -> bool {
        for_game!(self, game => game.is_legal(mv))
    }

    fn winning_move(&self) -> Option<Move> {
        for_game!(self, game => game.winning_move())
    }

    fn play_unchecked(&mut self, mv: Move) {
        for_game!(self, game => game.play_unchecked(mv));
    }

    fn outcome(&self) -> Option<Outcome> {
        for_game!(self, game => game.outcome())
    }

    fn end_reason(&self) -> Option<EndReason> {
        for_game!(self, game => game.end_reason())
    }

    fn claimable_draw(&self) -> bool {
        for_game!(self, game => game.claimable_draw())
    }

    fn key(&self) -> u64 {
        for_game!(self, game => game.key())
    }

    fn ply(&self) -> u32 {
        for_game!(self, game => game.ply())
    }

    fn move_text(&self, mv: Move) -> String {
        for_game!(self, game => game.move_text(mv))
    }

    fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        for_game!(self, game => game.parse_move(text))
    }

    fn n_symmetries(&self) -> usize {
        for_game!(self, game => game.n_symmetries())
    }

    fn transformed(&self, symmetry: usize) -> Self {
        match self {
            Self::Chess(game) => Self::Chess(game.transformed(symmetry)),
            Self::Connect4(game) => Self::Connect4(game.transformed(symmetry)),
            Self::Hex(game) => Self::Hex(game.transformed(symmetry)),
            Self::Othello(game) => Self::Othello(game.transformed(symmetry)),
            Self::Togyz(game) => Self::Togyz(game.transformed(symmetry)),
        }
    }

    fn transformed_move(&self, symmetry: usize, mv: Move) -> Move {
        for_game!(self, game => game.transformed_move(symmetry, mv))
    }

    fn n_views(&self) -> usize {
        for_game!(self, game => game.n_views())
    }

    fn view(&self, view: usize) -> Option<Self> {
        match self {
            Self::Chess(game) => game.view(view).map(Self::Chess),
            Self::Connect4(game) => game.view(view).map(Self::Connect4),
            Self::Hex(game) => game.view(view).map(Self::Hex),
            Self::Othello(game) => game.view(view).map(Self::Othello),
            Self::Togyz(game) => game.view(view).map(Self::Togyz),
        }
    }

    fn move_in_view(&self, view: usize, mv: Move) -> Move {
        for_game!(self, game => game.move_in_view(view, mv))
    }

    fn drawing(&self) -> String {
        for_game!(self, game => game.drawing())
    }

    fn random_predecessor(&self, random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        match self {
            Self::Chess(game) => game.random_predecessor(random).map(|(game, mv)| (Self::Chess(game), mv)),
            Self::Connect4(game) => {
                game.random_predecessor(random).map(|(game, mv)| (Self::Connect4(game), mv))
            }
            Self::Hex(game) => game.random_predecessor(random).map(|(game, mv)| (Self::Hex(game), mv)),
            Self::Othello(game) => {
                game.random_predecessor(random).map(|(game, mv)| (Self::Othello(game), mv))
            }
            Self::Togyz(game) => game.random_predecessor(random).map(|(game, mv)| (Self::Togyz(game), mv)),
        }
    }

    fn playout(&mut self, max_plies: u32, random: impl FnMut() -> u32) -> Option<Outcome> {
        for_game!(self, game => game.playout(max_plies, random))
    }

    fn perft(&self, depth: u32) -> u64 {
        for_game!(self, game => game.perft(depth))
    }

    fn perft_moves_into(&self, moves: &mut Moves) {
        for_game!(self, game => game.perft_moves_into(moves));
    }

    fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        for_game!(self, game => game.play(mv))
    }

    fn visit<V: GameVisitor>(&self, visitor: V) -> V::Output {
        for_game!(self, game => visitor.visit(game))
    }
}

impl FromRules for Position {
    fn start(rules: Rules) -> Self {
        Self::start(rules)
    }

    fn parse(rules: Rules, text: &str) -> Result<Self, PositionError> {
        Self::parse(rules, text)
    }

    fn random_start(rules: Rules, below: impl FnOnce(u32) -> u32) -> Option<Self> {
        match rules {
            Rules::Chess960 => Chess::start960(u16::try_from(below(960)).ok()?).map(Self::Chess),
            _ => None,
        }
    }
}
