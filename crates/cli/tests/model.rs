//! `mavis model` and `mavis bench model`, on a random network.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_model::{MavModel, Preset};
use mavis_net::{TransformerConfig, initial_parameters};
use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

fn mavis(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mavis"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = mavis(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check_bad(folder: &Path, arguments: &[&str], part: &str) {
    let output = mavis(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.contains(part), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
}

fn save_model(path: &Path, full_input: bool) {
    let shape = Preset::Test.shape(mavis_lang::vocabulary().len(), 4);
    let config = TransformerConfig { d_model: 32, n_layers: 1, n_heads: 2, d_ff: 64, ..shape };
    let parameters = initial_parameters(&config).unwrap();
    MavModel { config, full_input, step: 7, parameters }.save(path).unwrap();
}

#[test]
fn a_model_is_shown_asked_sent_out_and_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save_model(&folder.join("model.safetensors"), false);
    let info = stdout(folder, &["model", "info", "model.safetensors"]);
    assert!(info.contains("after 7 steps") && info.contains("layout of qwen3"), "{info}");

    let place = ["--game", "connect4", "--moves", "4", "4"];
    let by_rules =
        stdout(folder, &[&["model", "ask", "model.safetensors", "--by-rules"], &place[..]].concat());
    assert_eq!(by_rules.lines().filter(|line| line.contains("mean")).count(), 7, "{by_rules}");
    let json = stdout(folder, &[&["model", "ask", "model.safetensors", "--json"], &place[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["prompt"].as_str().unwrap().starts_with("<mav game=connect4> %state %top_all </mav>"));
    // A network that knows nothing writes nonsense, and is told so.
    let written =
        stdout(folder, &[&["model", "ask", "model.safetensors", "--sequential"], &place[..]].concat());
    assert!(written.contains("mistake: "), "{written}");

    stdout(folder, &["model", "export", "model.safetensors", "--to", "hf", "--out", "hf"]);
    stdout(folder, &["model", "import", "hf", "--from", "hf", "--out", "back.safetensors"]);
    let [first, back] = ["model.safetensors", "back.safetensors"]
        .map(|name| MavModel::load(&folder.join(name)).unwrap().parameters);
    assert_eq!(first, back, "bf16 survives the journey");
    stdout(folder, &["model", "export", "model.safetensors", "--to", "gguf", "--out", "model.gguf"]);
    assert!(std::fs::read(folder.join("model.gguf")).unwrap().starts_with(b"GGUF"));
}

#[test]
fn what_cannot_be_is_one_line_and_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save_model(&folder.join("full.safetensors"), true);
    std::fs::write(folder.join("text"), "no model").unwrap();
    check_bad(
        folder,
        &["model", "export", "full.safetensors", "--to", "gguf", "--out", "x"],
        "reads its input with full attention",
    );
    check_bad(folder, &["model", "export", "full.safetensors", "--to", "onnx", "--out", "x"], "'onnx'");
    check_bad(folder, &["model", "info", "text"], "not a safetensors file");
    check_bad(folder, &["model", "info", "nothing"], "nothing");
    check_bad(folder, &["model", "import", ".", "--from", "hf", "--out", "x"], "config.json");
    check_bad(folder, &["model", "ask", "full.safetensors", "--game", "connect4", "--top", "0"], "%top_0");
    check_bad(folder, &["bench", "model", "--preset", "9b"], "unknown preset '9b'");
    let ask = ["model", "ask", "full.safetensors", "--game", "connect4", "--device"];
    check_bad(folder, &[&ask[..], &["tpu"]].concat(), "unknown device 'tpu' (known: cpu cuda auto)");
    // A build without CUDA says so, and so does a machine without a GPU.
    if mavis_net::Device::Cuda.resolved().is_err() {
        check_bad(folder, &[&ask[..], &["cuda"]].concat(), "cuda");
    }
    stdout(folder, &[&ask[..], &["auto"]].concat());
}

#[test]
fn the_bench_prints_numbers_with_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    save_model(&folder.path().join("model.safetensors"), false);
    let arguments = [
        "bench",
        "model",
        "model.safetensors",
        "--game",
        "connect4",
        "--seconds",
        "0",
        "--positions",
        "4",
        "--json",
    ];
    let measured: serde_json::Value = serde_json::from_str(&stdout(folder.path(), &arguments)).unwrap();
    assert!(measured["exact"]["prompt_tokens_per_second"].as_f64().unwrap() > 0.0);
    assert!(measured["int8"]["sequential_tokens_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(measured["int8_agreement"]["n_positions"], 4);
    assert!(measured["threads"].as_u64().unwrap() > 0);
}
