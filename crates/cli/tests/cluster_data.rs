//! Self-play and traces on a real queue server: the tables of one machine.
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
    let worker = |name: &str| {
        let mut command = mavis.command(&format!("worker --queue {queue} --name {name} -j 1"));
        Worker(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let _workers = [worker("one"), worker("two")];
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
