//! What holds for every game, written once.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_game::{Chess, EndReason, Game, Move, MoveError, Moves, Outcome, Position, Rules};
use proptest::prelude::*;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashSet;

/// Every game, and Hex with each parameter that changes its rules.
const RULES: [Rules; 9] = [
    Rules::Chess,
    Rules::Chess960,
    Rules::Connect4,
    Rules::HEX,
    Rules::Hex { size: 3, swap: false },
    Rules::Hex { size: 5, swap: true },
    Rules::Hex { size: 19, swap: true },
    Rules::Othello,
    Rules::Togyz,
];

/// A position that random play reaches, the finished ones included.
fn reached() -> impl Strategy<Value = Position> {
    (0..RULES.len(), any::<u64>(), 0..220_u32)
        .prop_map(|(rules, seed, plies)| walk(RULES[rules], seed, plies).pop().expect("the start is there"))
}

/// The positions of one random game, the start first.
fn walk(rules: Rules, seed: u64, plies: u32) -> Vec<Position> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut positions = vec![start(rules, random.next_u32())];
    for _ in 0..plies {
        let mut next = positions[positions.len() - 1].clone();
        let Some(mv) = next.random_move(random.next_u32()) else { break };
        next.play_unchecked(mv);
        positions.push(next);
    }
    positions
}

/// The start position; in Chess960 any of them.
fn start(rules: Rules, random: u32) -> Position {
    match rules {
        Rules::Chess960 => Position::Chess(Chess::start960((random % 960) as u16).unwrap()),
        _ => Position::start(rules),
    }
}

fn after(position: &Position, mv: Move) -> Position {
    let mut after = position.clone();
    after.play_unchecked(mv);
    after
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn position_text_is_inverse(position in reached()) {
        let text = position.to_string();
        let read = Position::parse(position.rules(), &text).unwrap();
        prop_assert_eq!(&read, &position);
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!(read.key(), position.key());
        prop_assert_eq!(read.side_to_move(), position.side_to_move());
        // Repetition is history, which text does not carry.
        if position.end_reason() != Some(EndReason::FivefoldRepetition) {
            prop_assert_eq!(read.legal_moves(), position.legal_moves());
            prop_assert_eq!(read.end_reason(), position.end_reason());
        }
    }

    #[test]
    fn a_winning_move_is_the_first_that_wins(position in reached(), taken_back in 1..4_usize, seed in any::<u64>()) {
        // Positions just before the end of a game have such moves more often than others.
        let line = walk(position.rules(), seed, 400);
        for position in [&position, &line[line.len().saturating_sub(taken_back + 1)]] {
            let win = Some(Outcome::Win(position.side_to_move()));
            let first = position.legal_moves().into_iter().find(|&mv| after(position, mv).outcome() == win);
            prop_assert_eq!(position.winning_move(), first, "{}", position);
        }
    }

    #[test]
    fn move_text_is_inverse(position in reached()) {
        let moves = position.legal_moves();
        let texts: HashSet<String> = moves.iter().map(|&mv| position.move_text(mv)).collect();
        prop_assert_eq!(texts.len(), moves.len(), "two moves share a text");
        for mv in moves {
            prop_assert_eq!(position.parse_move(&position.move_text(mv)), Ok(mv));
        }
    }

    #[test]
    fn play_keeps_the_invariants(position in reached()) {
        let moves = position.legal_moves();
        prop_assert_eq!(moves.len(), position.n_legal_moves());
        prop_assert_eq!(moves.iter().collect::<HashSet<_>>().len(), moves.len(), "a move is listed twice");
        prop_assert_eq!(position.outcome().is_some(), moves.is_empty());
        prop_assert_eq!(position.end_reason().is_some(), moves.is_empty());
        prop_assert_eq!(position.rules().to_string().parse::<Rules>(), Ok(position.rules()));
        prop_assert!(position.drawing().ends_with('\n'));
        for mv in moves {
            let next = after(&position, mv);
            prop_assert_eq!(next.rules(), position.rules());
            // A pass in Othello leaves no trace, so the count may stand.
            prop_assert!((0..=1).contains(&(next.ply() - position.ply())));
            prop_assert_ne!(&next, &position);
            let mut checked = position.clone();
            prop_assert!(checked.play(mv).is_ok());
            prop_assert_eq!(checked, next);
        }
    }

    #[test]
    fn refused_moves_change_nothing(position in reached(), code in any::<u16>(), text in "\\PC{0,6}") {
        let mut played = position.clone();
        prop_assert_eq!(played.play(Move(code)).is_ok(), position.is_legal(Move(code)));
        if !position.is_legal(Move(code)) {
            prop_assert_eq!(&played, &position);
        }
        match position.parse_move(&text) {
            Ok(mv) => prop_assert!(position.is_legal(mv)),
            Err(MoveError::Illegal { text: named } | MoveError::Syntax { text: named, .. }) => {
                prop_assert_eq!(named, text);
            }
        }
    }

    #[test]
    fn random_moves_are_legal_and_reach_all(position in reached(), random in any::<u32>()) {
        let moves = position.legal_moves();
        prop_assert_eq!(position.random_move(random).is_some(), !moves.is_empty());
        let step = u32::MAX / 1024;
        let found: HashSet<Move> = (0..1024).filter_map(|n| position.random_move(n * step)).collect();
        prop_assert_eq!(found, moves.into_iter().collect::<HashSet<_>>());
    }

    #[test]
    fn symmetries_commute_with_play(position in reached()) {
        for symmetry in 0..position.n_symmetries() {
            let image = position.transformed(symmetry);
            prop_assert_eq!(image.outcome(), position.outcome());
            prop_assert_eq!(image.side_to_move(), position.side_to_move());
            let moves = position.legal_moves();
            let images: HashSet<Move> =
                moves.iter().map(|&mv| position.transformed_move(symmetry, mv)).collect();
            prop_assert_eq!(&images, &image.legal_moves().into_iter().collect::<HashSet<_>>());
            for mv in moves {
                let played = after(&image, position.transformed_move(symmetry, mv));
                prop_assert_eq!(played, after(&position, mv).transformed(symmetry));
            }
        }
        prop_assert_eq!(position.transformed(0), position);
    }

    #[test]
    fn views_have_the_moves_and_the_chances_of_the_side_to_move(position in reached()) {
        prop_assert_eq!(position.view(0), Some(position.clone()));
        // The winner in the eyes of the side to move.
        let won_by = |position: &Position| match position.outcome() {
            Some(Outcome::Win(side)) => Some(Some(side == position.side_to_move())),
            Some(Outcome::Draw) => Some(None),
            None => None,
        };
        for number in 0..position.n_views() {
            let Some(view) = position.view(number) else { continue };
            prop_assert_eq!(won_by(&view), won_by(&position));
            let moves = position.legal_moves();
            let seen: HashSet<Move> = moves.iter().map(|&mv| position.move_in_view(number, mv)).collect();
            prop_assert_eq!(&seen, &view.legal_moves().into_iter().collect::<HashSet<_>>());
            for mv in moves {
                let played = after(&view, position.move_in_view(number, mv));
                prop_assert_eq!(Some(played), after(&position, mv).view(number));
            }
        }
    }

    #[test]
    fn keys_agree_with_equality(rules in 0..RULES.len(), seed in any::<u64>(), plies in 0..120_u32) {
        let mut positions = walk(RULES[rules], seed, plies);
        let last = positions[positions.len() - 1].clone();
        // Two moves of one side around one of the other, in both orders: often the same position.
        for (first, reply, second) in triples(&last, seed) {
            for order in [[first, reply, second], [second, reply, first]] {
                let mut position = last.clone();
                if order.into_iter().all(|mv| position.play(mv).is_ok()) {
                    positions.push(position);
                }
            }
        }
        for (n, a) in positions.iter().enumerate() {
            for b in &positions[n..] {
                prop_assert_eq!(a == b, a.key() == b.key(), "{} and {}", a, b);
            }
        }
    }
}

