//! A real llama.cpp server with an exported model: the same values as here, and killed in the middle of a search.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]
#![allow(dead_code, reason = "the network of the decoding tests comes with more than is used here")]

#[path = "../../model/tests/decoding/trained.rs"]
mod trained;

use mavis_eval::{EndOrMoves, Evaluator, MoveValue, Request};
use mavis_game::{Game as _, Position, Rules};
use mavis_model::{
    evaluator::{Embedded, EmbeddedSettings},
    interchange::{Numbers, export_gguf},
};
use mavis_net::Precision;
use mavis_play::{
    Limit, Registry, Thought, Turn, add_servers,
    remote::{PromptForm, Remote, RemoteSettings, ServerSettings},
    runtime,
};
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

const XLLAMACPP: &str = "xllamacpp==2026.10.11549";

/// A llama.cpp server in a process of its own; dropping it kills it.
struct LlamaServer {
    child: Child,
    address: String,
}

impl LlamaServer {
    fn start(model: &Path, port: u16) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/llama_server.py");
        let mut child = Command::new(mavis_testkit::python_with(XLLAMACPP))
            .arg(script)
            .arg(model)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find(|line| line.starts_with("http")).expect("an address");
        Self { child, address }
    }

    fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap()
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn ask(evaluator: &dyn Evaluator, position: &Position) -> Vec<MoveValue> {
    let asked = evaluator.evaluate_one(Request::state(position.clone()));
    let evaluation = runtime().unwrap().block_on(asked).unwrap_or_else(|error| panic!("{error}"));
    match evaluation.content {
        EndOrMoves::Moves(moves) => moves,
        EndOrMoves::Ended(outcome) => panic!("over: {outcome}"),
    }
}

#[test]
#[ignore = "installs other programs from PyPI"]
fn peers_llama_cpp_serves_our_model_and_may_be_killed_in_the_middle_of_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.gguf");
    export_gguf(trained::model(mavis_model::InputAttention::Causal), &file, Numbers::F32).unwrap();
    let mut server = LlamaServer::start(&file, 0);

    // The same values as the model has here, by text and by tokens.
    let own = Embedded::cpu(
        trained::model(mavis_model::InputAttention::Causal),
        Precision::Exact,
        EmbeddedSettings::default(),
    )
    .unwrap();
    for prompt in [PromptForm::Text, PromptForm::Tokens] {
        let servers = ServerSettings::at(&[&server.address]);
        let remote =
            Remote::new(RemoteSettings { prompt, logprobs: 64, ..RemoteSettings::new(servers) }).unwrap();
        for position in trained::known() {
            let (here, there) = (ask(&own, &position), ask(&remote, &position));
            assert_eq!(here.len(), there.len());
            for (here, there) in here.iter().zip(&there) {
                assert_eq!(here.mv, there.mv);
                let (mean, other) = (here.value.mean, there.value.mean);
                assert!((mean - other).abs() < 0.01, "{mean} here, {other} there");
            }
            let state = Arc::new(position.clone());
            let chosen = runtime().unwrap().block_on(remote.best_action(state.clone(), there));
            let expected = runtime().unwrap().block_on(own.best_action(state, here));
            assert_eq!(chosen.unwrap(), expected.unwrap());
        }
    }

    // Killed and started again while a search is on.
    let mut registry = Registry::basic();
    add_servers(&mut registry, None);
    let spec = format!("openai-mcts:{},batch=4,patience=2000", server.address);
    let mut player = registry.build(&spec.parse().unwrap(), 0).unwrap();
    let position = Position::start(Rules::Connect4);
    let searching = std::thread::spawn({
        let position = position.clone();
        move || {
            let limit = Limit { time: Some(Duration::from_secs(10)), ..Limit::default() };
            let mut told = Vec::new();
            let mut sink = |thought: &Thought| told.push(thought.nodes);
            let mut turn = Turn::alone(&position, limit, &mut sink);
            let began = std::time::Instant::now();
            let choice = player.choose(&mut turn).unwrap();
            (choice, began.elapsed(), told)
        }
    });
    std::thread::sleep(Duration::from_secs(2));
    let port = server.port();
    drop(server);
    std::thread::sleep(Duration::from_millis(500));
    server = LlamaServer::start(&file, port);
    let (choice, time, told) = searching.join().unwrap();
    println!("{:?} nodes in {time:?}, told {told:?}", choice.thought.nodes);
    assert!(position.is_legal(choice.mv));
    assert!(choice.thought.note.is_none(), "{:?}", choice.thought.note);
    // Not a measure of speed: the search ends by its own limit, with room for a busy machine.
    assert!(time < Duration::from_secs(15), "{time:?}");
    two_servers(&own, &file, &server);
}

/// Two servers behind one player that has both sides of a game; one is killed while the player thinks, and comes back.
fn two_servers(own: &Embedded, file: &Path, first: &LlamaServer) {
    let second = LlamaServer::start(file, 0);
    let port = second.port();
    let servers = ServerSettings::at(&[&first.address, &second.address]);
    let remote = Remote::new(RemoteSettings { logprobs: 64, ..RemoteSettings::new(servers) }).unwrap();
    let same_values = || {
        for position in trained::known() {
            for (here, there) in ask(own, &position).iter().zip(&ask(&remote, &position)) {
                assert_eq!(here.mv, there.mv);
                assert!((here.value.mean - there.value.mean).abs() < 0.01, "{position}");
            }
        }
    };
    same_values();
    let mut registry = Registry::basic();
    add_servers(&mut registry, None);
    let spec = format!("openai-mcts:{{{},{}}},sims=60,batch=8", first.address, second.address);
    let mut player = registry.build(&spec.parse().unwrap(), 0).unwrap();
    let mut position = Position::start(Rules::Connect4);
    let mut killer = Some(std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(second);
    }));
    let mut back = None;
    for _ in 0..10 {
        let mut sink = |_: &Thought| {};
        let choice = player.choose(&mut Turn::alone(&position, Limit::default(), &mut sink)).unwrap();
        assert_eq!(choice.thought.note, None, "{position}");
        position.play(choice.mv).unwrap();
        if position.outcome().is_some() {
            break;
        }
        if let Some(killed) = killer.take_if(|killer| killer.is_finished()) {
            killed.join().unwrap();
            same_values();
            back = Some(LlamaServer::start(file, port));
        }
    }
    assert!(back.is_some() || killer.is_some_and(|killer| killer.join().is_ok()));
    same_values();
}
