//! `mavis train` by several processes: the same weights as by one, resumed exactly, and a lost rank ends all.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_net::{Checkpoint, TransformerConfig};
use mavis_testkit::Program;
use std::{
    fs,
    io::Read as _,
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

const SETTINGS: &str = r#"
preset = "test"
budget = { steps = 12 }
log_every = 1
checkpoint_every = 3
workers = 1
[[data]]
path = "games/annotations"
game = "connect4"
[batch]
examples = 12
[schedule]
warmup = 1
"#;

/// A program in a folder with a few positions and settings of a run over them.
fn prepared() -> Program {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.run(
        "data selfplay --game connect4 --random-plies 22 --epsilon 1 -n 12 --jobs 1 --seed 1 --out games",
    );
    mavis.write("settings.toml", SETTINGS);
    mavis
}

fn train(out: &str, more: &str) -> String {
    format!("train mav --config settings.toml --out {out} {more}")
}

fn read(mavis: &Program, name: &str) -> Vec<u8> {
    fs::read(mavis.folder().join(name)).unwrap()
}

/// A number of every step that the log of a run has.
fn logged(mavis: &Program, out: &str, key: &str) -> Vec<f64> {
    let text = String::from_utf8(read(mavis, &format!("{out}/metrics.jsonl"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter_map(|line| line[key].as_f64()).collect()
}

fn parameters(mavis: &Program, out: &str) -> Vec<f32> {
    let path = mavis.folder().join(out).join("checkpoint.safetensors");
    Checkpoint::<TransformerConfig>::load(&path, None).unwrap().state.parameters
}

/// A process that ends with the test, whatever becomes of it.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mavis: &Program, line: &str) -> Guard {
    Guard(mavis.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
}

/// A port that nobody listens on yet.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Carries bytes from one connection to another until one of them ends.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    // Either end closes when the process behind it ends; then there is nothing left to carry.
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// A door to rank 0 that says when `most` bytes have come from outside, and lets no more in.
fn door(to: u16, most: u64) -> (u16, Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (full, is_full) = channel();
    std::thread::spawn(move || {
        let (mut outside, _) = listener.accept().unwrap();
        let mut inside = loop {
            match TcpStream::connect((Ipv4Addr::LOCALHOST, to)) {
                Ok(inside) => break inside,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let back = (inside.try_clone().unwrap(), outside.try_clone().unwrap());
        std::thread::spawn(move || carry(back.0, back.1));
        std::io::copy(&mut (&mut outside).take(most), &mut inside).unwrap();
        full.send(()).unwrap();
        // The process outside is killed now, which closes its connection.
        let _ = std::io::copy(&mut outside, &mut std::io::sink());
        inside.shutdown(Shutdown::Both).unwrap();
    });
    (port, is_full)
}

#[test]
fn two_processes_train_to_the_weights_of_one_and_go_on_exactly_after_one_is_killed() {
    let mavis = prepared();
    mavis.run(&train("one", ""));
    mavis.run(&train("two", "--ranks 2"));
    // The gradient is added up in another order, so the last bits differ: by 0.000005 when this was written.
    let (one, two) = (parameters(&mavis, "one"), parameters(&mavis, "two"));
    let difference = one.iter().zip(&two).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(difference < 1e-4, "{difference}");
    let (one, two) = (logged(&mavis, "one", "loss"), logged(&mavis, "two", "loss"));
    assert_eq!((one.len(), two.len()), (12, 12), "only rank 0 keeps a log");
    assert!(one[11] < one[0], "it learns: {one:?}");
    for (one, two) in one.iter().zip(&two) {
        assert!((one - two).abs() < 1e-3 * one, "{one} {two}");
    }

    // Rank 1 is killed when it has sent five gradients and half of the sixth.
    let n_bytes = parameters(&mavis, "one").len() as u64 * 4;
    let meet = free_port();
    let (place, is_full) = door(meet, 5 * n_bytes + n_bytes / 2);
    let ranks =
        |rank: usize, port: u16| train("broken", &format!("--ranks 2 --rank {rank} --meet 127.0.0.1:{port}"));
    let (mut first, mut second) = (start(&mavis, &ranks(0, meet)), start(&mavis, &ranks(1, place)));
    is_full.recv().unwrap();
    second.0.kill().unwrap();
    second.0.wait().unwrap();
    let mut told = String::new();
    first.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(first.0.wait().unwrap().code(), Some(1), "{told}");
    assert_eq!(told.matches("rank 1 left the group").count(), 1, "{told}");
    assert_eq!(logged(&mavis, "broken", "loss").len(), 4, "the log is a step behind: {told}");
    // The last checkpoint was at step 3. Going on from there ends where an unbroken run ends, bit for bit.
    mavis.run(&train("broken", "--ranks 2"));
    let state = |out: &str| read(&mavis, &format!("{out}/checkpoint.safetensors"));
    assert!(state("broken") == state("two"), "the same state");
}

#[test]
fn ranks_that_do_not_belong_together_are_told_in_one_line() {
    let mavis = prepared();
    for (more, part) in [
        ("--ranks 0", "--ranks: expected 1 or more, not 0"),
        ("--ranks 99999999999", "--ranks: expected at most 64 on one machine"),
        ("--ranks 2 --rank 2 --meet 127.0.0.1:9", "--rank: expected 0 to 1, not 2"),
        ("--ranks 2 --rank 1 --meet nowhere", "expected HOST:PORT"),
        ("--ranks 2 --rank 1", "--meet"),
    ] {
        mavis.check_bad(&train("run", more), part);
    }
    let place = format!("127.0.0.1:{}", free_port());
    let _first = start(&mavis, &train("run", &format!("--ranks 2 --rank 0 --meet {place}")));
    let other = mavis.output(&train("run", &format!("--ranks 2 --rank 1 --meet {place} --set seed=9")));
    let told = String::from_utf8_lossy(&other.stderr);
    assert!(told.contains("settings, device or data differ from those of rank 0"), "{told}");
    assert_eq!((other.status.code(), told.lines().count()), (Some(1), 1), "{told}");
}