/// A few moves that follow each other.
fn triples(position: &Position, seed: u64) -> Vec<(Move, Move, Move)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut triple = || {
        let first = position.random_move(random.next_u32())?;
        let second = position.random_move(random.next_u32())?;
        Some((first, after(position, first).random_move(random.next_u32())?, second))
    };
    (0..20).filter_map(|_| triple()).collect()
}

#[test]
fn orders_of_moves_do_meet() {
    // The property above would say nothing if no two orders ever led to the same position.
    for rules in RULES {
        let meets = (0..200).any(|seed| {
            let last = walk(rules, seed, 6).pop().unwrap();
            triples(&last, seed).into_iter().any(|(first, reply, second)| {
                let played = |order: [Move; 3]| {
                    let mut position = last.clone();
                    order.into_iter().all(|mv| position.play(mv).is_ok()).then_some(position)
                };
                first != second
                    && played([first, reply, second])
                        .is_some_and(|one| played([second, reply, first]) == Some(one))
            })
        });
        // Sowing is not commutative often enough to expect it of Togyz Kumalak, nor flipping of Othello.
        assert!(meets || matches!(rules, Rules::Togyz | Rules::Othello), "{rules}");
    }
}

#[test]
fn legality_agrees_with_the_list_for_every_code() {
    for rules in RULES {
        for (seed, plies) in [(1, 0), (2, 7), (3, 20), (4, 45), (5, 90), (6, 400)] {
            let position = walk(rules, seed, plies).pop().unwrap();
            let listed: HashSet<Move> = position.legal_moves().into_iter().collect();
            let legal: HashSet<Move> = (0..=u16::MAX).map(Move).filter(|&mv| position.is_legal(mv)).collect();
            assert_eq!(legal, listed, "{rules}: {position}");
        }
    }
}

#[test]
fn games_repeat_from_their_seed_and_end() {
    for rules in RULES {
        for seed in 0..20 {
            let play = || {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut position = Position::start(rules);
                let outcome = position.playout(20_000, || random.next_u32());
                (outcome, position)
            };
            let (outcome, position) = play();
            assert!(outcome.is_some(), "{rules} from seed {seed} does not end");
            assert_eq!(outcome, position.outcome());
            let mut moves = Moves::new();
            position.legal_moves_into(&mut moves);
            assert!(moves.is_empty());
            assert_eq!(play(), (outcome, position));
        }
    }
}
