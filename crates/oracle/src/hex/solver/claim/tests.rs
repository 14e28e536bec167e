//! Every claim of a search holds, going by all play on the board where the loser has all the claim leaves it.

use super::*;
use crate::hex::connections::Kept;
use crate::hex::solver::search::Search;
use proptest::prelude::*;
use std::collections::HashMap;

/// A board of 5x5 with twelve to sixteen empty cells that nobody has won: few enough to try all play, enough for a search.
fn boards() -> impl Strategy<Value = Board> {
    (any::<u32>(), any::<u32>(), any::<bool>())
        .prop_map(|(taken, whose, second)| {
            let (taken, whose) = (Cells::from(taken) & ((1 << 25) - 1), Cells::from(whose));
            let side = if second { Side::Second } else { Side::First };
            Board { stones: [taken & whose, taken & !whose], side }
        })
        .prop_filter("some empty cells, no winner", |board| {
            let geometry = Geometry::new(5);
            winner(&geometry, board).is_none() && (12..=16).contains(&geometry.empty(board).count_ones())
        })
}

/// Who has joined their edges.
fn winner(geometry: &Geometry, board: &Board) -> Option<Side> {
    [Side::First, Side::Second].into_iter().find(|&side| geometry.joins(side, board.stones[side.index()]))
}

/// Who wins, by the rules alone.
fn outcome(geometry: &Geometry, board: &Board, known: &mut HashMap<Board, Side>) -> Side {
    if let Some(side) = winner(geometry, board).or_else(|| known.get(board).copied()) {
        return side;
    }
    let mut moves = bits(geometry.empty(board));
    let wins = moves.any(|cell| outcome(geometry, &board.after(cell), known) == board.side);
    let side = if wins { board.side } else { board.side.other() };
    known.insert(*board, side);
    side
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn every_claim_holds(board in boards(), n_semi in 0..3_usize) {
        let geometry = Geometry::new(5);
        // With few connections, or with none but neighbors, the search has more to do.
        let mut search = Search::new(&geometry, 100_000, Kept { full: 2, semi: n_semi, winning: n_semi });
        let mut known = HashMap::new();
        let mover_wins = search.solve(&board).expect("small boards are within reach").mover_wins;
        prop_assert_eq!(mover_wins, outcome(&geometry, &board, &mut known) == board.side);
        for claim in search.decided() {
            let mut stones = [claim.stones; 2];
            stones[claim.winner.other().index()] = geometry.all & !claim.stones & !claim.carrier;
            let side = if claim.to_move { claim.winner } else { claim.winner.other() };
            let least = Board { stones, side };
            prop_assert_eq!(outcome(&geometry, &least, &mut known), claim.winner, "{:?} in {:?}", claim, board);
        }
    }
}
