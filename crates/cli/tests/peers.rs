//! Other programs read our tables and play with our engine: DuckDB and python-chess from PyPI.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::Path;
use std::process::Command;

fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const SCRIPT: &str = "
import duckdb, json
q = lambda sql: duckdb.sql(sql).fetchall()
print(json.dumps({
    'positions': q(\"select count(*) from 'positions.parquet'\")[0][0],
    'games': q(\"select count(*), sum(len(moves)) from 'games.parquet'\")[0],
    'annotations': q(\"select count(*), sum(len(moves)) from 'annotated/*.parquet'\")[0],
    'best': q(\"select count(*) from 'annotated/*.parquet' where best = moves[1].move and value = moves[1].win_probability\")[0][0],
    'oracles': q(\"select distinct oracle, oracle_settings from 'annotated/*.parquet'\"),
    'metadata': sorted(str(k) for (k,) in q(\"select decode(key) from parquet_kv_metadata('annotated/shard-000000.parquet')\")),
}, default=int))
# A table written by DuckDB is one of ours again.
duckdb.sql(\"copy (select * from 'annotated/*.parquet' where len(moves) > 0 order by ply) to 'theirs.parquet' (format parquet)\")
";

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_duckdb_counts_what_we_count_and_writes_what_we_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mavis =
        |line: &str| run(env!("CARGO_BIN_EXE_mavis"), &line.split_whitespace().collect::<Vec<_>>(), folder);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data/tcec_standard_sample.pgn");
    std::fs::copy(sample, folder.join("games.pgn")).unwrap();
    mavis("data import games.pgn --out positions.parquet --games games.parquet");
    mavis("data sample positions.parquet -n 100 --out few.parquet");
    mavis("data annotate few.parquet --oracle stockfish:nodes=5000 --jobs 2 --shard-size 30 --out annotated");
    let seen: serde_json::Value =
        serde_json::from_str(&run(mavis_testkit::python_with("duckdb"), &["-c", SCRIPT], folder)).unwrap();
    let stats = |table: &str| -> serde_json::Value {
        serde_json::from_str(&mavis(&format!("data stats {table} --json"))).unwrap()
    };
    let (positions, games, annotated) =
        (stats("positions.parquet"), stats("games.parquet"), stats("annotated"));
    assert_eq!(seen["positions"], positions["n_rows"]);
    assert_eq!(seen["games"], serde_json::json!([games["n_rows"], games["n_moves"]]));
    assert_eq!(seen["annotations"], serde_json::json!([annotated["n_rows"], annotated["n_moves"]]));
    assert_eq!(seen["best"], annotated["n_rows"].as_u64().unwrap() - annotated["n_over"].as_u64().unwrap());
    assert_eq!(seen["oracles"][0][0], "Stockfish");
    assert!(seen["oracles"][0][1].as_str().unwrap().starts_with("nodes=5000"), "{seen}");
    for key in
        ["mavis.oracle", "mavis.oracle_settings", "mavis.oracle_version", "mavis.table", "mavis.version"]
    {
        assert!(seen["metadata"].as_array().unwrap().iter().any(|known| known == key), "{key}: {seen}");
    }
    let theirs = stats("theirs.parquet");
    assert_eq!((&theirs["table"], &theirs["n_moves"]), (&annotated["table"], &annotated["n_moves"]));
    assert_eq!(theirs["win_probabilities"], annotated["win_probabilities"]);
}

/// Twenty games under a clock of 1 s + 10 ms against a player in Python, by the library most programs in it use.
fn games_by_python_chess(player: &str, n_games: usize) -> serde_json::Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/uci_games.py");
    let arguments = [script.to_str().unwrap(), env!("CARGO_BIN_EXE_mavis"), player, &n_games.to_string()];
    let output = run(mavis_testkit::python_with("chess"), &arguments, Path::new("."));
    serde_json::from_str(&output).unwrap()
}

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_python_chess_plays_twenty_games_without_an_error() {
    let report = games_by_python_chess("scripted-mcts", 20);
    assert_eq!(report["games"], 20, "{report}");
    assert_eq!(report["errors"], serde_json::json!([]), "{report}");
}

#[test]
#[ignore = "looks at the clock, so it wants a machine with nothing else to do"]
fn python_chess_plays_twenty_games_without_a_loss_on_time() {
    let report = games_by_python_chess("scripted-mcts", 20);
    assert_eq!(report["finished"], 20, "{report}");
    assert_eq!(report["lost_on_time"], 0, "{report}");
}

#[test]
#[ignore = "reported, not asserted: how the bundled model fares under that clock depends on the machine"]
fn python_chess_plays_the_bundled_model() {
    let report = games_by_python_chess("mav-mcts", 20);
    assert_eq!(report["errors"], serde_json::json!([]), "{report}");
}
