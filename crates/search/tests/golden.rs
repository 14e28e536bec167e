//! Stored trees that must come back the same. `cargo test -p mavis-search --test all -- --ignored golden` writes them anew;
//! a commit that changes them says why.

#![allow(clippy::unwrap_used, reason = "a panic is the failure we want to see")]

use mavis_eval::Scripted;
use mavis_game::{Game as _, Position, Rules};
use mavis_search::{Stop, mcts::Search, wire::SavedTree};
use std::{path::PathBuf, sync::Arc};

/// Name, game, moves before the root, settings.
const TREES: &[(&str, Rules, &str, &str)] = &[
    ("connect4_serial", Rules::Connect4, "44", "sims=80,batch=1,seed=1"),
    ("connect4_batch", Rules::Connect4, "44", "sims=80,batch=16,seed=1"),
    ("connect4_fixed", Rules::Connect4, "444441", "sims=60,batch=8,virtual=fixed,scoring=max"),
    ("connect4_solved", Rules::Connect4, "3344", "sims=120,batch=1"),
    ("othello_model", Rules::Othello, "", "sims=40,batch=4,world=model,tau=0:0.1/4:1"),
    ("chess_noise", Rules::Chess, "", "sims=12,batch=4,noise=0.25,k=3,epsilon=0.2,seed=7"),
];

fn grow(rules: Rules, moves: &str, settings: &str) -> SavedTree {
    let mut position = Position::start(rules);
    for mv in moves.chars() {
        position.play_text(&mv.to_string()).unwrap();
    }
    let mut search = Search::new(position, Arc::new(Scripted::new(42)), settings.parse().unwrap());
    search.run_blocking(&Stop::never()).unwrap();
    search.snapshot()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/golden/{name}.json"))
}

#[test]
fn trees_come_back() {
    for &(name, rules, moves, settings) in TREES {
        let stored = SavedTree::from_json(&std::fs::read_to_string(path(name)).unwrap()).unwrap();
        let grown = grow(rules, moves, settings);
        // The exponential of the prior may differ in its last bit between machines.
        let diff = stored.diff(&grown, 1e-5);
        assert!(diff.is_empty(), "{name}: {diff:?}");
        assert_eq!((stored.position, stored.settings), (grown.position, grown.settings));
    }
}

#[test]
#[ignore = "writes the stored trees"]
fn store_trees() {
    for &(name, rules, moves, settings) in TREES {
        std::fs::write(path(name), grow(rules, moves, settings).to_json().unwrap()).unwrap();
    }
}
