//! The traits that rules implement.

use crate::{EndReason, IllegalMove, Move, MoveError, Moves, Outcome, PositionError, Side, perft};
use std::{fmt, str::FromStr};

/// A legal position of one game with the history its rules need.
///
/// `Display` is the position text, which `parse` of the type reads back. Equality and [`Game::key`] look at what the
/// rules of movement see (board, side to move, rights), not at history or move counters.
pub trait Game: Clone + Eq + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Names the game with its parameters: `Display` is what users write (`hex:size=7`), `FromStr` reads it.
    ///
    /// For the six games it is [`crate::Rules`]; a game without parameters needs no more than a unit struct.
    type Rules: Clone
        + PartialEq
        + fmt::Debug
        + fmt::Display
        + FromStr<Err: fmt::Display>
        + Send
        + Sync
        + 'static;

    /// The rules this position is played by.
    fn rules(&self) -> Self::Rules;

    /// Whose turn it is.
    fn side_to_move(&self) -> Side;

    /// Appends every legal move, in a fixed order; none once the game is over.
    fn legal_moves_into(&self, moves: &mut Moves);

    /// Every legal move; none once the game is over.
    fn legal_moves(&self) -> Moves {
        let mut moves = Moves::new();
        self.legal_moves_into(&mut moves);
        moves
    }

    /// The number of legal moves.
    fn n_legal_moves(&self) -> usize {
        let mut moves = Moves::new();
        self.legal_moves_into(&mut moves);
        moves.len()
    }

    /// A legal move, all equally likely if `random` is an even 32-bit number; none once the game is over.
    ///
    /// Games with a cheaper way than listing every move override it.
    fn random_move(&self, random: u32) -> Option<Move> {
        let mut moves = Moves::new();
        self.legal_moves_into(&mut moves);
        moves.get(pick(random, moves.len())).copied()
    }

    /// Whether `mv` may be played here; `false` for any code that is not a move of this game.
    fn is_legal(&self, mv: Move) -> bool {
        let mut moves = Moves::new();
        self.legal_moves_into(&mut moves);
        moves.contains(&mv)
    }

    /// The first of the legal moves that wins at once; `None` if there is none.
    ///
    /// Games with a cheaper way than playing every move override it.
    fn winning_move(&self) -> Option<Move> {
        let win = Some(Outcome::Win(self.side_to_move()));
        self.legal_moves().into_iter().find(|&mv| {
            let mut after = self.clone();
            after.play_unchecked(mv);
            after.outcome() == win
        })
    }

    /// Plays a move that is known to be legal; anything else leaves an unspecified position (never memory unsafety).
    fn play_unchecked(&mut self, mv: Move);

    /// How the game ended, if it has.
    fn outcome(&self) -> Option<Outcome>;

    /// Why it ended, if it has.
    fn end_reason(&self) -> Option<EndReason>;

    /// Whether the side to move may claim a draw (threefold repetition or fifty moves in chess).
    fn claimable_draw(&self) -> bool {
        false
    }

    /// A 64-bit key that agrees with equality.
    fn key(&self) -> u64;

    /// The number of plies played since the start, as far as the position knows.
    fn ply(&self) -> u32;

    /// The standard text of a move that is legal here.
    fn move_text(&self, mv: Move) -> String;

    /// Reads the text of a legal move.
    ///
    /// # Errors
    /// When the text is no move of this game, or not a legal one here.
    fn parse_move(&self, text: &str) -> Result<Move, MoveError>;

    /// The size of the symmetry group, the identity included.
    fn n_symmetries(&self) -> usize {
        1
    }

    /// The position under symmetry number `symmetry` (0 is the identity), history dropped.
    #[must_use]
    fn transformed(&self, symmetry: usize) -> Self {
        debug_assert_eq!(symmetry, 0, "only the identity unless a game says otherwise");
        self.clone()
    }

    /// The same move in the transformed position.
    #[must_use]
    fn transformed_move(&self, symmetry: usize, mv: Move) -> Move {
        debug_assert_eq!(symmetry, 0, "only the identity unless a game says otherwise");
        mv
    }

    /// The number of views at most: positions in which the side to move has the same chances as here, number 0 the position itself.
    ///
    /// They are those of the symmetries, and in chess the colors exchanged, and the files where nobody may castle.
    fn n_views(&self) -> usize {
        self.n_symmetries()
    }

    /// View number `view`, history dropped save for number 0; `None` where this position has no such view.
    fn view(&self, view: usize) -> Option<Self> {
        Some(self.transformed(view))
    }

    /// The same move in view number `view`.
    #[must_use]
    fn move_in_view(&self, view: usize, mv: Move) -> Move {
        self.transformed_move(view, mv)
    }

    /// The board as a person wants to see it in a terminal, several lines, newline at the end.
    fn drawing(&self) -> String;

    /// A position and a legal move in it that leads here, drawn at random from what the rules allow; `None` where none is found.
    ///
    /// Playing the move gives the text of this position again, counters included. The previous position need not be reachable
    /// from the start, and carries no history.
    fn random_predecessor(&self, random: impl FnMut() -> u32) -> Option<(Self, Move)> {
        // Games whose moves cannot be taken back say so by finding nothing.
        drop(random);
        None
    }

    /// Plays random legal moves, one number of `random` each, until the game ends or `max_plies` are played.
    fn playout(&mut self, max_plies: u32, mut random: impl FnMut() -> u32) -> Option<Outcome> {
        for _ in 0..max_plies {
            match self.random_move(random()) {
                Some(mv) => self.play_unchecked(mv),
                None => break,
            }
        }
        self.outcome()
    }

    /// Move sequences of exactly `depth` plies; see [`crate::perft`].
    fn perft(&self, depth: u32) -> u64 {
        perft::count(self, depth)
    }

    /// The moves [`Game::perft`] counts, which in chess go on after draws by count.
    fn perft_moves_into(&self, moves: &mut Moves) {
        self.legal_moves_into(moves);
    }

    /// Plays a move after checking it.
    ///
    /// # Errors
    /// When the move is not legal here; the position is unchanged.
    fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if self.is_legal(mv) {
            self.play_unchecked(mv);
            Ok(())
        } else {
            Err(IllegalMove { text: format!("code {}", mv.0) })
        }
    }

    /// Plays a move given as text.
    ///
    /// # Errors
    /// When the text is no legal move here; the position is unchanged.
    fn play_text(&mut self, text: &str) -> Result<Move, MoveError> {
        let mv = self.parse_move(text)?;
        self.play_unchecked(mv);
        Ok(mv)
    }

    /// Calls `visitor` with the type that holds the rules.
    ///
    /// That is this type itself. A sum of games such as [`crate::Position`] passes on the game it holds, so that a loop over
    /// many moves is compiled for that game and does not match on the sum at every step.
    fn visit<V: GameVisitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

/// Work that is compiled once per game; see [`Game::visit`].
pub trait GameVisitor {
    /// What comes out of it.
    type Output;

    /// Does the work on a position.
    fn visit<G: Game>(self, position: &G) -> Self::Output;
}

/// A game that can be set up from its rules: what leagues, saved trees and terminals need beyond [`Game`].
pub trait FromRules: Game {
    /// The start position.
    fn start(rules: Self::Rules) -> Self;

    /// Reads a position text, which is what `Display` of the position writes.
    ///
    /// # Errors
    /// When the text is malformed or describes a position the rules do not allow.
    fn parse(rules: Self::Rules, text: &str) -> Result<Self, PositionError>;

    /// One of several start positions, for games that have them, such as Chess960; `below(n)` draws a number below `n`.
    fn random_start(rules: Self::Rules, below: impl FnOnce(u32) -> u32) -> Option<Self> {
        drop((rules, below));
        None
    }
}

/// Scales an even 32-bit number to an index below `n` (0 when `n` is 0) without a division.
pub(crate) fn pick(random: u32, n: usize) -> usize {
    ((u64::from(random) * n as u64) >> 32) as usize
}
