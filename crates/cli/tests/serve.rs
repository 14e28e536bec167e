//! The page's server as a program.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// Ends with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn mavis(arguments: &[&str]) -> Running {
    let program = env!("CARGO_BIN_EXE_mavis");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn serve_prints_its_address_and_answers_there() {
    let mut running = mavis(&["serve", "--port", "0"]);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("Mavis is at http://").unwrap().trim_end_matches('/').to_owned();
    assert!(get(&address, "/").contains("<title>Mavis</title>"));
    let info = get(&address, "/api/info");
    assert!(info.starts_with("HTTP/1.1 200") && info.contains("Togyz Kumalak"), "{info}");
}

#[test]
fn serve_refuses_bad_arguments_in_one_line() {
    for (arguments, expected) in [
        (&["serve", "--allow", "uco:stockfish"][..], "unknown player 'uco'"),
        (&["serve", "--max-seconds", "0"][..], "above 0"),
        (&["serve", "--token", "a b"][..], "letters and digits"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_mavis")).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && text.contains(expected) && text.lines().count() == 1,
            "{text}"
        );
    }
}
