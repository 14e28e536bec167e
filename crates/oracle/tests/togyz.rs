//! The Togyz Kumalak oracle against weaker play and its own rules.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Game, Outcome, Position, Rules, Side};
use mavis_oracle::togyz::TogyzOracle;
use mavis_oracle::{Effort, Oracle, Score};

fn oracle(depth: u32) -> TogyzOracle {
    TogyzOracle::new(Effort { depth, nodes: 1_000_000 })
}

#[test]
fn a_decisive_capture_is_seen() {
    // Pit 9 sows one stone into the second player's pit 1, makes an even count there and takes the majority.
    let position = Position::parse(Rules::Togyz, "0,9,9,9,9,9,1,0,1/1,5,9,9,9,0,0,0,0 80,2 w").unwrap();
    let ranking = oracle(2).evaluate(&position).unwrap();
    let judged = ranking.of(position.parse_move("9").unwrap()).unwrap();
    assert_eq!((judged.score, judged.win_probability), (Score::Solved(1), 1.0));
    assert_eq!(ranking.moves[0].score, Score::Solved(1));
    assert_eq!(ranking.moves.len(), position.legal_moves().len());
}

#[test]
fn deeper_search_beats_shallower() {
    let mut points = 0;
    for game in 0..8_u32 {
        let mut position = Position::start(Rules::Togyz);
        // Four random plies, the same for both colors of a pair.
        let mut random = game / 2 + 1;
        for _ in 0..4 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let moves = position.legal_moves();
            position.play(moves[(random >> 16) as usize % moves.len()]).unwrap();
        }
        let deep_side = if game % 2 == 0 { Side::First } else { Side::Second };
        let (mut deep, mut shallow) = (oracle(4), oracle(1));
        while position.outcome().is_none() && position.ply() < 300 {
            let oracle = if position.side_to_move() == deep_side { &mut deep } else { &mut shallow };
            let best = oracle.evaluate(&position).unwrap().best().unwrap();
            position.play(best).unwrap();
        }
        points += match position.outcome() {
            Some(Outcome::Win(side)) if side == deep_side => 2,
            Some(Outcome::Win(_)) => 0,
            _ => 1,
        };
    }
    assert!(points >= 12, "{points} of 16");
}

#[test]
fn rankings_repeat_whatever_came_before() {
    let start = Position::start(Rules::Togyz);
    let mut used = oracle(6);
    let first = used.evaluate(&start).unwrap();
    let mut other = start.clone();
    other.play_text("5").unwrap();
    used.evaluate(&other).unwrap();
    assert_eq!(used.evaluate(&start).unwrap(), first);
    assert!(first.moves.iter().all(|judged| matches!(judged.score, Score::Margin(_))));
}
