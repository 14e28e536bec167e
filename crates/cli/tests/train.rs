//! `mavis train mav` with the real binary when things go wrong: the last good checkpoint stays, and a line says what happened.

#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_testkit::Program;
use std::fs;
use std::process::{Command, Output, Stdio};

const CHECKPOINT: &str = "run/checkpoint.safetensors";

/// A program in a folder with a few positions and a run of four steps over them.
fn trained() -> Program {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.run("data selfplay --game connect4 --epsilon 1.0 --random-plies 30 -n 40 --seed 1 --out games");
    let table = fs::read_dir(mavis.folder().join("games/annotations")).unwrap();
    let table = table
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "parquet"));
    let table = table.unwrap();
    mavis.write(
        "small.toml",
        format!(
            "shape = [32, 1, 1, 64]\nworkers = 1\nlog_every = 1\nbudget = {{ steps = 4 }}\n\
             [batch]\nexamples = 8\n[[data]]\npath = {:?}\ngame = \"connect4\"\n",
            table
        ),
    );
    mavis.run(&train(""));
    mavis
}

fn train(more: &str) -> String {
    format!("train mav --config small.toml --out run {more}")
}

/// Checks that a command fails with a line that has `part` in it and leaves the checkpoint as it was.
#[track_caller]
fn fails(mavis: &Program, output: &Output, part: &str, before: &[u8]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let last = message.trim_end().lines().next_back().unwrap_or_default();
    assert!(last.contains(part), "{message}");
    assert!(fs::read(mavis.folder().join(CHECKPOINT)).unwrap() == before, "the checkpoint was touched");
    assert!(!mavis.folder().join("run/.checkpoint.safetensors.partial").exists(), "a part was left behind");
}

#[test]
fn what_goes_wrong_leaves_the_last_good_checkpoint() {
    let mavis = trained();
    let good = fs::read(mavis.folder().join(CHECKPOINT)).unwrap();

    // Overflow: a learning rate that throws the parameters away.
    let overflow =
        mavis.output(&train("--set budget.steps=9 --set schedule.peak=1e30 --set schedule.warmup=0"));
    fails(&mavis, &overflow, "is not finite; the update was not applied", &good);

    // A full disk: files may have a megabyte, the checkpoint has more. The signal is ignored, so that the write itself fails.
    let mut full = Command::new("bash");
    full.args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mavis")]);
    full.args(train("--set budget.steps=6").split_whitespace());
    let full = full.current_dir(mavis.folder()).stdin(Stdio::null()).output().unwrap();
    assert!(good.len() > 1 << 20, "{} bytes", good.len());
    fails(&mavis, &full, "checkpoint.safetensors", &good);

    // A run that continues from what was kept.
    let resumed = mavis.output(&train("--set budget.steps=6"));
    let message = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.success() && message.contains("continuing from step 4"), "{message}");
}

#[test]
fn checkpoints_that_cannot_be_used_are_named() {
    let mavis = trained();
    let path = mavis.folder().join(CHECKPOINT);
    let good = fs::read(&path).unwrap();
    let half = &good[..good.len() / 2];
    fs::write(&path, half).unwrap();
    fails(&mavis, &mavis.output(&train("--set budget.steps=6")), "checkpoint.safetensors", half);

    // The same file with the hash of another vocabulary.
    let start = good.windows(15).position(|window| window == b"mavis.vocabular").unwrap();
    let dash = start + good[start..].iter().position(|byte| *byte == b'-').unwrap();
    let mut foreign = good.clone();
    foreign[dash + 1..dash + 9].copy_from_slice(b"00000000");
    fs::write(&path, &foreign).unwrap();
    let refused = mavis.output(&train("--set budget.steps=6"));
    fails(&mavis, &refused, "belongs to vocabulary", &foreign);
}
