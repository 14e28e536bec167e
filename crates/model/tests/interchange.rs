//! Models out to other programs and back.
//!
//! llama.cpp comes as the Python package `xllamacpp` and is asked by the tests `peers_`. `torch` is too large for that: what `transformers` says of
//! the same models is saved in `tests/peers/`. To remake it, set `MAVIS_PEERS_DIR` to a folder, run those tests, and call
//! `transformers_answers.py FOLDER` where `torch` and `transformers` are.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_game::{Game, Position, Rules};
use mavis_lang::{Commands, Forms, Given, Request, Token, Top, vocabulary};
use mavis_model::{
    MavModel,
    interchange::{InterchangeError, Numbers, export_gguf, export_hf, import_hf},
};
use mavis_net::{Batch, Decoder, Precision, TransformerConfig, Want, cpu::CpuDecoder, initial_parameters};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{fs, path::Path};

/// A random network of either architecture. Weights are larger than fresh ones, so that logits differ clearly.
fn model(qk_norm: bool) -> MavModel {
    let config = TransformerConfig {
        vocab: vocabulary().padded_len(),
        d_model: 64,
        n_layers: 2,
        n_heads: 2,
        d_ff: 96,
        rope_theta: 10_000.0,
        norm_eps: 1e-5,
        qk_norm,
        tied: !qk_norm,
        init_seed: 11,
        variant: Default::default(),
    };
    let parameters = initial_parameters(&config).unwrap();
    let parameters = parameters.iter().map(|x| if *x == 1.0 { 1.0 } else { x * 5.0 }).collect();
    MavModel { config, input: mavis_model::InputAttention::Causal, step: 0, parameters }
}

/// Fifty beginnings of examples of all games.
fn prompts() -> Vec<Vec<Token>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let games =
        [Rules::Chess, Rules::Connect4, Rules::Othello, Rules::Togyz, Rules::Hex { size: 5, swap: false }];
    (0..50)
        .map(|idx| {
            let rules = games[idx % games.len()];
            let mut position = Position::start(rules);
            for _ in 0..rng.random_range(0..12) {
                position.play_unchecked(position.random_move(rng.random()).unwrap());
            }
            let forms = if rules == Rules::Chess && idx % 2 == 0 { Forms::Fen } else { Forms::State };
            let top = if idx % 3 == 0 { Top::Best(5) } else { Top::All };
            let commands =
                Commands { given: Given::Current(forms), top: Some(top), ..Commands::top_all(rules) };
            let request = Request::at(position, commands);
            let mut tokens = request.prompt();
            tokens.extend(request.opening());
            tokens
        })
        .collect()
}

/// Logits after the last token of each prompt.
fn logits(model: &MavModel, prompts: &[Vec<Token>]) -> Vec<Vec<f32>> {
    let mut decoder = CpuDecoder::new(model.config.clone(), &model.parameters, Precision::Exact).unwrap();
    prompts
        .iter()
        .map(|prompt| {
            let mut batch = Batch::default();
            batch.push_causal(&prompt.iter().map(|&token| u32::from(token)).collect::<Vec<_>>());
            decoder.logits(&batch, &Want::last(&batch)).unwrap().values
        })
        .collect()
}

/// What an answer of another program may differ by.
const TOLERANCE: f64 = 1e-4;

