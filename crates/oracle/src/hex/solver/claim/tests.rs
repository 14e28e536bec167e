//! Every claim of a search holds, going by all play on the board where the loser has all the claim leaves it.

use super::*;
use crate::hex::inferior::tests::{boards, wins};
use crate::hex::solver::search::Search;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_claim_holds((size, board) in boards()) {
        let geometry = Geometry::new(size);
        let mut search = Search::new(&geometry, 10_000);
        let outcome = search.solve(&board).expect("small boards are within reach");
        prop_assert_eq!(outcome.mover_wins, wins(&geometry, &board));
        for claim in search.decided() {
            let mut stones = [claim.stones; 2];
            stones[claim.winner.other().index()] = geometry.all & !claim.stones & !claim.carrier;
            let side = if claim.to_move { claim.winner } else { claim.winner.other() };
            let least = Board { stones, side };
            let won = if geometry.joins(claim.winner, claim.stones) {
                Some(claim.winner)
            } else if geometry.joins(claim.winner.other(), stones[claim.winner.other().index()]) {
                Some(claim.winner.other())
            } else {
                None
            };
            let winner = won.unwrap_or_else(|| if wins(&geometry, &least) { side } else { side.other() });
            prop_assert_eq!(winner, claim.winner, "{:?} in {:?}", claim, board);
        }
    }
}
