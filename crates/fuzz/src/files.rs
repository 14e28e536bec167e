//! Files: puzzles, weights, tables, logs of leagues, trees.

use crate::assert_reason;
use mavis_data::wire::{AnnotationRow, GameRow, PositionRow, TraceRow};
use mavis_data::{TableReader, parse_puzzles, table::table_kind};
use mavis_game::{Position, Rules};

use mavis_league::wire::{LeagueConfig, PlayerConfig, StoredGame, pgn, results_of};
use mavis_net::{ConvNetConfig, SmallCheckpoint, TransformerConfig};
use mavis_search::mcts::{MctsSettings, Search};
use mavis_search::wire::SavedTree;
use std::cell::RefCell;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn puzzles(input: &[u8]) {
    if let Err(error) = parse_puzzles("input", input, usize::MAX) {
        assert_reason(&error.to_string());
    }
}

/// The bytes of a file, or the text of its header alone: damage that changes the length of a header would otherwise be refused at
/// once.
pub(crate) fn safetensors(input: &[u8]) {
    let bytes = if input.starts_with(b"{") { with_header(input) } else { input.to_vec() };
    let name = Path::new("input");
    if let Err(error) = SmallCheckpoint::<TransformerConfig>::from_bytes(name, &bytes, None) {
        assert_reason(&error.to_string());
    }
    if let Err(error) = SmallCheckpoint::<ConvNetConfig>::from_bytes(name, &bytes, None) {
        assert_reason(&error.to_string());
    }
}

/// A safetensors file with this header and zeros for the tensors that it names, as far as they are few.
#[must_use]
pub fn with_header(header: &[u8]) -> Vec<u8> {
    let tensors: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(header).unwrap_or_default();
    let ends = tensors.values().filter_map(|tensor| tensor["data_offsets"][1].as_u64());
    let n_bytes = ends.max().unwrap_or(0).min(1 << 16);
    [&(header.len() as u64).to_le_bytes()[..], header, &vec![0; n_bytes as usize]].concat()
}

/// The bytes as a table of the kind that they name; a table is read from a file.
pub(crate) fn table(input: &[u8]) {
    thread_local! {
        static FILE: RefCell<Option<tempfile::NamedTempFile>> = const { RefCell::new(None) };
    }
    FILE.with_borrow_mut(|file| {
        let file = match file {
            Some(file) => file,
            None => file.insert(table_file().unwrap_or_else(|error| panic!("no place for a file: {error}"))),
        };
        let written = file.as_file().set_len(0).and_then(|()| {
            std::io::Seek::rewind(&mut *file)?;
            file.write_all(input)
        });
        assert!(written.is_ok(), "{written:?}");
        match table_kind(&[file.path()]).as_deref() {
            Ok("annotations") => read_rows::<AnnotationRow>(file.path()),
            Ok("games") => read_rows::<GameRow>(file.path()),
            Ok("traces") => read_rows::<TraceRow>(file.path()),
            // Any other kind is refused as one that is not of positions.
            Ok(_) => read_rows::<PositionRow>(file.path()),
            Err(error) => assert_reason(&error.to_string()),
        }
    });
}

/// A file in memory where the system has a folder for that: a disk gets every input that is written to a file on it, which takes
/// many times as long as reading it.
fn table_file() -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new();
    let file = file.suffix(".parquet");
    file.tempfile_in("/dev/shm").or_else(|_| file.tempfile())
}

fn read_rows<R: mavis_data::wire::Row>(path: &Path) {
    match TableReader::<R>::open(&[path]) {
        Ok(rows) => {
            // A table may claim more rows than anybody has.
            if let Some(Err(error)) = rows.take(10_000).find(Result::is_err) {
                assert_reason(&error.to_string());
            }
        }
        Err(error) => assert_reason(&error.to_string()),
    }
}

/// Each line as a game of a league in Connect Four.
pub(crate) fn league_log(input: &[u8]) {
    let players = ["random", "lookahead:1"].map(PlayerConfig::new).to_vec();
    let config = LeagueConfig::new("fuzzed", "connect4", players);
    let text = String::from_utf8_lossy(input);
    let games: Vec<StoredGame> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(20).collect();
    for game in &games {
        if let Err(error) = pgn(&config, Rules::Connect4, game) {
            assert_reason(&error.to_string());
        }
    }
    drop(results_of(&config.names(), &games));
    if let Err(error) = mavis_league::standings(&config, &games, mavis_league::Intervals::Sandwich) {
        assert_reason(&error.to_string());
    }
}

/// A tree that is read can be searched on and is written as it was.
pub(crate) fn tree(input: &[u8]) {
    let tree = match SavedTree::from_json(&String::from_utf8_lossy(input)) {
        Ok(tree) => tree,
        Err(error) => return assert_reason(&error.to_string()),
    };
    match Search::<Position>::restore(&tree, Arc::new(mavis_eval::Scripted::new(1)), MctsSettings::default())
    {
        Ok(search) => assert!(search.snapshot().to_json().is_ok()),
        Err(error) => assert_reason(&error.to_string()),
    }
}
