//! Tables keep what is written, across row groups, with every kind of absence.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::{rows, write};
use mavis_data::wire::{
    AnnotationRow, GameRow, MoveRow, MoveText, OracleName, Place, PositionRow, Row, ScoreUnit,
};
use mavis_data::{AnnotationTable, Annotations, TableError, TableReader, TableWriter};
use mavis_game::{Game, Position, Rules};
use proptest::prelude::*;
use std::sync::Arc;

fn optional_text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[ -~é]{0,12}")
}

fn position_row() -> impl Strategy<Value = PositionRow> {
    ("[a-z]{0,8}", ".{0,40}", optional_text(), 0..=u32::MAX, optional_text()).prop_map(
        |(game, position, game_id, ply, played)| PositionRow {
            place: Place { game, position, game_id, ply },
            played,
        },
    )
}

fn move_row() -> impl Strategy<Value = MoveRow> {
    let unit = prop_oneof![Just(ScoreUnit::Centipawns), Just(ScoreUnit::Mate), Just(ScoreUnit::WinRate)];
    (
        "[a-z0-9]{1,5}",
        proptest::option::of(0.0_f32..=1.0),
        proptest::option::of((-1e4_f32..1e4, unit)),
        proptest::option::of(0..400),
    )
        .prop_map(|(mv, win_probability, score, plies)| MoveRow {
            mv: MoveText::from(&mv).unwrap(),
            win_probability,
            score,
            plies,
        })
}

fn annotation_row() -> impl Strategy<Value = AnnotationRow> {
    let moves = proptest::collection::vec(move_row(), 0..5);
    (position_row(), moves, proptest::option::of(0.0_f32..1.0), "[a-c]{0,2}").prop_map(
        |(position, moves, value, oracle)| AnnotationRow {
            place: position.place,
            best: moves.first().map(|row| row.mv),
            moves,
            value,
            oracle: Arc::new(OracleName { name: oracle.clone(), version: "1".to_owned(), settings: oracle }),
        },
    )
}

fn game_row() -> impl Strategy<Value = GameRow> {
    let moves = proptest::collection::vec("[a-h1-8]{0,5}", 0..6);
    (moves, optional_text(), proptest::option::of(-5..3_000)).prop_map(|(moves, text, rating)| GameRow {
        game: "chess".to_owned(),
        game_id: "x".to_owned(),
        start: "y".to_owned(),
        moves,
        result: text.clone(),
        first_rating: rating,
        date: text.clone(),
        termination: text,
        values: rating.iter().flat_map(|_| [None, Some(0.25)]).collect(),
        ..GameRow::default()
    })
}

fn comes_back<R: Row + PartialEq + std::fmt::Debug>(written: &[R]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    write(&path, written);
    assert_eq!(rows::<R>(&path), written);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn positions_come_back(written in proptest::collection::vec(position_row(), 0..60)) {
        comes_back(&written);
    }

    #[test]
    fn annotations_come_back(written in proptest::collection::vec(annotation_row(), 0..40)) {
        comes_back(&written);
    }

    #[test]
    fn games_come_back(written in proptest::collection::vec(game_row(), 0..40)) {
        comes_back(&written);
    }
}

/// Rows of uneven lists over several row groups, read in chunks that do not fit them.
#[test]
fn lists_keep_their_rows_across_row_groups() {
    let oracle = Arc::new(OracleName { name: "o".to_owned(), ..OracleName::default() });
    let written: Vec<AnnotationRow> = (0..2 * AnnotationRow::ROWS_PER_GROUP + 5)
        .map(|n| AnnotationRow {
            place: Place { game: "chess".to_owned(), position: n.to_string(), game_id: None, ply: n as u32 },
            moves: (0..n % 4)
                .map(|k| MoveRow {
                    mv: MoveText::from(&format!("{}", (n + k) % 977)).unwrap(),
                    win_probability: (k != 1).then_some(n as f32),
                    score: None,
                    plies: (k == 2).then_some(n as i32),
                })
                .collect(),
            best: None,
            value: (n % 3 == 0).then_some(0.5),
            oracle: Arc::clone(&oracle),
        })
        .collect();
    comes_back(&written);
}

