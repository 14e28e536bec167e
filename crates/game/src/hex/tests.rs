use super::*;

fn played(mut position: Hex, moves: &str) -> Hex {
    for text in moves.split(' ') {
        let mv = position.parse_move(text).unwrap();
        assert_eq!(position.move_text(mv), text);
        position.play(mv).unwrap();
        let Rules::Hex { size, swap } = position.rules() else { panic!("hex is hex") };
        let read = Hex::parse(size, swap, &position.to_string());
        assert_eq!(read, Ok(position), "text and key survive");
    }
    position
}

/// A small generator for tests: xorshift, upper half.
fn numbers(mut state: u64) -> impl FnMut() -> u32 {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    }
}

#[test]
fn first_joins_top_and_bottom_second_left_and_right() {
    let first = played(Hex::new(3, false), "b1 a1 b2 c1 a3");
    assert_eq!(first.outcome(), Some(Outcome::Win(Side::First)));
    assert_eq!(first.end_reason(), Some(EndReason::Connection));
    assert_eq!(first.to_string(), "oxo/.x./x.. o");
    assert!(!first.is_legal(Move(3)) && first.random_move(7).is_none());
    let second = played(Hex::new(3, false), "a1 a3 a2 b2 b3 c1");
    assert_eq!(second.outcome(), Some(Outcome::Win(Side::Second)));
}

#[test]
fn cells_across_the_other_diagonal_do_not_touch() {
    // a1, b2, c3 is a diagonal without a common border.
    let position = played(Hex::new(3, false), "a1 a2 b2 c2 c3");
    assert_eq!(position.outcome(), None);
}

#[test]
fn swap_mirrors_the_opening_stone() {
    let rules = Hex::new(5, true);
    assert!(!rules.may_swap());
    let opened = played(rules, "b4");
    assert_eq!(opened.n_legal_moves(), 25);
    let swapped = played(opened, "swap");
    assert_eq!(swapped.to_string(), "...../...o./...../...../..... x");
    assert_eq!((swapped.ply(), swapped.side_to_move()), (2, Side::First));
    assert!(!swapped.is_legal(Hex::SWAP));
    let on = played(swapped, "b4 c3");
    assert_eq!((on.ply(), on.may_swap()), (4, false));
    assert!(!played(Hex::new(5, false), "b4").is_legal(Hex::SWAP));
    assert!(!played(Hex::new(5, true), "b4 c3").is_legal(Hex::SWAP));
}

#[test]
fn swap_commutes_with_turning_the_board() {
    let opened = played(Hex::new(7, true), "c2");
    let mut turned = opened.transformed(1);
    turned.play(opened.transformed_move(1, Hex::SWAP)).unwrap();
    assert_eq!(turned, played(opened, "swap").transformed(1));
}

/// Every step of random games against a plain flood over both sides; the full board has one connection.
#[test]
fn the_winner_is_found_at_the_stone_that_joins() {
    let mut random = numbers(0x0123_4567_89AB_CDEF);
    for size in 3..=19 {
        for _ in 0..40 {
            let mut position = Hex::new(size, size % 2 == 0);
            while let Some(mv) = position.random_move(random()) {
                position.play(mv).unwrap();
                let joined: Vec<Side> = [Side::First, Side::Second]
                    .into_iter()
                    .filter(|&side| plainly_joined(&position, side))
                    .collect();
                assert_eq!(position.outcome(), joined.first().map(|&side| Outcome::Win(side)));
                assert!(joined.len() < 2);
            }
            assert!(position.outcome().is_some());
        }
    }
}

/// A depth-first walk over cells, as a check of the bit rows.
fn plainly_joined(position: &Hex, side: Side) -> bool {
    let size = position.size() as i32;
    let mut seen = [[false; MAX_SIZE]; MAX_SIZE];
    let mut open: Vec<(i32, i32)> =
        (0..size).map(|i| if side == Side::First { (0, i) } else { (i, 0) }).collect();
    while let Some((row, column)) = open.pop() {
        if !(0..size).contains(&row) || !(0..size).contains(&column) {
            continue;
        }
        let (r, c) = (row as usize, column as usize);
        if seen[r][c] || position.cell(r, c) != Some(side) {
            continue;
        }
        seen[r][c] = true;
        if (if side == Side::First { row } else { column }) == size - 1 {
            return true;
        }
        for (down, right) in [(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)] {
            open.push((row + down, column + right));
        }
    }
    false
}

#[test]
fn playouts_end_at_the_winning_stone() {
    let mut random = numbers(0xFEED_FACE_CAFE_BEEF);
    let mut wins = [0; 2];
    for round in 0..600_u32 {
        let size = 3 + (round % 17) as u8;
        let mut position = Hex::new(size, round % 3 == 0);
        for _ in 0..round % 5 {
            position.play(position.random_move(random()).unwrap()).unwrap();
        }
        let Some(Outcome::Win(winner)) = position.playout(u32::MAX, &mut random) else {
            panic!("no draws in Hex")
        };
        wins[winner.index()] += 1;
        assert_eq!(Hex::parse(size, round % 3 == 0, &position.to_string()), Ok(position));
        assert_eq!(position.side_to_move(), winner.other());
        // Some stone of the winner's decides; without it nobody is connected.
        let decided = (0..position.size()).any(|row| {
            (0..position.size()).any(|column| {
                let mut before = position;
                before.stones[winner.index()][row] &= !(1 << column);
                before != position && !flood::joins(&before.stones[winner.index()], before.size(), winner)
            })
        });
        assert!(decided);
    }
    assert!(wins[0] > 240 && wins[1] > 240, "{wins:?}");
}

#[test]
fn playouts_stop_at_the_limit() {
    let mut position = Hex::default();
    assert_eq!(position.playout(10, numbers(9)), None);
    assert_eq!((position.ply(), position.n_legal_moves()), (10, 111));
}

#[test]
fn bad_text_is_refused() {
    for text in [
        "",
        ".../... x",
        ".../.../... w",
        ".../.../.. x",
        ".../.../..X x",
        "..../..../..../.... x",
        ".x./.x./.x. x",
        "xo./xo./xo. x",
    ] {
        assert!(Hex::parse(3, false, text).is_err(), "{text}");
    }
    for text in ["", "a", "a0", "a01", "a+1", "d1", "a4", "A1", "swap ", "é1", "1a"] {
        assert!(matches!(Hex::new(3, true).parse_move(text), Err(MoveError::Syntax { .. })), "{text}");
    }
    assert!(matches!(Hex::new(3, true).parse_move("swap"), Err(MoveError::Illegal { .. })));
}

#[test]
fn the_drawing_is_a_rhombus() {
    let drawing = played(Hex::new(3, false), "b1 c2").drawing();
    let board = ["   a b c", "  1 . x .  1", "   2 . . o  2", "    3 . . .  3", "       a b c"];
    assert_eq!(drawing.lines().take(5).collect::<Vec<_>>(), board);
}
