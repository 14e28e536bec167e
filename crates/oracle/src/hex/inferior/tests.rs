//! What is filled and left out changes no winner, going by all play.

use super::*;
use proptest::prelude::*;

/// Whether the side to move wins, by the rules alone.
fn wins(geometry: &Geometry, board: &Board) -> bool {
    bits(geometry.empty(board)).any(|cell| {
        let next = board.after(cell);
        geometry.joins(board.side, next.stones[board.side.index()]) || !wins(geometry, &next)
    })
}

/// A board of 3x3 or 4x4 with at most ten empty cells that nobody has won.
fn boards() -> impl Strategy<Value = (usize, Board)> {
    (3..=4_usize, any::<u16>(), any::<u16>(), any::<bool>())
        .prop_map(|(size, taken, whose, second)| {
            let all: Cells = (1 << (size * size)) - 1;
            let (taken, whose) = (Cells::from(taken) & all, Cells::from(whose));
            let side = if second { Side::Second } else { Side::First };
            (size, Board { stones: [taken & whose, taken & !whose], side })
        })
        .prop_filter("few empty cells, no winner", |(size, board)| {
            let geometry = Geometry::new(*size);
            let over = [Side::First, Side::Second]
                .iter()
                .any(|&side| geometry.joins(side, board.stones[side.index()]));
            !over && (1..=10).contains(&geometry.empty(board).count_ones())
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn filling_keeps_the_winner((size, board) in boards()) {
        let geometry = Geometry::new(size);
        let (full, _) = filled(&geometry, &board);
        let won = [Side::First, Side::Second].into_iter().find(|&side| geometry.joins(side, full.stones[side.index()]));
        let after = match won {
            Some(winner) => winner == board.side,
            None => wins(&geometry, &full),
        };
        prop_assert_eq!(wins(&geometry, &board), after, "{:?} became {:?}", board, full);
    }

    #[test]
    fn a_winning_move_is_always_kept((size, board) in boards()) {
        let geometry = Geometry::new(size);
        let empty = geometry.empty(&board);
        let kept = Inferior::new(&geometry, &board).candidates(board.side, empty).cells;
        let winning = |cell: &usize| {
            let next = board.after(*cell);
            geometry.joins(board.side, next.stones[board.side.index()]) || !wins(&geometry, &next)
        };
        let all = bits(empty).any(|cell| winning(&cell));
        prop_assert_eq!(bits(kept).any(|cell| winning(&cell)), all, "{:?} keeps {:b}", board, kept);
    }
}