#[test]
fn a_table_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/table.parquet");
    let mut writer = TableWriter::<PositionRow>::create(&path).unwrap();
    writer
        .write(&PositionRow { place: Place::of(&Position::start(Rules::Chess), None), played: None })
        .unwrap();
    assert!(!path.exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_device_is_no_table() {
    let folder = tempfile::tempdir().unwrap();
    // Through a link, so that a mistake here costs the link and not the device.
    let path = folder.path().join("out.parquet");
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let error = TableWriter::<PositionRow>::create(&path).err().unwrap();
    assert!(error.to_string().contains("out.parquet"), "{error}");
    assert!(path.is_symlink());
}

#[test]
fn other_tables_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("positions.parquet");
    write::<PositionRow>(&path, &[]);
    let error = TableReader::<AnnotationRow>::open(&[&path]).err().unwrap();
    assert!(matches!(&error, TableError::Kind { got, .. } if got == "positions"), "{error}");
    assert!(matches!(
        TableReader::<PositionRow>::open(&[folder.path().join("none")]).err(),
        Some(TableError::Io { .. })
    ));
    std::fs::write(folder.path().join("text.parquet"), "no table").unwrap();
    assert!(matches!(
        TableReader::<PositionRow>::open(&[folder.path().join("text.parquet")]).err(),
        Some(TableError::Parquet { .. })
    ));
}

/// A row as an oracle would write it.
fn judged(position: &Position, values: impl Fn(usize) -> f32) -> AnnotationRow {
    let mut moves: Vec<MoveRow> = position
        .legal_moves()
        .iter()
        .enumerate()
        .map(|(idx, mv)| MoveRow {
            mv: MoveText::from(&position.move_text(*mv)).unwrap(),
            win_probability: Some(values(idx)),
            score: None,
            plies: None,
        })
        .collect();
    moves.reverse();
    AnnotationRow {
        place: Place::of(position, None),
        best: moves.first().map(|row| row.mv),
        value: None,
        moves,
        oracle: Arc::default(),
    }
}

#[test]
fn annotations_in_memory_agree_with_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("annotations.parquet");
    let mut written: Vec<AnnotationRow> = Rules::ALL
        .into_iter()
        .map(|rules| judged(&Position::start(rules), |idx| [0.0, 0.5, 1.0, 0.123][idx % 4]))
        .collect();
    let mate = Position::parse(Rules::Chess, "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1").unwrap();
    written.push(judged(&mate, |_| 0.0));
    let mut partial = judged(&Position::start(Rules::Othello), |_| 0.5);
    partial.moves.pop();
    written.insert(3, partial);
    write(&path, &written);
    let table = AnnotationTable::open(&[&path]).unwrap();
    assert_eq!((table.len(), table.n_refused()), (7, 1));
    assert_eq!(table.first_refused().unwrap().idx, 3);
    written.remove(3);
    for (idx, row) in written.iter().enumerate() {
        let record = table.get(idx).unwrap();
        assert_eq!(record.position.to_string(), row.place.position);
        assert_eq!(record.best.map(|mv| record.position.move_text(mv)).as_deref(), row.best.as_deref());
        assert_eq!(record.moves.len(), row.moves.len());
        for judged in &row.moves {
            let mv = record.position.parse_move(&judged.mv).unwrap();
            let value = record.moves.iter().find(|(other, _)| *other == mv).unwrap().1;
            assert!((value - judged.win_probability.unwrap()).abs() < 1e-5);
            // What exact solvers say stays exact.
            assert!(value == judged.win_probability.unwrap() || value != 0.5);
        }
    }
    assert!(table.get(7).is_err());
}

/// The footer of a file says how many rows it has, which sums, samples and jobs rely on.
#[test]
fn a_footer_that_counts_other_rows_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("positions.parquet");
    let row = |ply| PositionRow {
        place: Place { game: "hex".to_owned(), position: "x".to_owned(), game_id: None, ply },
        played: None,
    };
    write(&path, &[row(0), row(1), row(2), row(3)]);
    let bytes = std::fs::read(&path).unwrap();
    // The third field of the footer, a number of 64 bits, and the head of the fourth.
    let at = bytes.windows(3).rposition(|bytes| bytes == [0x16, 4 << 1, 0x19]).unwrap();
    let claim = |n_rows: i8| {
        let mut bytes = bytes.clone();
        bytes[at + 1] = ((n_rows << 1) ^ (n_rows >> 7)) as u8;
        std::fs::write(&path, bytes).unwrap();
        let read = TableReader::<PositionRow>::open(&[&path]).unwrap().collect::<Result<Vec<_>, _>>();
        (mavis_data::table::n_rows(&[&path]), read.map(|rows| rows.len()))
    };
    assert!(matches!(claim(4), (Ok(4), Ok(4))));
    let (Ok(3), Err(TableError::Parquet { source, .. })) = claim(3) else { panic!("it has a row more") };
    assert!(source.to_string().contains("4 rows, but its footer says 3"), "{source}");
    let (Err(TableError::Parquet { source, .. }), Err(_)) = claim(-4) else { panic!("no number of rows") };
    assert!(source.to_string().contains("a number of -4 rows"), "{source}");
}
