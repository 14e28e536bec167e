//! Players: moves, analyses and growing trees.

use super::support::{Server, get, post, settings};
use mavis_web::{QueueSource, WebSettings, app};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn the_model_values_every_legal_move_of_every_game() {
    let server = Server::new();
    for game in ["chess", "chess960", "connect4", "hex", "othello", "togyz"] {
        let place = json!({ "game": game });
        let n_legal = server.post("/api/position", place.clone()).await["legal"].as_array().unwrap().len();
        let analysis = server.post("/api/analyze", json!({ "place": place, "player": "mav" })).await;
        let moves = analysis["moves"].as_array().unwrap();
        assert_eq!(moves.len(), n_legal, "{game}");
        for entry in moves {
            let weights = entry["distribution"].as_array().unwrap();
            let total: f64 = weights.iter().map(|weight| weight.as_f64().unwrap()).sum();
            assert!(weights.len() == 64 && (total - 1.0).abs() < 1e-3, "{game} {entry}");
            assert!((0.0..=1.0).contains(&entry["value"].as_f64().unwrap()));
        }
        assert_eq!(moves[0]["text"], analysis["choice"]["best"]["text"]);
        let text = &analysis["text"];
        assert!(text["prompt"].as_str().unwrap().starts_with(&format!("<mav game={game}")));
        assert!(text["answer"].as_str().unwrap().contains("<ctrl"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oracle_finds_the_winning_column() {
    let server = Server::new();
    let place = json!({ "game": "connect4", "moves": ["1", "4", "1", "4", "1"] });
    let choice = server.post("/api/choose", json!({ "place": place, "player": "oracle" })).await;
    assert_eq!(choice["best"]["text"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_grows_and_ends() {
    let server = Server::new();
    let body = json!({ "place": { "game": "othello" }, "player": "scripted-mcts:batch=4", "nodes": 300 });
    let (status, text) = server.send(post("/api/search", &body.to_string())).await;
    assert!(status.is_success());
    let views: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(views.len() > 2, "{} views", views.len());
    let simulations: Vec<u64> = views.iter().map(|view| view["simulations"].as_u64().unwrap()).collect();
    assert!(simulations.is_sorted() && *simulations.last().unwrap() >= 300, "{simulations:?}");
    let last = views.last().unwrap();
    assert_eq!(last["done"], true);
    let visits: u64 = last["tree"].as_array().unwrap().iter().map(|mv| mv["visits"].as_u64().unwrap()).sum();
    assert!((250..=300).contains(&visits), "{visits}");
    assert!(last["tree"][0]["replies"].as_array().unwrap().len() > 1);
}

/// Internal search is one call; its tree and its text come while the model writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_in_text_is_seen_while_it_is_written() {
    let server = Server::new();
    let body = json!({ "place": { "game": "connect4", "moves": ["4"] }, "player": "mav-is" });
    let (status, text) = server.send(post("/api/search", &body.to_string())).await;
    assert!(status.is_success());
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let views: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let last = views.last().unwrap();
    assert!(last["done"] == true && last["best"]["text"].is_string(), "{last}");
    let written = last["text"].as_str().unwrap();
    assert!(written.starts_with("Minimax breadth=3") && written.contains("<mav game=connect4>"), "{written}");
    let lengths: Vec<usize> = views.iter().map(|view| view["text"].as_str().unwrap().len()).collect();
    assert!(lengths.is_sorted(), "{lengths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_is_written_is_sent_while_it_is() {
    let server = Server::new();
    let body = json!({ "place": { "game": "othello" }, "player": "mav-is:breadth=2,depth=1" });
    let (status, text) = server.send(post("/api/search", &body.to_string())).await;
    assert!(status.is_success());
    let views: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let last = views.last().unwrap();
    assert_eq!(last["done"], true, "{text}");
    assert!(last["best"]["text"].is_string(), "{last}");
    assert!(last["tree"].is_array() && views.len() > 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn players_that_cannot_serve_say_why() {
    let server = Server::new();
    let ask = |player: &str| json!({ "place": { "game": "chess" }, "player": player }).to_string();
    for (player, status, expected) in [
        ("mav-mtcs", 400, "did you mean 'mav-mcts'?"),
        ("mav:temperature=-1", 400, "temperature"),
        ("uci:stockfish", 403, "starts a program; start the server with --allow"),
        ("mpc:evaluator={uci:sh}", 403, "starts a program"),
        ("mav:model=/etc/passwd", 403, "sets 'model'"),
        ("openai:http://example.com", 403, "calls another server"),
        ("", 400, "empty player name"),
    ] {
        let message = server.refuse("/api/analyze", &ask(player), status).await;
        assert!(message.contains(expected), "{player}: {message}");
    }
    let over = json!({ "place": { "game": "connect4", "moves": ["1", "2", "1", "2", "1", "2", "1"] }, "player": "mav" });
    assert!(server.refuse("/api/choose", &over.to_string(), 400).await.contains("the game is over: 1-0"));
    let (_, events) = server.send(post("/api/search", &ask("mav"))).await;
    assert!(events.contains("event: fault") && events.contains("grows no tree"), "{events}");
}

#[tokio::test]
async fn a_queue_is_shown_where_there_is_one() {
    let asked = |queue: Option<QueueSource>| async move {
        let server = Server(app(WebSettings { queue, ..settings() }));
        let (_, studies) = server.send(get("/api/studies")).await;
        let (status, text) = server.send(get("/api/queue")).await;
        (studies.contains("\"queue\":true"), status.as_u16(), text)
    };
    let (listed, status, text) = asked(None).await;
    assert!(!listed && status == 404 && text.contains("--cluster"), "{status} {text}");
    let there: QueueSource = Arc::new(|| Ok(json!({ "workers": ["one"] })));
    let (listed, status, text) = asked(Some(there)).await;
    assert!(listed && status == 200 && text.contains("one"), "{status} {text}");
    let gone: QueueSource = Arc::new(|| Err("no server answers".to_owned()));
    let (listed, status, text) = asked(Some(gone)).await;
    assert!(listed && status == 502 && text.contains("no server answers"), "{status} {text}");
}
