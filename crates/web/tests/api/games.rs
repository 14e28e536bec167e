//! Rules, import and export.

use super::support::{Server, get};
use serde_json::{Value, json};

#[tokio::test]
async fn the_page_and_its_description_are_served() {
    let server = Server::new();
    let (status, page) = server.send(get("/")).await;
    assert!(status.is_success() && page.contains("<title>Mavis</title>"));
    for path in
        ["/js/main.js", "/css/base.css", "/vendor/chessground/chessground.js", "/vendor/chessground/LICENSE"]
    {
        let (status, _) = server.send(get(path)).await;
        assert!(status.is_success(), "{path}");
    }
    for path in ["/../Cargo.toml", "/js/../../Cargo.toml", "/js/%2e%2e/%2e%2e/Cargo.toml", "/nothing"] {
        let (status, _) = server.send(get(path)).await;
        assert_eq!(status.as_u16(), 404, "{path}");
    }
    let (_, document) = server.send(get("/api/openapi.json")).await;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert!(document["paths"].as_object().unwrap().len() >= 9);
}

#[tokio::test]
async fn every_game_starts_and_lists_its_moves() {
    let server = Server::new();
    for (game, n_legal) in [
        ("chess", 20),
        ("chess960", 20),
        ("connect4", 7),
        ("hex", 121),
        ("hex:size=5,swap", 25),
        ("othello", 4),
        ("togyz", 9),
    ] {
        let view = server.post("/api/position", json!({ "game": game })).await;
        assert_eq!(view["legal"].as_array().unwrap().len(), n_legal, "{game}");
        assert_eq!((&view["side"], &view["result"]), (&json!("first"), &Value::Null));
    }
}

#[tokio::test]
async fn a_game_has_san_check_and_an_end() {
    let server = Server::new();
    let mate = json!({ "game": "chess", "moves": ["f2f3", "e7e5", "g2g4", "Qh4"] });
    let view = server.post("/api/position", mate).await;
    assert_eq!(view["moves"][3], json!({ "text": "d8h4", "san": "Qh4#" }));
    assert_eq!(
        (&view["result"], &view["reason"], &view["check"]),
        (&json!("0-1"), &json!("checkmate"), &json!(true))
    );
    assert!(view["legal"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn games_are_read_from_pgn_positions_and_moves() {
    let server = Server::new();
    let check = async |game: &str, text: &str, expected: Value| {
        let place = server.post("/api/import", json!({ "game": game, "text": text })).await;
        assert_eq!(place, expected, "{text}");
    };
    let opening = json!({ "game": "chess", "moves": ["e2e4", "e7e5", "g1f3"] });
    check("chess", "1. e4 e5 2. Nf3 *", opening.clone()).await;
    check("chess", "e2e4, e7e5, g1f3", opening.clone()).await;
    check("othello", "[Event \"x\"]\n\n1. e4 {best by test} e5 2. Nf3 *\n", opening).await;
    check("connect4", "4435", json!({ "game": "connect4", "moves": ["4", "4", "3", "5"] })).await;
    let fen = "8/8/8/8/8/4k3/4p3/4K3 w - - 0 1";
    check("chess", fen, json!({ "game": "chess", "start": fen, "moves": [] })).await;
    check(
        "hex:size=3",
        "x../.../... o",
        json!({ "game": "hex:size=3", "start": "x../.../... o", "moves": [] }),
    )
    .await;
    let message = server.refuse("/api/import", r#"{"game":"chess","text":"hello"}"#, 400).await;
    assert!(message.contains("neither a position nor PGN nor moves"), "{message}");
}

#[tokio::test]
async fn an_exported_game_can_be_imported_again() {
    let server = Server::new();
    for (game, moves) in
        [("chess", vec!["e2e4", "e7e5"]), ("hex", vec!["a1", "b2"]), ("togyz", vec!["9", "1"])]
    {
        let place = json!({ "game": game, "moves": moves });
        let pgn = server.post("/api/export", json!({ "place": place, "players": ["You", "mav"] })).await;
        let text = pgn["pgn"].as_str().unwrap();
        assert!(text.contains("[White \"You\"]"), "{text}");
        assert_eq!(server.post("/api/import", json!({ "game": "chess", "text": text })).await, place);
    }
}

#[tokio::test]
async fn malformed_requests_get_one_clear_line() {
    let server = Server::new();
    for (body, expected) in [
        (r#"{"game":"go"}"#, "unknown game 'go'"),
        (r#"{"game":"chess","start":"8/8"}"#, "bad chess position"),
        (r#"{"game":"chess","moves":["e2e5"]}"#, "move 1: illegal move e2e5"),
        (r#"{"game":"hex:size=99"}"#, "unknown parameter"),
        (r#"{"game":"chess","color":1}"#, "unknown field `color`"),
        ("{", "JSON"),
        ("[]", "JSON"),
    ] {
        let message = server.refuse("/api/position", body, 400).await;
        assert!(message.contains(expected) && !message.contains('\n'), "{body}: {message}");
    }
    let long = json!({ "game": "connect4", "moves": vec!["1"; 1001] }).to_string();
    assert!(server.refuse("/api/position", &long, 400).await.contains("at most 1000"));
}
