//! Positions as nets see them: planes over the board, and moves as numbered actions.

mod chess;
mod connect4;
mod hex;
mod othello;
mod togyz;

use mavis_game::{Game, Move, Position, for_game};

/// A game whose positions can be written as planes.
///
/// Everything is seen from the side to move, so that one net plays both sides. What is written depends only on what
/// equality of positions sees; equal positions may then share one evaluation.
pub trait Planes: Game {
    /// Height, width and channels of a position.
    fn shape(&self) -> [usize; 3];

    /// Number of actions, legal or not.
    fn n_actions(&self) -> usize;

    /// The cells of the board, where every action that can ever be legal is one of them, numbered as they are in the planes; `None` in
    /// other games.
    fn n_cells(&self) -> Option<usize> {
        None
    }

    /// Writes the position over zeros, `[height, width, channels]` with channels last.
    fn write(&self, planes: &mut [f32]);

    /// The number of a legal move, below [`Planes::n_actions`].
    fn action(&self, mv: Move) -> usize;
}

impl Planes for Position {
    fn shape(&self) -> [usize; 3] {
        for_game!(self, game => game.shape())
    }

    fn n_actions(&self) -> usize {
        for_game!(self, game => game.n_actions())
    }

    fn n_cells(&self) -> Option<usize> {
        for_game!(self, game => game.n_cells())
    }

    fn write(&self, planes: &mut [f32]) {
        for_game!(self, game => game.write(planes));
    }

    fn action(&self, mv: Move) -> usize {
        for_game!(self, game => game.action(mv))
    }
}

/// Sets one channel in the cells of a bit set, bit `n` for cell `n`.
fn set_bits(planes: &mut [f32], n_channels: usize, channel: usize, mut cells: u64) {
    while cells != 0 {
        planes[cells.trailing_zeros() as usize * n_channels + channel] = 1.0;
        cells &= cells - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Rules;
    use std::collections::{HashMap, HashSet};

    /// Plays a random game and looks at every position of it.
    fn walk(rules: Rules, seed: u32, mut see: impl FnMut(&Position)) {
        let mut position = Position::start(rules);
        let mut random = seed;
        for _ in 0..200 {
            see(&position);
            random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let Some(mv) = position.random_move(random ^ random >> 16) else { break };
            position.play_unchecked(mv);
        }
    }

    fn planes(position: &Position) -> Vec<u32> {
        let mut planes = vec![0.0; position.shape().iter().product()];
        position.write(&mut planes);
        planes.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn moves_have_numbers_of_their_own_and_unlike_positions_unlike_planes() {
        let more = ["hex:size=5,swap", "hex:size=3"].map(|text| text.parse().unwrap());
        for rules in Rules::ALL.into_iter().chain(more) {
            let mut seen: HashMap<Vec<u32>, Position> = HashMap::new();
            for seed in 0..20 {
                walk(rules, seed, |position| {
                    let moves = position.legal_moves();
                    let actions: HashSet<usize> = moves.iter().map(|mv| position.action(*mv)).collect();
                    assert_eq!(actions.len(), moves.len(), "{position}");
                    assert!(actions.iter().all(|action| *action < position.n_actions()), "{position}");
                    let other = seen.entry(planes(position)).or_insert_with(|| position.clone());
                    // Mirrored or color-swapped positions may share their planes: then their moves do as well.
                    let other_actions: HashSet<usize> =
                        other.legal_moves().iter().map(|mv| other.action(*mv)).collect();
                    assert_eq!(actions, other_actions, "{position} and {other}");
                });
            }
        }
    }

    #[test]
    fn the_side_to_move_sees_itself_first() {
        let mut position = Position::start(Rules::Connect4);
        position.play_text("4").unwrap();
        let mut planes = vec![0.0; 6 * 7 * 2];
        position.write(&mut planes);
        let set: Vec<usize> = (0..planes.len()).filter(|&i| planes[i] != 0.0).collect();
        // Bottom row, fourth column, the opponent's channel.
        assert_eq!(set, [3 * 2 + 1]);
    }

    #[test]
    fn hex_looks_the_same_to_both_sides() {
        let planes_after = |moves: &[&str]| {
            let mut position = Position::start("hex:size=5".parse().unwrap());
            moves.iter().for_each(|text| {
                position.play_text(text).unwrap();
            });
            let action = position.action(position.parse_move("d2").unwrap());
            (planes(&position), action)
        };
        // The first player at b1 before the second's move, and the mirror image one move later.
        let (first, action) = planes_after(&["b1"]);
        let mut mirrored =
            Position::parse("hex:size=5".parse().unwrap(), "...../o..../...../...../..... x").unwrap();
        assert_eq!(first, planes(&mirrored));
        assert_eq!(action, mirrored.action(mirrored.parse_move("b4").unwrap()));
        mirrored.play_text("a1").unwrap();
        assert_ne!(first, planes(&mirrored));
    }
}
