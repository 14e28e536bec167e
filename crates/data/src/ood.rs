//! Chess positions that no game leads to: legal to play on, odd to look at.

use crate::table::{TableError, TableWriter};
use crate::wire::{Place, PositionRow};
use mavis_game::{Game, Position, Rules};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashSet;
use std::path::Path;

/// Writes `n` different positions with random pieces on random squares, as in the out-of-distribution set of paper 001: the side
/// that has moved is not in check, so never both kings are, and the game is not over.
///
/// # Errors
/// When the table cannot be written.
pub fn out_of_distribution(out: &Path, n: u64, seed: u64) -> Result<u64, TableError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut keys = HashSet::new();
    let mut table = TableWriter::create(out)?;
    while table.n_rows() < n {
        let position = odd_position(&mut random);
        if keys.insert(position.key()) {
            table.write(&PositionRow { place: Place::of(&position, None), played: None })?;
        }
    }
    table.finish()
}

/// One such position.
pub fn odd_position(random: &mut impl Rng) -> Position {
    loop {
        let fen = random_fen(random);
        // Legality is the rules' business: kings, pawns, and whose king may be attacked.
        if let Ok(position) = Position::parse(Rules::Chess, &fen)
            && position.outcome().is_none()
        {
            return position;
        }
    }
}

/// A king a side and up to 15 other pieces each, of any kind and number.
fn random_fen(random: &mut impl Rng) -> String {
    let mut board = [[None; 8]; 8];
    for is_white in [true, false] {
        let n_pieces = random.random_range(0..=15);
        let kinds = (0..n_pieces).map(|_| ['q', 'r', 'b', 'n', 'p'][random.random_range(0..5)]);
        let pieces: Vec<char> = std::iter::once('k').chain(kinds.collect::<Vec<_>>()).collect();
        for piece in pieces {
            // At most 32 pieces on 64 squares (48 for pawns): a free one is found soon.
            loop {
                let (rank, file) = (random.random_range(0..8), random.random_range(0..8));
                let on_edge = rank == 0 || rank == 7;
                let square: &mut Option<char> = &mut board[rank][file];
                if square.is_none() && !(piece == 'p' && on_edge) {
                    *square = Some(if is_white { piece.to_ascii_uppercase() } else { piece });
                    break;
                }
            }
        }
    }
    let ranks: Vec<String> = board
        .iter()
        .map(|rank| {
            rank.iter().map(|square| square.map_or("1".to_owned(), |piece| piece.to_string())).collect()
        })
        .collect();
    let side = if random.random_bool(0.5) { 'w' } else { 'b' };
    format!("{} {side} - - 0 1", ranks.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_odd_legal_and_not_over() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut n_odd = 0;
        for _ in 0..500 {
            let position = odd_position(&mut random);
            assert!(position.outcome().is_none() && position.n_legal_moves() > 0);
            let text = position.to_string();
            // Passing the turn shows whether the other king is attacked: then both would be, or the wrong one.
            let other =
                if text.contains(" w ") { text.replace(" w ", " b ") } else { text.replace(" b ", " w ") };
            let in_check = Position::parse(Rules::Chess, &other).is_err();
            n_odd += usize::from(in_check || text.matches('Q').count() > 1 || text.matches('n').count() > 2);
        }
        assert!(n_odd > 200, "{n_odd}");
    }

    #[test]
    fn the_same_seed_gives_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| folder.path().join(name));
        for (path, seed) in [(&a, 3), (&b, 3), (&c, 4)] {
            assert_eq!(out_of_distribution(path, 50, seed).unwrap(), 50);
        }
        assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
        assert_ne!(std::fs::read(&a).unwrap(), std::fs::read(&c).unwrap());
    }
}
