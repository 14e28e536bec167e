//! Counting move sequences, the usual check of rules.

use crate::{Game, Move, Moves};

/// The number of move sequences of exactly `depth` plies from `position`.
///
/// Sequences end where the rules leave no move. Chess counts as published tables do: mate and stalemate stop a
/// sequence, draws by material, repetition or move count do not. So does Othello: a pass is a ply, and a game that
/// ended early counts as one sequence at every greater depth.
#[must_use]
pub fn perft<G: Game>(position: &G, depth: u32) -> u64 {
    position.perft(depth)
}

/// Each legal move with the number of sequences that begin with it, in the order of the moves; empty at depth 0.
#[must_use]
pub fn divide<G: Game>(position: &G, depth: u32) -> Vec<(Move, u64)> {
    let Some(rest) = depth.checked_sub(1) else { return Vec::new() };
    let mut moves = Moves::new();
    position.perft_moves_into(&mut moves);
    moves.into_iter().map(|mv| (mv, after(position, mv).perft(rest))).collect()
}

/// The count for any game; the last ply is counted without being played.
pub(crate) fn count<G: Game>(position: &G, depth: u32) -> u64 {
    match depth {
        0 => 1,
        1 => position.n_legal_moves() as u64,
        _ => {
            let mut moves = Moves::new();
            position.legal_moves_into(&mut moves);
            moves.iter().map(|&mv| count(&after(position, mv), depth - 1)).sum()
        }
    }
}

fn after<G: Game>(position: &G, mv: Move) -> G {
    let mut after = position.clone();
    after.play_unchecked(mv);
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CastlingMode, Chess, Connect4};

    #[test]
    fn divide_adds_up_to_perft() {
        let start = Connect4::default();
        let parts = divide(&start, 6);
        assert_eq!(parts.len(), 7);
        assert_eq!(parts.iter().map(|(_, count)| count).sum::<u64>(), 117_649);
        assert_eq!(perft(&start, 6), 117_649);
        assert_eq!((perft(&start, 0), divide(&start, 0)), (1, Vec::new()));
    }

    #[test]
    fn wins_stop_connect_four() {
        // Seven to the power of the depth, less what full columns and wins cut off.
        let counts: Vec<u64> = (7..=9).map(|depth| perft(&Connect4::default(), depth)).collect();
        assert_eq!(counts, [823_536, 5_673_234, 39_394_572]);
    }

    #[test]
    fn draws_do_not_stop_chess() {
        let bare = Chess::parse(CastlingMode::Standard, "k7/8/8/8/8/8/8/K7 w - - 150 99").unwrap();
        assert_eq!((perft(&bare, 1), perft(&bare, 2)), (3, 9));
        assert_eq!(divide(&bare, 2).iter().map(|(_, count)| count).sum::<u64>(), 9);
    }
}
