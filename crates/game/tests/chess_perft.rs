//! Chess and Chess960 against published node counts.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_game::{CastlingMode, Chess, Game, Move, perft};
use shakmaty::{Position as _, fen::Fen};

/// One position and its counts, the first of depth 1.
struct Case {
    fen: String,
    counts: Vec<(u32, u64)>,
}

/// Lines of `FEN ;D1 n ;D2 n ...`.
fn read_epd(text: &str) -> Vec<Case> {
    let read = |line: &str| {
        let mut parts = line.split(';');
        let fen = parts.next().unwrap().trim().to_owned();
        let counts = parts.map(|part| {
            let (depth, count) = part.trim().strip_prefix('D').unwrap().split_once(' ').unwrap();
            (depth.parse().unwrap(), count.trim().parse().unwrap())
        });
        Case { counts: counts.collect(), fen }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(read).collect()
}

/// Blocks of `epd FEN` and `perft DEPTH COUNT` lines.
fn read_perft(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("epd", fen)) => cases.push(Case { fen: fen.to_owned(), counts: Vec::new() }),
            Some(("perft", rest)) => {
                let (depth, count) = rest.trim().split_once(' ').unwrap();
                let case = cases.last_mut().unwrap();
                case.counts.push((depth.parse().unwrap(), count.trim().parse().unwrap()));
            }
            _ => {}
        }
    }
    cases
}

/// Checks every count of at most `budget` nodes, and by way of move codes those of at most a hundredth of it.
fn check(cases: &[Case], n_cases: usize, budget: u64) {
    assert_eq!(cases.len(), n_cases);
    for Case { fen, counts } in cases {
        let mode = CastlingMode::detect(fen.parse::<Fen>().unwrap().as_setup());
        let position = Chess::parse(mode, fen).unwrap();
        assert!(counts[0].1 <= budget / 100, "{fen} is not checked at all");
        for &(depth, count) in counts.iter().filter(|(_, count)| *count <= budget) {
            assert_eq!(perft(&position, depth), count, "{fen} at depth {depth}");
            if count <= budget / 100 {
                assert_eq!(perft_by_codes(&position, depth), count, "{fen} at depth {depth} by codes");
            }
        }
    }
}

/// The count by way of our own codes and `play_unchecked`, with the key made afresh at every node.
fn perft_by_codes(position: &Chess, depth: u32) -> u64 {
    let afresh = Chess::from_position(position.position().clone());
    assert_eq!(position.key(), afresh.key(), "{position}");
    if depth == 0 {
        return 1;
    }
    let codes: Vec<Move> = position.position().legal_moves().into_iter().map(Chess::move_code).collect();
    codes
        .into_iter()
        .map(|code| {
            let mut after = position.clone();
            after.play_unchecked(code);
            perft_by_codes(&after, depth - 1)
        })
        .sum()
}

#[test]
fn classic_suite() {
    let cases = read_epd(include_str!("data/perftsuite.epd"));
    check(&cases, 127, 5_000_000);
}

#[test]
fn tricky_positions() {
    let cases = read_perft(include_str!("data/tricky.perft"));
    check(&cases, 26, 5_000_000);
}

#[test]
fn chess960_suite() {
    let cases = read_perft(include_str!("data/chess960.perft"));
    check(&cases, 960, 600_000);
}

#[test]
#[ignore = "over a minute: every count up to 200 million nodes"]
fn classic_suite_deep() {
    let cases = read_epd(include_str!("data/perftsuite.epd"));
    check(&cases, 127, 200_000_000);
}
