//! The official clients from PyPI talk to our servers: `mcp` to the tool server, `openai` to the model.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::server;

use serde_json::{Value, json};
use server::Server;
use std::{path::Path, process::Command};

fn report(package: &str, script: &str, arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(script);
    let mut command = Command::new(mavis_testkit::python_with(package));
    let output = command.arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_the_mcp_package_lists_tools_and_analyzes() {
    let report = report("mcp", "mcp_tools.py", &[env!("CARGO_BIN_EXE_mavis")]);
    assert_eq!(report["server"], "mavis");
    let names = ["analyze", "best_move", "compare_moves", "legal_moves", "play_move", "solve"];
    assert_eq!(report["tools"], json!(names));
    assert_eq!(report["analysis"]["moves"].as_array().unwrap().len(), 7, "{report}");
    assert_eq!(report["best"]["choice"], "Rd8#", "{report}");
    assert!(report["best"]["justification"].as_str().unwrap().contains("Rd8#"), "{report}");
    assert_eq!(report["wrong"]["isError"], true, "{report}");
}

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_the_openai_package_completes_with_log_probabilities_and_streams() {
    let server = Server::start(&[]);
    let example = Command::new(env!("CARGO_BIN_EXE_mavis"))
        .args(["lang", "example", "--game", "connect4", "--seed", "3"])
        .output()
        .unwrap();
    let example = String::from_utf8(example.stdout).unwrap();
    // Header and state are the question, the rest is the answer.
    let prompt: Vec<&str> = example.lines().take(2).collect();
    let prompt = format!("{}\n", prompt.join("\n"));
    let report = report("openai", "openai_completions.py", &[&server.address, &prompt]);
    assert_eq!(report["models"], json!(["mavis"]));
    let text = report["text"].as_str().unwrap();
    assert!(text.contains("[%"), "{report}");
    assert_eq!(report["streamed"], text, "{report}");
    assert!(report["n_parts"].as_u64().unwrap() > 5, "{report}");
    let logprobs = report["logprobs"].as_array().unwrap();
    assert_eq!(logprobs.len() as u64, report["used"].as_u64().unwrap(), "{report}");
    assert!(logprobs.iter().all(|value| value.as_f64().is_some_and(|value| value <= 1e-4)), "{report}");
    assert!(report["top"].as_array().unwrap().iter().all(|n| n == 5), "{report}");
    assert!(report["refused"].as_str().is_some_and(|text| text.contains("400")), "{report}");
}
