//! Every predecessor, played forward, gives the position it was found for, in the words of its text.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Game, Othello, Position, Rules};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws predecessors of a position and plays each forward; how many were found.
fn check(position: &Position, n: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    let found = (0..n).filter_map(|_| position.random_predecessor(|| random.random()));
    found
        .map(|(before, mv)| {
            let text = before.to_string();
            let mut again = Position::parse(position.rules(), &text)
                .unwrap_or_else(|error| panic!("{text} before {position}: {error}"));
            assert_eq!(again.to_string(), text, "{position}");
            assert_eq!(again, before, "{position}");
            assert_eq!(again.key(), before.key(), "{position}");
            again.play(mv).unwrap_or_else(|error| panic!("{text} before {position}: {error}"));
            assert_eq!(again.to_string(), position.to_string(), "{text}");
            assert_eq!(again.outcome(), position.outcome(), "{text}");
        })
        .count()
}

/// Positions of random games; whatever was reached by a move has a predecessor, so nearly all draws must succeed.
fn check_playouts(rules: Rules, n_games: usize, least_share: f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut n_found, mut n_asked) = (0, 0);
    for game in 0..n_games {
        let mut position = match rules {
            Rules::Chess960 => {
                Position::Chess(mavis_game::Chess::start960(game as u16 * 37 % 960).expect("below 960"))
            }
            _ => Position::start(rules),
        };
        for _ in 0..150 {
            let Some(mv) = position.random_move(random.random()) else { break };
            position.play_unchecked(mv);
            n_found += check(&position, 3, &mut random);
            n_asked += 3;
        }
    }
    let share = n_found as f64 / n_asked as f64;
    assert!(share >= least_share, "{rules}: {n_found} of {n_asked}");
}

#[test]
fn every_game_goes_back_and_forth() {
    for rules in [Rules::Connect4, Rules::HEX, Rules::Hex { size: 4, swap: true }] {
        check_playouts(rules, 20, 1.0);
    }
    check_playouts(Rules::Othello, 20, 0.99);
    check_playouts(Rules::Togyz, 20, 0.99);
    check_playouts(Rules::Chess, 12, 0.98);
    check_playouts(Rules::Chess960, 12, 0.98);
}

#[test]
fn start_positions_have_none() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for rules in [Rules::Chess, Rules::Chess960, Rules::Connect4, Rules::HEX, Rules::Othello] {
        assert_eq!(Position::start(rules).random_predecessor(|| random.random()), None, "{rules}");
    }
}

#[test]
fn positions_of_published_suites_go_back_and_forth() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let classic = include_str!("data/perftsuite.epd")
        .lines()
        .map(|line| (Rules::Chess, line.split(';').next().unwrap_or_default()));
    let tricky = include_str!("data/tricky.perft")
        .lines()
        .filter_map(|line| line.strip_prefix("epd ").map(|epd| (Rules::Chess, epd)));
    let fischer = include_str!("data/chess960.perft")
        .lines()
        .filter_map(|line| line.strip_prefix("epd ").map(|epd| (Rules::Chess960, epd)));
    let (mut n_found, mut n) = (0, 0);
    for (rules, text) in classic.chain(tricky).chain(fischer) {
        let Ok(position) = Position::parse(rules, text) else { continue };
        n_found += check(&position, 4, &mut random);
        n += 4;
    }
    // Suites hold start positions and compositions, some of which nothing leads to.
    assert!(n > 3000 && 2 * n_found > n, "{n_found} of {n}");
}

/// The moves that lead to a position, drawn often, as text.
fn moves_to(rules: Rules, text: &str) -> std::collections::BTreeSet<String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let position = Position::parse(rules, text).expect("a position");
    check(&position, 100, &mut random);
    (0..2000)
        .filter_map(|_| position.random_predecessor(|| random.random()))
        .map(|(before, mv)| format!("{} {}", before.move_text(mv), before))
        .collect()
}

fn check_chess(text: &str, expected: &[&str]) {
    let found = moves_to(Rules::Chess, text);
    for part in expected {
        assert!(found.iter().any(|line| line.starts_with(part)), "{part} of {text}: {found:#?}");
    }
}

#[test]
fn every_kind_of_chess_move_is_taken_back() {
    // Castling, with the rights it cost.
    check_chess("4k3/8/8/8/8/8/8/5RK1 b - - 3 9", &["e1g1 4k3/8/8/8/8/8/8/4K2R w K - 2 9", "f2g1", "g2g1"]);
    check_chess("2kr4/8/8/8/8/8/8/4K3 w - - 1 9", &["e8c8 r3k3/8/8/8/8/8/8/4K3 b q - 0 8"]);
    // En passant: the only way to a capture with an empty square behind is shown with its square.
    check_chess(
        "4k3/8/3P4/8/8/8/8/4K3 b - - 0 9",
        &["e5d6 4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 9", "d5d6", "c5d6"],
    );
    // A double step that leaves a capture behind is the only way to it.
    let found = moves_to(Rules::Chess, "4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 9");
    assert!(!found.is_empty() && found.iter().all(|line| line.starts_with("d2d4 ")), "{found:#?}");
    // Promotion, by a step and by a capture; the king's and the rook's rights that a move costs.
    check_chess("Q3k3/8/8/8/8/8/8/4K3 b - - 0 9", &["a7a8q", "b7a8q"]);
    check_chess(
        "4k3/8/8/8/8/8/8/R4K2 b - - 3 9",
        &["e1f1 4k3/8/8/8/8/8/8/R3K3 w Q - 2 9", "e1f1 4k3/8/8/8/8/8/8/R3K3 w - - 2 9"],
    );
    check_chess("4k2N/8/8/8/8/8/8/4K3 b - - 0 9", &["f7h8 4k2r/5N2/8/8/8/8/8/4K3 w k -", "g6h8"]);
}

#[test]
fn swaps_and_passes_are_taken_back() {
    let swapped = moves_to(Rules::Hex { size: 4, swap: true }, "..../.o../..../.... x");
    assert_eq!(swapped.into_iter().collect::<Vec<_>>(), ["swap ..../.x../..../.... o"]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut n_passes = 0;
    for _ in 0..40 {
        let mut position = Position::start(Rules::Othello);
        while let Some(mv) = position.random_move(random.random()) {
            position.play_unchecked(mv);
            let before = position.random_predecessor(|| random.random());
            n_passes += usize::from(before.is_some_and(|(_, mv)| mv == Othello::PASS));
        }
    }
    assert!(n_passes > 0);
}
