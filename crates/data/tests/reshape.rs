//! Unique positions, samples and splits, as properties of random tables.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::{rows, write};
use mavis_data::wire::{Place, PositionRow};
use mavis_data::{PositionReader, SplitTo, sample, split, unique};
use mavis_game::{Game, Position, Rules};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Positions of short random games, so that many occur in several of them; some without a game.
fn table() -> impl Strategy<Value = Vec<PositionRow>> {
    let game = proptest::collection::vec(0..3_usize, 1..6);
    (proptest::collection::vec((game, 0..4_u8), 1..25), any::<bool>()).prop_map(|(games, chess)| {
        let rules = if chess { Rules::Chess } else { Rules::Connect4 };
        let mut table = Vec::new();
        for (number, (choices, nameless)) in games.into_iter().enumerate() {
            let mut position = Position::start(rules);
            for choice in choices {
                let mv = position.legal_moves()[choice];
                position.play_unchecked(mv);
                let game_id = (nameless > 0).then(|| format!("game {}", number / 2));
                table.push(PositionRow { place: Place::of(&position, game_id), played: None });
            }
        }
        table
    })
}

fn key(row: &PositionRow) -> u64 {
    PositionReader::default().key(&row.place.game, &row.place.position).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn unique_keeps_the_first_of_every_position(table in table()) {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["in.parquet", "out.parquet"].map(|name| folder.path().join(name));
        write(&input, &table);
        let kept = unique::<PositionRow, _>(&[&input], &output).unwrap();
        let mut seen = HashSet::new();
        let expected: Vec<PositionRow> = table.iter().filter(|row| seen.insert(key(row))).cloned().collect();
        prop_assert_eq!((kept.n_rows, kept.n_kept), (table.len() as u64, expected.len() as u64));
        prop_assert_eq!(rows::<PositionRow>(&output), expected);
    }

    #[test]
    fn a_split_shares_neither_games_nor_positions(table in table(), seed: u64, share in 0.0..=1.0) {
        let folder = tempfile::tempdir().unwrap();
        let [input, train, valid] = ["in.parquet", "t.parquet", "v.parquet"].map(|name| folder.path().join(name));
        write(&input, &table);
        let result = split::<PositionRow, _>(&[&input], SplitTo { train: &train, valid: &valid, share, seed }).unwrap();
        let (train, valid) = (rows::<PositionRow>(&train), rows::<PositionRow>(&valid));
        let games = |side: &[PositionRow]| side.iter().filter_map(|row| row.place.game_id.clone()).collect::<BTreeSet<_>>();
        let keys = |side: &[PositionRow]| side.iter().map(key).collect::<HashSet<_>>();
        prop_assert!(games(&train).is_disjoint(&games(&valid)));
        prop_assert!(keys(&train).is_disjoint(&keys(&valid)));
        prop_assert_eq!(train.len() + valid.len() + result.n_shared as usize, table.len());
        // Nothing is lost but what training has.
        let all: HashSet<u64> = keys(&train).union(&keys(&valid)).copied().collect();
        prop_assert_eq!(all, keys(&table));
    }

    #[test]
    fn a_sample_is_a_part_in_order(table in table(), seed: u64, n in 0..30_u64) {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["in.parquet", "out.parquet"].map(|name| folder.path().join(name));
        write(&input, &table);
        let kept = sample::<PositionRow, _>(&[&input], &output, n, seed).unwrap();
        prop_assert_eq!(kept.n_kept, n.min(table.len() as u64));
        let drawn = rows::<PositionRow>(&output);
        let mut rest = table.iter();
        prop_assert!(drawn.iter().all(|row| rest.any(|other| other == row)));
    }
}

#[test]
fn every_row_is_drawn_equally_often() {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in.parquet", "out.parquet"].map(|name| folder.path().join(name));
    let row = |n: u32| {
        let place = Place { game: "chess".to_owned(), position: n.to_string(), game_id: None, ply: n };
        PositionRow { place, played: None }
    };
    write(&input, &(0..20).map(row).collect::<Vec<_>>());
    let mut counts = BTreeMap::new();
    for seed in 0..800 {
        sample::<PositionRow, _>(&[&input], &output, 5, seed).unwrap();
        rows::<PositionRow>(&output).iter().for_each(|row| *counts.entry(row.place.ply).or_insert(0) += 1);
    }
    // 200 expected for each; the standard deviation is about 12.
    assert!(counts.len() == 20 && counts.values().all(|n| (140..=260).contains(n)), "{counts:?}");
}
