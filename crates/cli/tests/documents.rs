//! The commands of the documentation run as they are written, from a folder that has the repository's samples.
//!
//! A comment before a block says what keeps it from running: `<!-- takes minutes -->` leaves it to a test of its own,
//! `<!-- takes hours -->` and `<!-- needs ... -->` leave it out.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpStream,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// What stands before a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    Quick,
    Minutes,
    Never,
}

/// Commands of one block, continued lines joined.
struct Block {
    mark: Mark,
    commands: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn documents() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        folder.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    found.extend(["README.md", "samples/README.md", "crates/data/README.md"].map(|name| root().join(name)));
    found.sort();
    found
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut mark, mut fenced, mut inside) = (Mark::Quick, false, false);
    let mut begun = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            inside = fenced;
            if fenced {
                blocks.push(Block { mark, commands: Vec::new() });
            } else {
                mark = Mark::Quick;
            }
            continue;
        }
        let code = fenced || line.starts_with("    ");
        if code && !inside {
            blocks.push(Block { mark, commands: Vec::new() });
        }
        if !code && !line.is_empty() {
            mark = match line.strip_prefix("<!-- ") {
                Some("takes minutes -->") => Mark::Minutes,
                Some(comment) if comment.starts_with("takes hours") || comment.starts_with("needs ") => {
                    Mark::Never
                }
                _ => Mark::Quick,
            };
        }
        inside = fenced || code || (inside && line.is_empty());
        if let (true, Some(block)) = (code, blocks.last_mut()) {
            begun.push_str(line.trim());
            if let Some(open) = begun.strip_suffix('\\') {
                begun = open.to_owned();
                continue;
            }
            let command = std::mem::take(&mut begun);
            if command.starts_with("mavis ") || command.starts_with("nats-server ") {
                block.commands.push(command);
            }
        }
    }
    blocks
}

/// A folder with the files that documents name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["samples", "recipes", "models"] {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// The command in a shell, with nothing on standard input.
fn shell(command: &str, folder: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_mavis")).parent().unwrap();
    let engines = mavis_testkit::engine_path();
    let queue = mavis_testkit::nats_server().parent().unwrap().to_owned();
    let own = [binary.to_owned(), queue];
    let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&engines)));
    let mut shell = Command::new("sh");
    // The shell becomes the program, so that a kill reaches it.
    let exec = if command.contains(['|', '>']) { "" } else { "exec " };
    shell.args(["-c", &format!("{exec}{command}")]).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", path.unwrap()).env("XDG_DATA_HOME", folder);
    shell
}

fn check(command: &str, folder: &Path, most: Duration) {
    if command.starts_with("mavis serve") {
        let mut server =
            shell(&format!("{command} --port 0"), folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(line.starts_with("Mavis is at http://"), "{command}: {line}");
        return;
    }
    let log = folder.join("log");
    let file = fs::File::create(&log).unwrap();
    let mut child = shell(command, folder).stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > most {
            child.kill().unwrap();
            panic!("{command}: not done after {most:?}; {}", logs(folder));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{command}: {}", fs::read_to_string(&log).unwrap());
}

/// What the commands of a folder said, to see why one waits for another.
fn logs(folder: &Path) -> String {
    let logs = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = logs.filter(|path| path.to_string_lossy().contains("log"));
    logs.map(|path| format!("\n{}:\n{}", path.display(), fs::read_to_string(&path).unwrap_or_default()))
        .collect()
}

/// A command that runs until its document ends.
struct Background(Child);

impl Background {
    fn start(command: &str, folder: &Path) -> Self {
        let begun = fs::read_dir(folder).unwrap().count();
        let log = fs::File::create(folder.join(format!("background-{begun}.log"))).unwrap();
        let child = shell(command, folder).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let background = Self(child);
        // A server is there when its port is.
        if let Some((_, rest)) = command.split_once(" -p ") {
            let port: u16 = rest.split_whitespace().next().unwrap().parse().unwrap();
            let began = Instant::now();
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(began.elapsed() < Duration::from_secs(60), "{command}: no answer");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        background
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Ended by itself is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(mark: Mark, most: Duration) -> usize {
    let mut n_commands = 0;
    for document in documents() {
        let folder = folder();
        let mut background = Vec::new();
        for block in blocks(&fs::read_to_string(&document).unwrap()) {
            for command in block.commands.iter().filter(|_| block.mark == mark) {
                match command.strip_suffix('&') {
                    Some(command) => background.push(Background::start(command, folder.path())),
                    None => check(command, folder.path(), most),
                }
                n_commands += 1;
            }
        }
    }
    n_commands
}

#[test]
fn quick_commands_of_the_documents_run_as_written() {
    let n_commands = run(Mark::Quick, Duration::from_secs(240));
    assert!(n_commands > 30, "{n_commands} commands were found");
}

#[test]
#[ignore = "takes minutes"]
fn commands_that_take_minutes_run_as_written() {
    assert!(run(Mark::Minutes, Duration::from_secs(1800)) > 5);
}

#[test]
fn marks_and_blocks_are_read() {
    let text = "one:\n\n    mavis a \\\n      b\n    # mavis c\n\n<!-- takes minutes -->\n\n    mavis d\n\ntwo\n\n```\nmavis e\n```\n\
                <!-- needs a GPU -->\n```sh\nmavis f\n```\n\n    mavis g\n";
    let found: Vec<(Mark, Vec<String>)> =
        blocks(text).into_iter().map(|block| (block.mark, block.commands)).collect();
    let expected = [
        (Mark::Quick, vec!["mavis a b"]),
        (Mark::Minutes, vec!["mavis d"]),
        (Mark::Quick, vec!["mavis e"]),
        (Mark::Never, vec!["mavis f"]),
        (Mark::Quick, vec!["mavis g"]),
    ];
    let expected: Vec<(Mark, Vec<String>)> = expected
        .into_iter()
        .map(|(mark, commands)| (mark, commands.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(found, expected);
}
