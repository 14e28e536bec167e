//! A random game to the end.

use crate::random::Random;
use mavis_game::{Game, Moves, Outcome};

/// Plays uniformly random moves until the game is over or a draw can be claimed, and says how it ended.
///
/// `None` (a game that stops without an outcome) does not happen with lawful rules; the search counts it as a draw.
pub(super) fn playout<G: Game>(mut game: G, random: &mut Random) -> Option<Outcome> {
    let mut moves = Moves::new();
    loop {
        if game.claimable_draw() {
            return Some(Outcome::Draw);
        }
        moves.clear();
        game.legal_moves_into(&mut moves);
        if moves.is_empty() {
            return game.outcome();
        }
        game.play_unchecked(moves[random.below(moves.len())]);
    }
}
