//! `mavis model` and `mavis bench model`, on a random network.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_model::{InputAttention, MavModel, Preset};
use mavis_net::{TransformerConfig, initial_parameters};
use mavis_testkit::Program;
use std::path::Path;

fn mavis() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

fn save_model(path: &Path, input: InputAttention) {
    let shape = Preset::Test.shape(mavis_lang::vocabulary().len(), 4);
    let config = TransformerConfig { d_model: 32, n_layers: 1, n_heads: 2, d_ff: 64, ..shape };
    let parameters = initial_parameters(&config).unwrap();
    MavModel { config, input, step: 7, parameters }.save(path).unwrap();
}

#[test]
fn a_model_is_shown_asked_sent_out_and_taken_back() {
    let mavis = mavis();
    save_model(&mavis.folder().join("model.safetensors"), InputAttention::Causal);
    let info = mavis.stdout("model info model.safetensors");
    assert!(info.contains("after 7 steps") && info.contains("layout of qwen3"), "{info}");

    let ask =
        |how: &str| mavis.stdout(&format!("model ask model.safetensors {how} --game connect4 --moves 4 4"));
    let by_rules = ask("--by-rules");
    assert_eq!(by_rules.lines().filter(|line| line.contains("mean")).count(), 7, "{by_rules}");
    let json: serde_json::Value = serde_json::from_str(&ask("--json")).unwrap();
    assert!(json["prompt"].as_str().unwrap().starts_with("<mav game=connect4> %state %top_all </mav>"));
    // A network that knows nothing writes nonsense, and is told so.
    let written = ask("--sequential");
    assert!(written.contains("mistake: "), "{written}");

    mavis.run("model export model.safetensors --to hf --out hf");
    mavis.run("model import hf --from hf --out back.safetensors");
    let [first, back] = ["model.safetensors", "back.safetensors"]
        .map(|name| MavModel::load(&mavis.folder().join(name)).unwrap().parameters);
    assert_eq!(first, back, "bf16 survives the journey");
    mavis.run("model export model.safetensors --to gguf --out model.gguf");
    assert!(std::fs::read(mavis.folder().join("model.gguf")).unwrap().starts_with(b"GGUF"));
}

#[test]
fn what_cannot_be_is_one_line_and_code_2() {
    let mavis = mavis();
    save_model(&mavis.folder().join("full.safetensors"), InputAttention::Full);
    mavis.write("text", "no model");
    for (line, part) in [
        (
            "model export full.safetensors --to gguf --out x",
            "full attention, which no other program does: export a causal model, such as models/",
        ),
        ("model export full.safetensors --to onnx --out x", "'onnx'"),
        ("model info text", "not a safetensors file"),
        ("model info nothing", "nothing"),
        ("model import . --from hf --out x", "config.json"),
        (
            "model ask full.safetensors --game connect4 --top 0",
            "--top: expected all, or a number from 1 to 65535, not '0'",
        ),
        ("model ask full.safetensors --game connect4 --top 999999", "a number from 1 to 65535"),
        (
            "model ask full.safetensors --game connect4 --commands '%prev_state %prev_action %state'",
            "need the move: add --track MOVE",
        ),
        (
            "model ask full.safetensors --game connect4 --track 4 --commands '%state %top_all'",
            "--track needs commands that begin with %prev_state %prev_action",
        ),
        ("bench model --preset 9b", "unknown preset '9b'"),
    ] {
        mavis.check_bad(line, part);
    }
    let net = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/probs-connect4.safetensors");
    mavis.check_bad(&format!("model info {net}"), "is of kind 'probs', expected 'transformer'");
    let ask = |device: &str| format!("model ask full.safetensors --game connect4 --device {device}");
    mavis.check_bad(&ask("tpu"), "unknown device 'tpu' (known: cpu cuda auto)");
    // A build without CUDA says so, and so does a machine without a GPU.
    if mavis_net::Device::Cuda.resolved().is_err() {
        mavis.check_bad(&ask("cuda"), "cuda");
    }
    mavis.run(&ask("auto"));
}

#[test]
fn the_bench_prints_numbers_with_the_machine() {
    let mavis = mavis();
    save_model(&mavis.folder().join("model.safetensors"), InputAttention::Causal);
    let line = "bench model model.safetensors --game connect4 --seconds 0 --positions 4 --json";
    let measured: serde_json::Value = serde_json::from_str(&mavis.stdout(line)).unwrap();
    assert!(measured["exact"]["prompt_tokens_per_second"].as_f64().unwrap() > 0.0);
    assert!(measured["int8"]["sequential_tokens_per_second"].as_f64().unwrap() > 0.0);
    assert!(measured["bf16"]["sequential_tokens_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(measured["bf16_agreement"]["n_positions"], 4);
    assert_eq!(measured["int8_agreement"]["n_positions"], 4);
    assert!(measured["threads"].as_u64().unwrap() > 0);
}

#[test]
fn the_profile_has_the_passes_of_plain_and_joint_answers() {
    let mavis = mavis();
    save_model(&mavis.folder().join("model.safetensors"), InputAttention::Reread);
    let line = "bench model model.safetensors --game connect4 --seconds 0 --profile";
    let profiles: serde_json::Value = serde_json::from_str(&mavis.stdout(&format!("{line} --json"))).unwrap();
    let first_pass = |at: usize, what: &str| profiles[at]["passes"][0][what].as_u64().unwrap();
    assert_eq!([&profiles[0]["name"], &profiles[1]["name"]], ["plain answers", "joint answers"]);
    assert_eq!((first_pass(0, "n_rows"), first_pass(0, "n_brief")), (16, 0));
    // Of a joint answer one row is read whole, that of the list; the others check the draft.
    assert_eq!(first_pass(1, "n_rows") - first_pass(1, "n_brief"), 16);
    assert!(first_pass(1, "n_tokens") > 2 * first_pass(0, "n_tokens"));
    assert!(profiles[0]["passes"][0]["parts"].is_null(), "the processor does not say");
    assert!(mavis.stdout(line).contains("plain answers, us"));
}
