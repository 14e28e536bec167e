//! A server with the bundled model, and requests to it.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use http_body_util::BodyExt as _;
use mavis_model::MavModel;
use mavis_play::{Registry, add_engines, add_models, add_mpc, add_oracles, add_scripted, add_servers};
use mavis_web::{Limits, Policy, WebSettings, app};
use serde_json::Value;
use tower::ServiceExt as _;

/// The model that ships, as the program bundles it.
pub(crate) fn model() -> Result<MavModel, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mavis-9m.safetensors");
    MavModel::load(path.as_ref()).map_err(|error| error.to_string())
}

pub(crate) fn settings() -> WebSettings {
    let mut registry = Registry::basic();
    add_oracles(&mut registry, None);
    add_engines(&mut registry, Some("/usr/bin:/bin:/usr/games".into()));
    add_models(&mut registry, model);
    add_servers(&mut registry, None);
    add_scripted(&mut registry);
    add_mpc(&mut registry);
    WebSettings {
        registry,
        model,
        policy: Policy::default(),
        limits: Limits::default(),
        hosts: vec!["localhost".to_owned()],
        folders: Vec::new(),
        queue: None,
        token: None,
    }
}

pub(crate) struct Server(pub(crate) Router);

impl Server {
    pub(crate) fn new() -> Self {
        Self(app(settings()))
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, String) {
        let response = self.0.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// A POST with a JSON body, which must succeed.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, text) = self.send(post(path, &body.to_string())).await;
        assert_eq!(status, StatusCode::OK, "{path} {body}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// A POST that must fail with a status; the message comes back.
    pub(crate) async fn refuse(&self, path: &str, body: &str, status: u16) -> String {
        let (got, text) = self.send(post(path, body)).await;
        assert_eq!(got.as_u16(), status, "{path} {body}: {text}");
        let fault: Value = serde_json::from_str(&text).unwrap();
        fault["error"]["message"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn post(path: &str, body: &str) -> Request<Body> {
    Request::post(path)
        .header("host", "localhost:7117")
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

pub(crate) fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "127.0.0.1:7117").body(Body::empty()).unwrap()
}
