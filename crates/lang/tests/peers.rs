//! The exported tokenizer in the Python package `tokenizers`, installed in a virtual environment of the test's own.
//!
//! `transformers` pulls in far more, so its check is run by hand with the same script; its answer is saved in
//! `tests/peers/transformers.txt`. To repeat it, set `MAVIS_PEERS_DIR` to a folder, run this test, install
//! `transformers` and call `check_ids.py transformers FOLDER`.
#![allow(clippy::unwrap_used, reason = "a test says so by failing")]

use crate::support::{Annotated, GAMES, random, random_play};
use mavis_lang::{
    Example, ExampleBuilder, Top, Variety, export, grow_trace,
    trace::{Evaluation, Order, Shape, trace_example},
    vocabulary,
};
use std::{env, fs, path::Path, process::Command};

const TOKENIZERS: &str = "tokenizers==0.22.1";

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_tokenizers_gives_the_same_ids() {
    let own = tempfile::tempdir().unwrap();
    let folder = env::var_os("MAVIS_PEERS_DIR").map_or_else(|| own.path().to_owned(), Into::into);
    write_files(&folder);
    let venv = own.path().join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let python = venv.join("bin/python");
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", TOKENIZERS]));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/check_ids.py");
    let answer = run(Command::new(&python).arg(script).arg("tokenizers").arg(&folder));
    let expected =
        format!("vocabulary {}, examples 7050, different ids 0, different text 0", vocabulary().len());
    assert!(answer.contains(&expected), "{answer}");
}

/// The tokenizer, and 1,000 examples and a few traces of every game.
fn write_files(folder: &Path) {
    fs::write(folder.join("tokenizer.json"), export::tokenizer_json()).unwrap();
    fs::write(folder.join("tokenizer_config.json"), export::tokenizer_config_json()).unwrap();
    let mut lines = String::new();
    let mut add = |example: &Example| {
        let line = serde_json::json!({ "text": example.text(), "ids": example.tokens });
        lines.push_str(&line.to_string());
        lines.push('\n');
    };
    let mut rng = random(11);
    for rules in GAMES {
        let plays = random_play(rules, 1_000, 12);
        for (position, previous) in plays.iter().cloned() {
            let annotated = Annotated::random(position, previous, &mut rng);
            let has_previous = annotated.previous.is_some();
            let commands = Variety::default().draw(rules, annotated.moves.len(), has_previous, &mut rng);
            add(&ExampleBuilder::default().build(&annotated.as_annotation(), &commands, &mut rng).unwrap());
        }
    }
    for seed in 0..50 {
        let rules = GAMES[seed as usize % GAMES.len()];
        let shape = Shape {
            rules,
            breadth: 2,
            depth: 2,
            compact: seed % 2 == 0,
            top: Top::All,
            order: Order::DepthFirst,
        };
        let root = random_play(rules, 30, seed).pop().unwrap().0;
        let mut evaluate = |position: &mavis_game::Position| {
            let annotated = Annotated::random(position.clone(), None, &mut random(seed));
            Evaluation { moves: annotated.moves, best: annotated.best }
        };
        add(&trace_example(&grow_trace(shape, &root, &mut evaluate, &mut rng)));
    }
    fs::write(folder.join("examples.jsonl"), lines).unwrap();
}

/// Runs a command to its end and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {text}");
    text
}
