//! Self-play, traces and learning on a real queue server: the results of one machine.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_testkit::{NatsServer, Program};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// A worker that ends with the test.
struct Worker(Child);

impl Worker {
    fn start(mavis: &Program, queue: &str, name: &str) -> Self {
        let mut command = mavis.command(&format!("worker --queue {queue} --name {name} -j 1"));
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every file below a folder by its path there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                found.insert(entry.strip_prefix(folder).unwrap().to_owned(), fs::read(&entry).unwrap());
            }
        }
    }
    found
}

#[test]
fn selfplay_and_traces_of_a_cluster_are_those_of_one_machine() {
    let server = NatsServer::start("");
    let (mavis, queue) = (Program::new(env!("CARGO_BIN_EXE_mavis")), server.url());
    let _workers = ["one", "two"].map(|name| Worker::start(&mavis, &queue, name));
    for (name, job, more) in [
        (
            "games",
            "data selfplay --game connect4 --random-plies 26 --epsilon 0.5 -n 30 --shard-size 12",
            "--job-size 5",
        ),
        (
            "traces",
            "data traces games-here/annotations --roots 25 --per-root 2 --sizes 2x1,3x1 --shard-size 10",
            "--job-size 4",
        ),
        (
            "by-model",
            "data traces games-here/annotations --roots 6 --per-root 1 --sizes 2x1 --model bundled",
            "",
        ),
    ] {
        mavis.run(&format!("{job} --out {name}-here"));
        mavis.run(&format!("{job} --out {name}-there --cluster {queue} {more}"));
        let [here, there] =
            ["here", "there"].map(|place| files(&mavis.folder().join(format!("{name}-{place}"))));
        assert!(here.len() > 1 && here == there, "{job}: {:?} {:?}", here.keys(), there.keys());
    }
    let elsewhere = format!("--cluster {queue} --out x");
    for (job, part) in [
        ("data traces games-here/annotations --model other.safetensors", "the bundled one on the processor"),
        ("data selfplay --game chess -n 1 --oracle uci:./stockfish", "stockfish"),
    ] {
        mavis.check_bad(&format!("{job} {elsewhere}"), part);
    }
}

/// What a run of `probs train` logged, without times.
fn metrics(folder: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let read = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().retain(|key, _| !key.contains("seconds"));
        line
    };
    text.lines().map(read).collect()
}

#[test]
fn nets_that_learn_with_a_cluster_are_those_of_one_machine() {
    let server = NatsServer::start("");
    let (mavis, queue) = (Program::new(env!("CARGO_BIN_EXE_mavis")), server.url());
    let _workers = ["one", "two"].map(|name| Worker::start(&mavis, &queue, name));
    for algorithm in ["probs", "azero"] {
        let train = format!(
            "probs train --game connect4 --algorithm {algorithm} --rounds 2 --seed 3 --set games=80 --set expansions=6 \
             --set simulations=6 --set evaluation.games=4 --set evaluation.plies=1"
        );
        mavis.run(&format!("{train} --out {algorithm}-here"));
        mavis.run(&format!("{train} --out {algorithm}-there --cluster {queue}"));
        let [here, there] =
            ["here", "there"].map(|place| mavis.folder().join(format!("{algorithm}-{place}")));
        let logged = metrics(&here);
        assert!(logged.len() >= 4, "{logged:?}");
        assert_eq!(metrics(&there), logged);
        let model = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
        assert!(model(&there) == model(&here), "{algorithm}: the weights differ");
    }
    // Nothing stays behind but results.
    let status = mavis.stdout(&format!("queue status --queue {queue} --json"));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert!(status["result_bytes"].as_u64().unwrap() < 1_000_000, "{status}");
}
