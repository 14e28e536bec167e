//! The tool server as a program, spoken to in raw JSON-RPC.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A client that has said hello. The server ends with the test, whatever becomes of it.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Client {
    fn new() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mavis"));
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Self { server, input, output, id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = client.request("initialize", hello);
        assert_eq!(hello["serverInfo"]["name"], "mavis");
        writeln!(client.input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .unwrap();
        client
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.input, "{message}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.id);
        answer["result"].clone()
    }

    /// A call that must succeed.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(answer["isError"], true, "{tool}: {answer}");
        answer["structuredContent"].clone()
    }

    /// A call that must be refused, with its message.
    fn fault(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["isError"], true, "{tool}: {answer}");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn the_tools_are_listed_with_what_they_take() {
    let tools = Client::new().request("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap().clone();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["analyze", "best_move", "compare_moves", "legal_moves", "play_move", "solve"]);
    let best = tools.iter().find(|tool| tool["name"] == "best_move").unwrap();
    for key in ["objective", "dynamics", "state", "moves", "player", "seconds"] {
        assert!(best["inputSchema"]["properties"][key].is_object(), "{key}: {best}");
    }
    assert_eq!(best["inputSchema"]["required"], json!(["dynamics"]));
}

#[test]
fn choices_come_with_their_justification() {
    let mut client = Client::new();
    // Five places are left, and whoever moves loses.
    let moves: Vec<String> = "2252576253462244111563365343671351441".chars().map(String::from).collect();
    let solved = client.call("solve", json!({ "dynamics": "connect4", "moves": moves }));
    assert_eq!(solved["value"], json!(0.0), "{solved}");
    let back_rank = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
    let best = client.call("best_move", json!({ "dynamics": "chess", "state": back_rank }));
    assert_eq!(best["choice"], "Rd8#", "{best}");
    assert!(best["justification"].as_str().unwrap().starts_with("Rd8# is the best move: "), "{best}");
    let lost =
        client.call("best_move", json!({ "dynamics": "chess", "state": back_rank, "objective": "lose" }));
    assert_ne!(lost["choice"], "Rd8#", "{lost}");
    assert!(lost["value"].as_f64().unwrap() <= best["value"].as_f64().unwrap(), "{lost}");
    let analysis = client.call("analyze", json!({ "dynamics": "othello", "player": "mav" }));
    assert_eq!(analysis["moves"].as_array().unwrap().len(), 4, "{analysis}");
    let compared =
        json!({ "dynamics": "chess", "state": back_rank, "first": "Kf1", "second": "d1d8", "player": "mav" });
    let compared = client.call("compare_moves", compared);
    assert_eq!(compared["choice"], "Rd8#", "{compared}");
    assert_eq!(
        (&compared["second"]["value"], &compared["second"]["ends_the_game"]),
        (&json!(1.0), &json!(true))
    );
}

#[test]
fn games_are_played_and_faults_are_answers() {
    let mut client = Client::new();
    let after = client.call("play_move", json!({ "dynamics": "chess", "moves": ["e4"], "move": "e5" }));
    assert_eq!((&after["side"], after["legal"].as_array().unwrap().len()), (&json!("first"), 29));
    let legal = client.call("legal_moves", json!({ "dynamics": "hex:size=3" }));
    assert_eq!(legal["legal"].as_array().unwrap().len(), 9);
    let illegal = client.fault("play_move", json!({ "dynamics": "chess", "move": "e5" }));
    assert!(illegal.contains("illegal move e5"), "{illegal}");
    let program = client.fault("best_move", json!({ "dynamics": "chess", "player": "uci:sh" }));
    assert!(program.contains("--allow"), "{program}");
    let over = json!({ "dynamics": "chess", "state": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "first": "Kg8", "second": "Kh7" });
    assert!(client.fault("compare_moves", over).contains("the game is over"));
    let blind =
        client.fault("best_move", json!({ "dynamics": "togyz", "player": "random", "objective": "even" }));
    assert!(blind.contains("gives no values"), "{blind}");
}