/// Compares the ids and log-probabilities of another program, `[[[id, logprob]]]`, with ours; greedy continuations where there is a margin.
#[track_caller]
fn compare(model: &MavModel, answers: &serde_json::Value) {
    let prompts = prompts();
    let own = logits(model, &prompts);
    let answers = answers["logprobs"].as_array().unwrap();
    assert_eq!(answers.len(), prompts.len());
    let mut largest = 0.0_f64;
    for (own, answer) in own.iter().zip(answers) {
        let most = own.iter().copied().fold(f32::MIN, f32::max);
        let total: f64 = own.iter().map(|x| f64::from(x - most).exp()).sum();
        let answer = answer.as_array().unwrap();
        assert!(answer.len() >= 16);
        for pair in answer {
            let id = pair[0].as_u64().unwrap() as usize;
            let expected = f64::from(own[id] - most) - total.ln();
            largest = largest.max((expected - pair[1].as_f64().unwrap()).abs());
        }
        let mut sorted: Vec<(f32, usize)> = own.iter().copied().zip(0..).collect();
        sorted.sort_by(|one, other| other.0.total_cmp(&one.0));
        if f64::from(sorted[0].0 - sorted[1].0) > 2.0 * TOLERANCE {
            assert_eq!(answer[0][0].as_u64().unwrap() as usize, sorted[0].1, "the best token");
        }
    }
    assert!(largest < TOLERANCE, "the largest difference is {largest}");
}

#[test]
fn transformers_gives_the_same_logits() {
    for (qk_norm, name) in [(false, "llama"), (true, "qwen3")] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/peers/transformers_{name}.json"));
        let answers = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        compare(&model(qk_norm), &answers);
    }
}

#[test]
fn what_goes_out_as_a_folder_comes_back() {
    for qk_norm in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let model = model(qk_norm);
        export_hf(&model, folder.path(), Numbers::F32).unwrap();
        let back = import_hf(folder.path()).unwrap();
        assert_eq!(back.parameters, model.parameters);
        assert_eq!(TransformerConfig { init_seed: 11, ..back.config }, model.config);
        export_hf(&model, folder.path(), Numbers::Bf16).unwrap();
        let rounded = import_hf(folder.path()).unwrap();
        for (one, other) in rounded.parameters.iter().zip(&model.parameters) {
            assert!((one - other).abs() <= other.abs() / 128.0);
        }
    }
}

