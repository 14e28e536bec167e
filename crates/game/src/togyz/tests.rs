use super::*;

fn parsed(text: &str) -> Togyz {
    let position = Togyz::parse(text).unwrap();
    assert_eq!(position.to_string(), text);
    position
}

/// Plays `pit` (1 to 9) and compares the text after it.
fn check(before: &str, pit: u16, after: &str) {
    let mut position = parsed(before);
    position.play(Move(pit - 1)).unwrap();
    assert_eq!(position.to_string(), after);
}

#[test]
fn perft_from_the_start() {
    fn perft(position: &Togyz, depth: u32) -> u64 {
        let mut moves = Moves::new();
        position.legal_moves_into(&mut moves);
        let played = |&mv: &Move| {
            let mut next = *position;
            next.play_unchecked(mv);
            perft(&next, depth - 1)
        };
        if depth == 0 { 1 } else { moves.iter().map(played).sum() }
    }
    for (depth, nodes) in (1..).zip([9, 73, 613, 5_199, 43_184]) {
        assert_eq!(perft(&Togyz::default(), depth), nodes, "depth {depth}");
    }
}

#[test]
fn the_first_stone_stays_and_an_even_count_is_captured() {
    check(
        "9,9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 0,0 w",
        7,
        "9,9,9,9,9,9,1,10,10/10,10,10,10,10,0,9,9,9 10,0 b",
    );
}

#[test]
fn a_single_stone_moves_on() {
    check("1,0,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 17,0 w", 1, "0,1,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 17,0 b");
}

#[test]
fn three_make_a_tuzdyk() {
    check("0,0,0,0,0,0,0,0,2/2,9,9,9,9,9,9,9,9 79,7 w", 9, "0,0,0,0,0,0,0,0,1/X,9,9,9,9,9,9,9,9 82,7 b");
}

#[test]
fn no_tuzdyk_on_pit_nine_nor_twice_nor_opposite_the_other() {
    check("0,0,0,0,0,0,0,0,10/2,2,2,2,2,2,2,2,2 60,74 w", 9, "0,0,0,0,0,0,0,0,1/3,3,3,3,3,3,3,3,3 60,74 b");
    check("0,0,0,0,0,0,0,0,2/2,X,9,9,9,9,9,9,9 80,15 w", 9, "0,0,0,0,0,0,0,0,1/3,X,9,9,9,9,9,9,9 80,15 b");
    check("X,0,0,0,0,0,0,0,2/2,9,9,9,9,9,9,9,9 76,10 w", 9, "X,0,0,0,0,0,0,0,1/3,9,9,9,9,9,9,9,9 76,10 b");
}

#[test]
fn a_tuzdyk_collects_for_its_owner_on_every_lap() {
    // 21 stones go once round and three on.
    check("0,0,0,21,0,0,0,0,0/0,0,X,0,0,0,0,0,0 70,71 w", 4, "1,1,1,2,2,2,1,1,1/1,1,X,1,1,1,1,1,1 71,71 b");
    check("0,0,0,X,0,0,21,0,0/0,0,X,0,0,0,0,0,0 70,71 w", 7, "1,1,1,X,1,1,2,2,2/1,1,X,1,1,1,1,1,1 71,72 b");
}

#[test]
fn the_last_stone_in_a_tuzdyk_captures_nothing() {
    check("0,0,0,0,0,0,0,0,2/X,9,9,9,9,9,9,9,9 78,10 w", 9, "0,0,0,0,0,0,0,0,1/X,9,9,9,9,9,9,9,9 79,10 b");
}

#[test]
fn the_game_ends_by_majority_or_when_the_side_to_move_is_empty() {
    let majority = parsed("1,0,0,0,0,0,0,0,0/0,9,9,9,9,9,0,0,0 82,34 b");
    assert_eq!(majority.outcome(), Some(Outcome::Win(Side::First)));
    assert_eq!(majority.end_reason(), Some(EndReason::Majority));
    assert!(!majority.is_legal(Move(1)));

    let stuck = parsed("0,0,0,0,0,0,0,0,0/0,9,9,9,9,9,0,0,0 79,38 w");
    assert_eq!(stuck.outcome(), Some(Outcome::Win(Side::Second)));
    assert_eq!(stuck.end_reason(), Some(EndReason::NoMoves));
    assert_eq!((stuck.final_kazan(Side::First), stuck.final_kazan(Side::Second)), (79, 83));

    let drawn = parsed("0,0,0,0,0,0,0,0,0/0,0,0,0,0,0,0,0,1 81,80 w");
    assert_eq!(drawn.outcome(), Some(Outcome::Draw));
    assert_eq!(parsed("0,0,0,0,0,0,0,0,1/0,0,0,0,0,0,0,0,1 80,80 w").outcome(), None);
}

#[test]
fn last_pit_tells_where_sowing_ends() {
    let position = parsed("1,0,0,20,0,0,9,0,0/0,2,2,2,0,0,0,0,0 62,64 w");
    let ends: Vec<_> = [0, 1, 3, 6].into_iter().map(|code| position.last_pit(Move(code))).collect();
    assert_eq!(ends, [Some((Side::First, 2)), None, Some((Side::First, 5)), Some((Side::Second, 6))]);
}

#[test]
fn bad_text_is_refused() {
    for text in [
        "",
        "9,9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 0,0",
        "9,9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 0,0 x",
        "9,9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 0,1 w",
        "9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 9,0 w",
        "9,9,9,9,9,9,9,9,X/9,9,9,9,9,9,9,9,9 9,0 w",
        "9,9,9,9,9,9,9,X,9/9,9,9,9,9,9,9,X,9 9,9 w",
        "9,9,9,9,9,9,X,X,9/9,9,9,9,9,9,9,9,9 9,9 w",
        "9,9,9,9,9,9,9,9,09/9,9,9,9,9,9,9,9,9 0,0 w",
        "9,9,9,9,9,9,9,9,+9/9,9,9,9,9,9,9,9,9 0,0 w",
        "9,9,9,9,9,9,9,9,265/9,9,9,9,9,9,9,9,9 0,0 w",
        ",9,9,9,9,9,9,9,9/9,9,9,9,9,9,9,9,9 9,0 w",
    ] {
        assert!(Togyz::parse(text).is_err(), "{text}");
    }
    for text in ["0", "10", "", "a"] {
        assert!(matches!(Togyz::default().parse_move(text), Err(MoveError::Syntax { .. })), "{text}");
    }
}

#[test]
fn the_ply_counts_but_does_not_tell_positions_apart() {
    let mut position = Togyz::default();
    position.play(Move(3)).unwrap();
    let read = Togyz::parse(&position.to_string()).unwrap();
    assert_eq!((position.ply(), read.ply()), (1, 1));
    position.ply = 41;
    assert_eq!(position, read);
    assert_eq!(position.key(), read.key());
}
