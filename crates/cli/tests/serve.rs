//! The page's server as a program.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use crate::support::server;

use mavis_testkit::Program;
use server::Server;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn serve_prints_its_address_and_answers_there() {
    let server = Server::start(&[]);
    assert!(get(&server.address, "/").contains("<title>Mavis</title>"));
    let info = get(&server.address, "/api/info");
    assert!(info.starts_with("HTTP/1.1 200") && info.contains("Togyz Kumalak"), "{info}");
}

/// It has nothing to finish, so it says nothing.
#[test]
fn ctrl_c_ends_the_server_without_a_word() {
    let mut child = Program::new(env!("CARGO_BIN_EXE_mavis"))
        .command("serve --port 0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("Mavis is at http://"), "{address}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim(), "Open it in a browser. Ctrl-C ends the server.");
    assert!(output.status.success(), "{}", output.status);
}

#[test]
fn serve_refuses_bad_arguments_in_one_line() {
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.check_bad("serve --allow uco:stockfish", "unknown player 'uco'");
    mavis.check_bad("serve --max-seconds 0", "above 0");
    mavis.check_bad("serve --max-seconds nan", "bad --max-seconds: ");
    mavis.check_bad("mcp --max-seconds nan", "bad --max-seconds: ");
    mavis.check_bad("serve --token 'a b'", "letters and digits");
}

#[test]
fn bundled_nets_play_by_their_names_and_files_do_not() {
    let server = Server::start(&[]);
    let mut stream = BufReader::new(TcpStream::connect(&server.address).unwrap());
    let mut choose = |player: &str| {
        let body = format!(r#"{{"place": {{"game": "connect4"}}, "player": "{player}"}}"#);
        post(&mut stream, "/api/choose", &body)
    };
    let (status, text) = choose("probs:connect4");
    assert_eq!(status, 200, "{text}");
    let (status, text) = choose("probs:./connect4");
    assert!(status == 403 && text.contains("names a program or file"), "{text}");
}

/// The model over HTTP is the model in the program: a choice as good by its own values, with the same value. It asks for all 64 values of a
/// move, since the 20 likeliest, the most that other servers list, have another mean where a distribution is wide.
#[test]
fn the_openai_player_plays_through_the_server() {
    let server = Server::start(&[]);
    let mavis = Program::new(env!("CARGO_BIN_EXE_mavis"));
    for place in ["--game connect4 --moves 4 4 3", "--game chess --moves e4 e5", "--game othello --moves d3"]
    {
        let ask = |player: &str| -> serde_json::Value {
            let json = mavis.stdout(&format!("analyze {place} --player {player} --json"));
            serde_json::from_str(&json).unwrap()
        };
        let (remote, own) = (ask(&format!("openai:http://{},logprobs=64", server.address)), ask("mav"));
        let value = |analysis: &serde_json::Value| analysis["value"].as_f64().unwrap();
        assert!((value(&remote) - value(&own)).abs() < 0.02, "{place}: {} {}", value(&remote), value(&own));
        let moves = own["moves"].as_array().unwrap();
        let chosen = moves.iter().find(|entry| entry["move"] == remote["best"]).unwrap();
        assert!(value(&own) - value(chosen) < 0.02, "{place}: {remote}");
    }
    let quiet =
        format!("play --game connect4 --first openai:http://{} --second random --quiet", server.address);
    assert!(mavis.stdout(&quiet).contains("moves: "));
}

const CONNECTIONS: usize = 64;

/// What a server process holds in memory, in MiB.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// One request on a connection that stays open.
fn post(stream: &mut BufReader<TcpStream>, path: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
    let (mut line, mut status, mut length) = (String::new(), 0, 0);
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        let lower = line.to_ascii_lowercase();
        if let Some(code) = lower.strip_prefix("http/1.1 ") {
            status = code.split(' ').next().unwrap().trim().parse().unwrap();
        } else if let Some(value) = lower.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        } else if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (status, String::from_utf8(body).unwrap())
}

#[test]
#[ignore = "takes half a minute and the whole machine"]
fn sixty_four_connections_on_cached_positions_for_twenty_seconds() {
    let server = Server::start(&["--max-searches", "64"]);
    let work = |seconds: u64| -> usize {
        let end = Instant::now() + Duration::from_secs(seconds);
        let address = &server.address;
        std::thread::scope(|scope| {
            let client = |number: usize| {
                move || {
                    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                    let game = ["connect4", "hex:size=7", "othello", "togyz"][number % 4];
                    let body = format!(r#"{{"place": {{"game": "{game}"}}, "player": "mav"}}"#);
                    let mut n_answers = 0;
                    while Instant::now() < end {
                        let (status, text) = post(&mut stream, "/api/analyze", &body);
                        assert_eq!(status, 200, "{text}");
                        n_answers += 1;
                    }
                    n_answers
                }
            };
            let threads: Vec<_> = (0..CONNECTIONS).map(|number| scope.spawn(client(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
    work(5);
    let before = resident(server.child.id());
    let n_answers = work(20);
    let after = resident(server.child.id());
    assert!(after <= before + before / 10 + 8, "{before} MiB before, {after} MiB after {n_answers} answers");
}