#[test]
fn what_no_other_program_reads_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let full_input = MavModel { input: mavis_model::InputAttention::Full, ..model(true) };
    let places = model(true).with_places().unwrap();
    let path = folder.path().join("model.gguf");
    for (model, reason) in [(full_input, "full attention"), (places, "table of places")] {
        let exports =
            [export_hf(&model, folder.path(), Numbers::F32), export_gguf(&model, &path, Numbers::F32)];
        for refused in exports {
            let error = refused.unwrap_err();
            assert!(matches!(error, InterchangeError::FullInput | InterchangeError::Places));
            assert!(error.to_string().contains(reason) && error.to_string().lines().count() == 1, "{error}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn foreign_folders_are_refused_by_what_is_foreign() {
    let folder = tempfile::tempdir().unwrap();
    export_hf(&model(true), folder.path(), Numbers::F32).unwrap();
    let config = fs::read_to_string(folder.path().join("config.json")).unwrap();
    let check = |from: &str, to: &str, part: &str| {
        assert!(config.contains(from), "{from}");
        fs::write(folder.path().join("config.json"), config.replace(from, to)).unwrap();
        let error = import_hf(folder.path()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    check("Qwen3ForCausalLM", "MambaForCausalLM", "MambaForCausalLM");
    check("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 1", "num_key_value_heads is 1");
    check("\"silu\"", "\"gelu\"", "hidden_act is gelu");
    check("\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", "yarn");
    check("\"hidden_size\": 64", "\"hidden_size\": 60", "head_dim");
    check("\"intermediate_size\": 96", "\"intermediate_size\": 104", "gate_proj");
    fs::write(folder.path().join("config.json"), &config).unwrap();
    let tokens = fs::read_to_string(folder.path().join("tokenizer.json")).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokens.replace("[%top_all", "[%top_any")).unwrap();
    assert!(import_hf(folder.path()).unwrap_err().to_string().contains("[%top_all"));
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    assert!(matches!(import_hf(folder.path()), Err(InterchangeError::File { .. })));
}

#[test]
fn a_gguf_file_has_a_sound_head() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    for numbers in [Numbers::F32, Numbers::F16] {
        let model = model(false);
        export_gguf(&model, &path, numbers).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[..8], *b"GGUF\x03\0\0\0");
        assert_eq!(bytes.len() % 32, 0);
        let n_tensors = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        assert_eq!(n_tensors, 2 + 9 * 2, "embedding, norm, and nine tensors a layer");
    }
    assert!(matches!(export_gguf(&model(true), &path, Numbers::Bf16), Err(InterchangeError::Numbers { .. })));
}

/// llama.cpp, with texts through its own copy of the tokenizer.
mod peers {
    use super::*;
    use mavis_model::decode::{MavDecoder, TextSettings, WrittenToken};
    use std::{env, path::PathBuf, process::Command};

    const XLLAMACPP: &str = "xllamacpp==2026.10.11549";

    #[test]
    #[ignore = "installs other programs from PyPI"]
    fn peers_llama_cpp_gives_the_same_logits_and_the_texts_of_the_twin() {
        let own = tempfile::tempdir().unwrap();
        let folder = env::var_os("MAVIS_PEERS_DIR").map_or_else(|| own.path().to_owned(), Into::into);
        let prompts: Vec<_> = prompts()
            .into_iter()
            .map(|ids| serde_json::json!({ "text": vocabulary().decode(&ids).unwrap(), "ids": ids }))
            .collect();
        fs::write(folder.join("prompts.json"), serde_json::to_string(&prompts).unwrap()).unwrap();
        let models =
            [("llama", model(false)), ("qwen3", model(true)), ("twin", MavModel::load(&twin()).unwrap())];
        for (name, model) in &models {
            export_gguf(model, &folder.join(format!("{name}.gguf")), Numbers::F32).unwrap();
            export_hf(model, &folder.join(name), Numbers::F32).unwrap();
        }
        let venv = own.path().join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        let python = venv.join("bin/python");
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", XLLAMACPP]));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/llama_cpp_answers.py");
        run(Command::new(&python).arg(script).arg(&folder).args(models.iter().map(|(name, _)| name)));
        for (name, model) in &models {
            let text = fs::read_to_string(folder.join(format!("llama_cpp_{name}.json"))).unwrap();
            let answers: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(answers["different_ids"], 0, "its tokenizer splits texts as ours does");
            compare(model, &answers);
            if *name == "twin" {
                compare_texts(model, &answers["written"]);
            }
        }
    }

    /// Greedy texts of a model are the same there and here; they may part only where the best token hardly leads.
    fn compare_texts(model: &MavModel, written: &serde_json::Value) {
        const MARGIN: f32 = 0.001;
        let prompts = prompts();
        let settings = TextSettings { max_tokens: 40, temperature: 0.0, n_top: 2, seed: 0 };
        let mut own = vec![Vec::new(); prompts.len()];
        let mut decoder = MavDecoder::cpu(model, Precision::Exact).unwrap();
        decoder
            .write_text(&prompts, &settings, &mut |idx, token| {
                own[idx].push(token.clone());
                !token.ends_answer
            })
            .unwrap();
        let (mut n_same, mut n_whole) = (0, 0);
        for (own, other) in own.iter().zip(written.as_array().unwrap()) {
            let other = other.as_array().unwrap().iter().map(|id| id.as_u64().unwrap());
            let is_same = |(own, other): &(&WrittenToken, u64)| u64::from(own.token) == *other;
            let n_here = own.iter().zip(other).take_while(is_same).count();
            if let Some(token) = own.get(n_here) {
                let lead = token.top[0].1 - token.top[1].1;
                assert!(lead < MARGIN, "the texts part where the best token leads by {lead}: {token:?}");
            }
            n_same += n_here;
            n_whole += usize::from(n_here == own.len());
        }
        assert!(
            n_whole >= 40,
            "{n_whole} of {} texts are the same to their end, {n_same} tokens",
            prompts.len()
        );
    }

    /// The causal twin of the bundled model.
    fn twin() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mavis-9m-causal.safetensors")
    }

    /// Runs a command to its end.
    fn run(command: &mut Command) {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {text}");
    }
}
