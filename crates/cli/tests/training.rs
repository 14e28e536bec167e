//! `mavis train` by the real binary: data from self-play, a few steps, going on, starting from weights, curves.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_testkit::Program;
use std::fs;

const SETTINGS: &str = r#"
shape = [32, 1, 1, 64]
budget = { steps = 6 }
log_every = 2
measure_every = 3
validation_positions = 20
[[data]]
path = "games/annotations"
game = "connect4"
[[validation]]
path = "valid/annotations"
game = "connect4"
[batch]
examples = 8
[examples]
mirrored = 0.5
ended = 0.3
"#;

#[test]
fn a_run_is_trained_continued_started_from_and_drawn() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    for (out, seed) in [("games", 1), ("valid", 2)] {
        let game = "data selfplay --game connect4 --random-plies 22 --epsilon 1 -n 12 --jobs 1";
        mavis.run(&format!("{game} --seed {seed} --out {out}"));
    }
    mavis.write("settings.toml", SETTINGS);
    let train = "train mav --config settings.toml";
    mavis.run(&format!("{train} --out one"));
    let again = mavis.output(&format!("{train} --out one --set budget={{steps=8}}"));
    let told = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && told.contains("continuing from step 6"), "{told}");
    mavis.run(&format!("{train} --out two --from one/model.safetensors --set seed=2"));

    let read = |name: &str| fs::read_to_string(mavis.folder().join(name)).unwrap();
    let lines: Vec<serde_json::Value> =
        read("one/metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let measured: Vec<_> = lines.iter().filter(|line| line["event"] == "measure").collect();
    assert!(measured.len() >= 3, "at steps 3, 6 and 8: {measured:?}");
    let quality = &measured[0]["quality"]["annotations"];
    assert!(quality["ends"].is_f64() && quality["false_ends"].is_f64(), "{quality}");

    mavis.run("train plot one two --name 'from nothing' --against steps --out curves.svg");
    let picture = read("curves.svg");
    for word in ["from nothing", "two", "F1 of the legal set", "regret", "steps"] {
        assert!(picture.contains(word), "{word}");
    }
    mavis.check_bad("train plot nowhere --out x.svg", "nowhere");
    mavis.check_bad("train plot one --set chess --out x.svg", "measured on 'chess' (known: annotations)");
    // A process that was killed in the middle of a line: the line is passed over, and gone when the run continues.
    let cut = format!("{}{{\"event\":\"st", read("one/metrics.jsonl"));
    mavis.write("one/metrics.jsonl", cut);
    mavis.run("train plot one --out x.svg");
    mavis.run(&format!("{train} --out one --set budget={{steps=10}}"));
    assert!(read("one/metrics.jsonl").lines().all(|line| line.starts_with('{') && line.ends_with('}')));
    for (set, part) in [
        ("examples.mirored=1", "mirored"),
        ("colour=red", "unknown field `colour`"),
        ("examples.mirrored=3", "examples.mirrored must be from 0 to 1, not 3"),
        ("batch.tokens=10", "at least one sequence"),
        ("budget={minutes=-1}", "budget.minutes must be a number from 0 on, not -1"),
        ("data=[{path=\"games/annotations\",game=\"chess\"}]", "holds positions of connect4, not of chess"),
    ] {
        mavis.check_bad(&format!("{train} --out three --set {set}"), part);
    }

    let wider = "--set shape=[64,1,1,64]";
    let other = mavis.output(&format!("{train} --out three --from one/model.safetensors {wider}"));
    let told = String::from_utf8_lossy(&other.stderr);
    assert!(told.contains("one/model.safetensors is of another network"), "{told}");
    assert_eq!(other.status.code(), Some(2));

    // A folder of another network is refused, and keeps its own settings.
    let before = read("one/settings.toml");
    let other = mavis.output(&format!("{train} --out one {wider}"));
    let told = String::from_utf8_lossy(&other.stderr);
    assert!(told.contains("one/checkpoint.safetensors is of another network"), "{told}");
    assert_eq!((other.status.code(), read("one/settings.toml")), (Some(1), before));
}
