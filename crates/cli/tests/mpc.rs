//! `mavis mpc` with the real binary.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_testkit::Program;
use serde_json::Value;

const TABLE: &str = "
name = 'small'
game = 'connect4'
seed = 5
evaluator = 'mcts'
opponent = { player = 'mcts', c = 1.0 }
limits = { nodes = 8 }
p = 2
openings = { random_plies = 4 }
[[matches]]
steps = '1'
against = 'stochastic'
pairs = 3
[[matches]]
steps = 'half'
against = 'deterministic'
pairs = 2
[[matches]]
steps = 2
against = 'deterministic'
pairs = 1
";

#[test]
fn one_file_gives_the_table_and_the_same_command_goes_on() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.write("mpc.toml", TABLE);
    let run = |flags: &str| mavis.stdout(&format!("mpc table --config mpc.toml --out table {flags}"));
    assert!(!run("--show").contains(" of "), "nothing is played yet");
    let played = mavis.output("mpc table --config mpc.toml --out table");
    let notices = String::from_utf8_lossy(&played.stderr);
    for beginning in [
        "match 1 of 3, 1-stochastic: 0 of 12 games on disk",
        "match 2 of 3, half-deterministic: 0 of 8 games on disk",
        "match 3 of 3, 2-deterministic: 0 of 4 games on disk",
    ] {
        assert!(notices.lines().any(|line| line.starts_with(beginning)), "{beginning}: {notices}");
    }
    let text = String::from_utf8(played.stdout).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 5, "{text}");
    assert_eq!(
        rows[0],
        "| steps | deterministic, standard | deterministic, fortified | stochastic, standard | stochastic, fortified |"
    );
    assert!(rows[2..].iter().all(|row| row.matches(" of ").count() == 2), "{text}");
    assert!(rows[3].contains(" of 6: ") && rows[2].contains(" of 4: ") && rows[4].contains(" of 2: "));
    // Nothing is left to play, so nothing changes.
    let again: Value = serde_json::from_str(&run("--json")).unwrap();
    let cells = again["cells"].as_array().unwrap();
    let total: u64 = cells
        .iter()
        .flat_map(|cell| ["wins", "draws", "losses"].map(|key| cell[key].as_u64().unwrap()))
        .sum();
    assert_eq!((cells.len(), total, &again["faults"]), (6, 24, &Value::from(0)));
    assert_eq!(run(""), text);
    // Each match is an ordinary league.
    assert!(mavis.stdout("league table table/1-stochastic").contains("fortified"));
}

#[test]
fn bad_input_is_one_line() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    let write = |name: &str, text: &str| mavis.write(name, text);
    write("steps.toml", &TABLE.replace("'half'", "'3'"));
    write("against.toml", &TABLE.replace("'stochastic'", "'chaotic'"));
    write("twice.toml", &TABLE.replace("'half'", "'2'"));
    write("key.toml", &format!("\nwidht = 3\n{TABLE}"));
    write("player.toml", &TABLE.replace("evaluator = 'mcts'", "evaluator = 'random'"));
    write("zero.toml", &TABLE.replace("nodes = 8", "nodes = 0"));
    write("game.toml", &TABLE.replace("connect4", "go"));
    for (file, part) in [
        ("none.toml", "cannot read none.toml"),
        ("steps.toml", "steps are half, 1 or 2, not '3'"),
        ("against.toml", "an opponent is deterministic or stochastic, not 'chaotic'"),
        ("twice.toml", "two matches with steps 2 against a deterministic opponent"),
        ("key.toml", "key.toml: line 2: unknown field `widht`"),
        ("zero.toml", "bad value '0' for limits.nodes"),
        ("player.toml", "the evaluator 'random' gives no value of a position"),
        ("game.toml", "go"),
    ] {
        mavis.check_bad(&format!("mpc table --config {file} --out out"), part);
    }
}
