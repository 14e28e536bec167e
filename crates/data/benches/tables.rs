//! Import and reading for training, as rates: games per second, records per second.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench is a program of its own")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mavis_data::import::Importer;
use mavis_data::wire::{AnnotationRow, MoveRow, MoveText, PositionRow};
use mavis_data::{AnnotationTable, Annotations, FenValues, PositionReader, TableReader, TableWriter};
use mavis_game::{Game, Rules};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data/tcec_standard_sample.pgn")
}

fn import(positions: &Path) -> u64 {
    let mut importer =
        Importer { positions: Some(TableWriter::create(positions).unwrap()), ..Importer::default() };
    importer.import(&sample(), None).unwrap();
    importer.finish().unwrap().n_games
}

/// Games of a PGN file into a table of positions.
fn import_games(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("positions.parquet");
    let mut group = criterion.benchmark_group("import");
    group.throughput(Throughput::Elements(import(&path))).sample_size(10);
    group.bench_function("pgn games", |bencher| bencher.iter(|| import(&path)));
    group.finish();
}

/// Records as training asks for them, one thread: from a table in memory, and from a pair of files with the same positions.
fn read_records(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let [positions, annotations] = ["p.parquet", "a.parquet"].map(|name| folder.path().join(name));
    import(&positions);
    let mut writer = TableWriter::<AnnotationRow>::create(&annotations).unwrap();
    let (mut fens, mut values) = (String::new(), Vec::new());
    for row in TableReader::<PositionRow>::open(&[&positions]).unwrap() {
        let row = row.unwrap();
        let position = PositionReader::default().position(&row.place.game, &row.place.position).unwrap();
        let legal = position.legal_moves();
        if row.place.game != "chess" || legal.is_empty() {
            continue;
        }
        fens.push_str(&format!("{}\n", row.place.position));
        values.extend([legal.len() as u8, 0]);
        values.extend(std::iter::repeat_n(127, legal.len()));
        let moves = legal.iter().map(|mv| MoveRow {
            mv: MoveText::from(&position.move_text(*mv)).unwrap(),
            win_probability: Some(0.5),
            score: None,
            plies: None,
        });
        let moves: Vec<MoveRow> = moves.collect();
        let row = AnnotationRow {
            place: row.place,
            best: moves.first().map(|row| row.mv),
            value: Some(0.5),
            moves,
            oracle: Arc::default(),
        };
        writer.write(&row).unwrap();
    }
    writer.finish().unwrap();
    let table = AnnotationTable::open(&[&annotations]).unwrap();
    let pair = FenValues::from_bytes(Rules::Chess, fens.as_bytes(), &values).unwrap();
    let mut group = criterion.benchmark_group("records");
    group.throughput(Throughput::Elements(1_000));
    let n_records = table.len();
    for (name, set) in [("table", &table as &dyn Annotations), ("pair", &pair)] {
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| (0..1_000).map(|n| set.get(n * 7 % n_records).unwrap().moves.len()).sum::<usize>());
        });
    }
    group.finish();
}

criterion_group!(benches, import_games, read_records);
criterion_main!(benches);
