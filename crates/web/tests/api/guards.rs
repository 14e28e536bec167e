//! Who may ask, and how much.

use super::support::{Server, get, post, settings};
use axum::{
    body::Body,
    http::{Request, header},
};
use mavis_web::{Limits, WebSettings, app};
use serde_json::json;
use std::time::Duration;

async fn status(server: &Server, headers: &[(&str, &str)]) -> u16 {
    let mut request = Request::post("/api/position");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Body::from(r#"{"game":"connect4"}"#);
    server.send(request.header("content-type", "application/json").body(body).unwrap()).await.0.as_u16()
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let server = Server::new();
    for (host, expected) in [
        ("localhost", 200),
        ("localhost:7117", 200),
        ("127.0.0.1:7117", 200),
        ("[::1]:7117", 200),
        ("evil.example", 403),
        ("localhost.evil.example:7117", 403),
        ("10.1.2.3", 403),
    ] {
        assert_eq!(status(&server, &[("host", host)]).await, expected, "{host}");
    }
    assert_eq!(status(&server, &[]).await, 403);
    for (origin, expected) in [
        ("http://localhost:7117", 200),
        ("http://localhost:8000", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://localhost:7117.evil.example", 403),
    ] {
        assert_eq!(
            status(&server, &[("host", "localhost:7117"), ("origin", origin)]).await,
            expected,
            "{origin}"
        );
    }
    let cross = [("host", "localhost:7117"), ("sec-fetch-site", "cross-site")];
    assert_eq!(status(&server, &cross).await, 403);
}

#[tokio::test]
async fn a_token_is_asked_for_where_there_is_one() {
    let server = Server(app(WebSettings { token: Some("abc123".to_owned()), ..settings() }));
    let host = ("host", "10.1.2.3:80");
    assert_eq!(status(&server, &[host]).await, 403);
    assert_eq!(status(&server, &[host, ("authorization", "Bearer wrong1")]).await, 403);
    assert_eq!(status(&server, &[host, ("authorization", "Bearer abc123")]).await, 200);
    assert_eq!(status(&server, &[host, ("cookie", "a=b; mavis_token=abc123")]).await, 200);
    assert_eq!(status(&server, &[("host", "evil.example"), ("authorization", "Bearer abc123")]).await, 403);
    let page = get("/?token=abc123");
    let response = tower::ServiceExt::oneshot(server.0.clone(), page).await.unwrap();
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.starts_with("mavis_token=abc123;") && cookie.contains("HttpOnly"));
}

#[tokio::test]
async fn large_and_slow_bodies_are_refused() {
    let server = Server::new();
    let large = post("/api/position", &"x".repeat(2 << 20));
    assert_eq!(server.send(large).await.0.as_u16(), 413);
    let announced = Request::post("/api/position")
        .header("host", "localhost")
        .header("content-length", "104857600")
        .body(Body::empty())
        .unwrap();
    assert_eq!(server.send(announced).await.0.as_u16(), 413);
    let limits = Limits { patience: Duration::from_millis(20), ..Limits::default() };
    let server = Server(app(WebSettings { limits, ..settings() }));
    let (_open, never) = tokio::sync::mpsc::channel::<Result<Vec<u8>, std::io::Error>>(1);
    let body = Body::from_stream(Never(never));
    let slow = Request::post("/api/position").header("host", "localhost").body(body).unwrap();
    assert_eq!(server.send(slow).await.0.as_u16(), 408);
}

/// A body of which nothing ever arrives.
struct Never(tokio::sync::mpsc::Receiver<Result<Vec<u8>, std::io::Error>>);

impl futures_core::Stream for Never {
    type Item = Result<Vec<u8>, std::io::Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_so_many_searches_and_gets_them_back() {
    let limits = Limits { per_client: 4, ..Limits::default() };
    let server = Server(app(WebSettings { limits, ..settings() }));
    let body = json!({ "place": { "game": "hex" }, "player": "scripted-mcts", "nodes": 100_000 }).to_string();
    let mut streams = Vec::new();
    for number in 0..200 {
        let response =
            tower::ServiceExt::oneshot(server.0.clone(), post("/api/search", &body)).await.unwrap();
        let expected = if number < 4 { 200 } else { 429 };
        assert_eq!(response.status().as_u16(), expected, "stream {number}");
        streams.push(response);
    }
    // Whoever leaves makes room, as soon as the search has heard of it.
    drop(streams);
    let again = json!({ "place": { "game": "connect4" }, "player": "random" }).to_string();
    for attempt in 0.. {
        let (status, text) = server.send(post("/api/choose", &again)).await;
        if status.is_success() {
            break;
        }
        assert!(status.as_u16() == 429 && attempt < 200, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
