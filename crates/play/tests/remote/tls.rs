//! Models behind https: trusted authorities, and those nobody knows.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use crate::support::{server, tls};

use mavis_game::Rules;
use mavis_play::{Registry, add_servers};
use server::{Behavior, Server};
use tls::Authority;

/// What comes of getting ready for a game over the server of a spec.
fn ready(spec: &str) -> Result<(), String> {
    let mut registry = Registry::basic();
    add_servers(&mut registry, None);
    let mut player = registry.build(&spec.parse().unwrap(), 0).map_err(|error| error.to_string())?;
    player.ready_for(Rules::Connect4).map_err(|error| error.to_string())
}

#[test]
fn https_servers_answer_to_those_who_trust_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (ours, other) = (Authority::new(), Authority::new());
    ours.write(file("ours.pem").as_ref());
    other.write(file("other.pem").as_ref());
    std::fs::write(file("empty.pem"), "nothing\n").unwrap();
    let server = Server::start(Behavior::Lists);
    let port = ours.front("localhost", server.place());

    let spec = |host: &str, rest: &str| format!("openai-mcts:https://{host}:{port},sims=8,retries=0{rest}");
    let trusting = format!(",ca={}", file("ours.pem"));
    assert_eq!(ready(&spec("localhost", &trusting)), Ok(()));
    assert!(server.n_requests() > 0);
    let n_requests = server.n_requests();
    for (host, ca, part) in [
        // Signed by nobody we know, or by another, or for another name.
        ("localhost", String::new(), "certificate"),
        ("localhost", format!(",ca={}", file("other.pem")), "certificate"),
        ("127.0.0.1", trusting, "certificate"),
        ("localhost", format!(",ca={}", file("empty.pem")), "no certificate"),
        ("localhost", format!(",ca={}", file("none.pem")), "none.pem"),
    ] {
        let error = ready(&spec(host, &ca)).unwrap_err();
        assert!(error.contains(part) && error.lines().count() == 1, "{host}{ca}: {error}");
    }
    assert_eq!(server.n_requests(), n_requests, "nothing is said to those we do not trust");
    // A plain server does not speak TLS, nor the other way around.
    assert!(
        ready(&format!("openai:https://{},retries=0,patience=500,ca={}", server.place(), file("ours.pem")))
            .is_err()
    );
    assert!(ready(&format!("openai:http://localhost:{port},retries=0,patience=500")).is_err());
}
