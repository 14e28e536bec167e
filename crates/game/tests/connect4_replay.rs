//! Connect Four against the positions of a solver's test sets.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_game::{Connect4, Game};
use std::{env, fs, path::PathBuf};

/// Replays lines of `COLUMNS SCORE`: every move legal, the game still open, the score within what the board leaves.
fn replay(text: &str) -> usize {
    for line in text.lines() {
        let (columns, score) = line.split_once(' ').unwrap();
        let mut position = Connect4::default();
        for at in 0..columns.len() {
            let mv = position.parse_move(&columns[at..=at]).unwrap_or_else(|error| panic!("{line}: {error}"));
            position.play(mv).unwrap();
        }
        assert_eq!(position.outcome(), None, "{line}");
        assert_eq!(position.ply() as usize, columns.len());
        // A score counts the stones the winner has left when he wins, one more than none.
        let score: i32 = score.trim().parse().unwrap();
        assert!(score.unsigned_abs() <= (44 - position.ply()) / 2, "{line}");
    }
    text.lines().count()
}

#[test]
fn a_sample_of_the_sets_replays() {
    assert_eq!(replay(include_str!("data/connect4_sample.txt")), 1_000);
}

#[test]
#[ignore = "needs the full sets: Test_L1_R1.txt and its fellows in the folder MAVIS_GAMES names"]
fn the_full_sets_replay() {
    let folder = PathBuf::from(env::var("MAVIS_GAMES").expect("MAVIS_GAMES names a folder"));
    for set in ["L1_R1", "L1_R2", "L2_R1", "L3_R1"] {
        let text = fs::read_to_string(folder.join(format!("Test_{set}.txt"))).unwrap();
        assert_eq!(replay(&text), 1_000, "{set}");
    }
}
