//! Positions that are over, which annotated ones hardly ever are.

use mavis_data::{AnnotatedPosition, Annotations, RecordError};
use mavis_game::{Game, Position, Rules};
use rand::Rng;

/// Records looked at before an end is given up: in chess one in some sixty has a move that ends the game.
const MOST_RECORDS: usize = 256;
/// Plies of a random playout. It ends every game but chess from nearly anywhere; chess hardly ever, so there it is not tried.
const MOST_PLIES: u32 = 48;
/// How near a sure result a value is: only such a move can end the game.
const SURE: f32 = 0.003;

/// A position of the set's game that is over: one move after a record of the set, or by a random playout from it.
/// `None` if no end turned up.
pub(crate) fn random_end(
    set: &dyn Annotations,
    rng: &mut impl Rng,
) -> Result<Option<AnnotatedPosition>, RecordError> {
    for _ in 0..MOST_RECORDS {
        let record = set.get(rng.random_range(0..set.len()))?;
        if let Some(position) = end_near(&record, rng) {
            return Ok(Some(AnnotatedPosition { position, moves: Vec::new(), best: None }));
        }
    }
    Ok(None)
}

fn end_near(record: &AnnotatedPosition, rng: &mut impl Rng) -> Option<Position> {
    if record.moves.is_empty() {
        return record.position.outcome().map(|_| record.position.clone());
    }
    let chess = matches!(record.position.rules(), Rules::Chess | Rules::Chess960);
    // Half the ends of the other games come from playouts: those one move away are too much alike.
    if !chess && rng.random::<bool>() {
        let mut position = record.position.clone();
        return position.playout(MOST_PLIES, || rng.random()).map(|_| position);
    }
    let sure = |value: f32| [0.0, 0.5, 1.0].into_iter().any(|result| (value - result).abs() < SURE);
    let first = rng.random_range(0..record.moves.len());
    let moves = record.moves[first..].iter().chain(&record.moves[..first]);
    moves.filter(|(_, value)| sure(*value)).find_map(|(mv, _)| {
        let mut position = record.position.clone();
        position.play_unchecked(*mv);
        position.outcome().map(|_| position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn mates_and_playouts_are_found() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let annotated = |rules: Rules, text: &str| {
            let position = Position::parse(rules, text).unwrap();
            let moves: Vec<_> = position.legal_moves().into_iter().map(|mv| (mv, 1.0)).collect();
            AnnotatedPosition { best: Some(moves[0].0), position, moves }
        };
        let mate_in_one = annotated(Rules::Chess, "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1");
        let end = random_end(&vec![mate_in_one], &mut rng).unwrap().unwrap();
        assert_eq!(end.position.outcome().map(|outcome| outcome.as_str()), Some("1-0"));
        let start = annotated(Rules::Chess, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert!(random_end(&vec![start], &mut rng).unwrap().is_none());
        for rules in [Rules::Connect4, Rules::Othello, Rules::Hex { size: 5, swap: false }] {
            let mut position = Position::start(rules);
            position.playout(14, || rng.random());
            let set = vec![annotated(rules, &position.to_string())];
            let end = random_end(&set, &mut rng).unwrap().unwrap();
            assert!(end.position.outcome().is_some(), "{}", end.position);
        }
    }
}
