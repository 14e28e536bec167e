//! Symmetries of annotated positions: the same values on another board.

use mavis_data::AnnotatedPosition;
use mavis_game::{ChessSymmetry, Game, Move, Position};
use rand::Rng;

/// All that training may make of a position by a symmetry, itself first: its views.
#[must_use]
pub fn views(position: &Position) -> Vec<Position> {
    (0..position.n_views()).filter_map(|view| position.view(view)).collect()
}

/// The position under a random one of the game's symmetries, the position itself included; in chess left and right may be exchanged where
/// nobody may castle any more.
pub(crate) fn random_symmetry(annotated: AnnotatedPosition, rng: &mut impl Rng) -> AnnotatedPosition {
    if matches!(annotated.position, Position::Chess(_)) {
        return if rng.random::<bool>() { transformed(annotated, ChessSymmetry::Files) } else { annotated };
    }
    let symmetry = rng.random_range(0..annotated.position.n_symmetries());
    if symmetry == 0 {
        return annotated;
    }
    let transformed = annotated.position.transformed(symmetry);
    let position = annotated.position;
    with_moves(transformed, annotated.moves, annotated.best, |mv| position.transformed_move(symmetry, mv))
}

/// A chess position with colors exchanged; one of another game as it is.
pub(crate) fn colors_exchanged(annotated: AnnotatedPosition) -> AnnotatedPosition {
    transformed(annotated, ChessSymmetry::Colors)
}

fn transformed(annotated: AnnotatedPosition, symmetry: ChessSymmetry) -> AnnotatedPosition {
    let Position::Chess(chess) = &annotated.position else { return annotated };
    match chess.transformed_by(symmetry) {
        Some(transformed) => {
            with_moves(Position::Chess(transformed), annotated.moves, annotated.best, |mv| {
                symmetry.of_move(mv)
            })
        }
        None => annotated,
    }
}

fn with_moves(
    position: Position,
    mut moves: Vec<(Move, f32)>,
    best: Option<Move>,
    to: impl Fn(Move) -> Move,
) -> AnnotatedPosition {
    for (mv, _) in &mut moves {
        *mv = to(*mv);
    }
    AnnotatedPosition { position, moves, best: best.map(to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_game::Rules;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn symmetries_keep_each_value_with_its_move() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        let games = ["chess", "chess960", "connect4", "othello", "hex", "togyz"];
        for rules in games.map(|game| game.parse::<Rules>().unwrap()) {
            for plies in (0..40).step_by(4) {
                let mut position = Position::start(rules);
                position.playout(plies, || rng.random());
                // The value tells which child a move leads to, as far as that is the same under all symmetries.
                let value = |position: &Position, mv: Move| {
                    let mut child = position.clone();
                    child.play_unchecked(mv);
                    child.n_legal_moves() as f32 / 400.0
                };
                let moves: Vec<_> =
                    position.legal_moves().into_iter().map(|mv| (mv, value(&position, mv))).collect();
                let annotated = AnnotatedPosition { best: moves.last().map(|(mv, _)| *mv), position, moves };
                let transformed = colors_exchanged(random_symmetry(annotated.clone(), &mut rng));
                let views = views(&annotated.position);
                assert_eq!(views[0], annotated.position);
                assert!(views.contains(&transformed.position), "{}", transformed.position);
                assert_eq!(transformed.moves.len(), transformed.position.n_legal_moves());
                for (mv, known) in &transformed.moves {
                    assert!(transformed.position.is_legal(*mv), "{} in {}", mv.0, transformed.position);
                    assert_eq!(value(&transformed.position, *mv), *known, "{}", transformed.position);
                }
                assert_eq!(transformed.best, transformed.moves.last().map(|(mv, _)| *mv));
            }
        }
    }
}
