//! Several servers behind one door: the least busy is asked, a lost one rests and is tried again.

use super::{
    connections::{self, Connections},
    wire::{Completion, CompletionRequest},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{AUTHORIZATION, CONTENT_TYPE},
    http::uri::Scheme,
};
use mavis_eval::EvalError;
use std::{
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// How long a server rests after its first failure; each further one doubles it.
const FIRST_REST: Duration = Duration::from_millis(200);
/// No server rests longer.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// An answer larger than this is none.
const LARGEST_ANSWER: usize = 16 << 20;

/// Where servers are and how patient to be with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerSettings {
    /// Addresses such as `http://127.0.0.1:8080` or `https://models.example.org`; the path to the completions is added where it is missing.
    pub addresses: Vec<String>,
    /// The longest an answer may take.
    pub patience: Duration,
    /// How often a failed request is tried again, beyond one try for each server.
    pub retries: u32,
    /// Sent as a bearer token; `None` for servers without one.
    pub key: Option<String>,
    /// A PEM file of authorities to trust besides the system's, for https; `None` means the system's alone.
    pub ca: Option<PathBuf>,
}

impl ServerSettings {
    /// Servers at these addresses with half a minute of patience and three retries.
    #[must_use]
    pub fn at(addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(|&address| address.to_owned()).collect();
        Self { addresses, patience: Duration::from_secs(30), retries: 3, key: None, ca: None }
    }
}

/// Servers that cannot be asked at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoteError {
    /// No address.
    #[error("no server given (expected http://HOST:PORT or https://HOST)")]
    NoServer,
    /// An address that is none.
    #[error("bad server address '{address}': {reason}")]
    Address {
        /// The address as given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No server can be trusted.
    #[error("certificates: {0}")]
    Certificates(String),
}

/// The servers, and the connections to them that are kept open.
pub(super) struct Servers {
    client: Connections,
    servers: Vec<Server>,
    settings: ServerSettings,
    /// Where the next choice among equals begins.
    turn: AtomicUsize,
}

struct Server {
    uri: Uri,
    in_flight: AtomicUsize,
    health: Mutex<Health>,
}

/// How a server does.
#[derive(Clone, Copy, Default)]
struct Health {
    /// Failures since its last answer.
    failures: u32,
    /// It is left alone until then.
    resting: Option<Instant>,
}

/// Why a server gave no completion.
enum Fault {
    /// It is there and will not answer this.
    Refused(String),
    /// It is not there, or in trouble.
    Lost(String),
}

/// Counts a request for as long as it is under way, also if it is dropped.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Servers {
    pub(super) fn new(settings: ServerSettings) -> Result<Self, RemoteError> {
        let servers: Vec<Server> =
            settings.addresses.iter().map(|address| Server::at(address)).collect::<Result<_, _>>()?;
        if servers.is_empty() {
            return Err(RemoteError::NoServer);
        }
        let secure = servers.iter().any(|server| server.uri.scheme() == Some(&Scheme::HTTPS));
        let client = connections::open(&settings, secure)?;
        Ok(Self { client, servers, settings, turn: AtomicUsize::new(0) })
    }

    /// A completion from whichever server gives one.
    pub(super) async fn complete(&self, request: &CompletionRequest) -> Result<Completion, EvalError> {
        let failed = |reason: String| EvalError::Failed(reason);
        let body = Bytes::from(serde_json::to_vec(request).map_err(|error| failed(error.to_string()))?);
        let mut last = String::new();
        // Several servers that die together must not use up the retries while others are well.
        let tries = self.servers.len().saturating_add(self.settings.retries as usize);
        for _ in 0..tries {
            let server = self.pick().await;
            let busy = Busy::new(&server.in_flight);
            let answer = tokio::time::timeout(self.settings.patience, self.post(server, body.clone())).await;
            drop(busy);
            match answer {
                Ok(Ok(completion)) => {
                    *server.health() = Health::default();
                    return Ok(completion);
                }
                Ok(Err(Fault::Refused(reason))) => {
                    *server.health() = Health::default();
                    return Err(failed(format!("{}: {reason}", server.uri)));
                }
                Ok(Err(Fault::Lost(reason))) => last = format!("{}: {reason}", server.uri),
                Err(_) => last = format!("{}: no answer within {:?}", server.uri, self.settings.patience),
            }
            server.rest();
        }
        Err(failed(last))
    }

    /// The least busy server that is not resting, in turn among equals; when all rest, the first that is up again. One that
    /// has failed gets a single request at a time until it answers, where another server can take the rest.
    async fn pick(&self) -> &Server {
        loop {
            let now = Instant::now();
            let first = self.turn.fetch_add(1, Ordering::Relaxed);
            let n_servers = self.servers.len();
            let in_turn = self.servers.iter().cycle().skip(first % n_servers.max(1)).take(n_servers);
            let awake = in_turn.clone().filter(|server| server.resting(now).is_none());
            if let Some(server) = awake.min_by_key(|server| server.load()) {
                return server;
            }
            let next = in_turn.filter_map(|server| server.resting(now)).min();
            tokio::time::sleep_until(next.unwrap_or(now)).await;
        }
    }

    async fn post(&self, server: &Server, body: Bytes) -> Result<Completion, Fault> {
        let lost = |error: &dyn std::error::Error| Fault::Lost(chain(error));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(server.uri.clone())
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.settings.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::new(body)).map_err(|error| Fault::Refused(error.to_string()))?;
        let response = self.client.request(request).await.map_err(|error| lost(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await;
        let body = body.map_err(|error| Fault::Lost(error.to_string()))?.to_bytes();
        if !status.is_success() {
            let reason = format!("{status} {}", start_of(&body));
            let passing = status.is_server_error()
                || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
            return Err(if passing { Fault::Lost(reason) } else { Fault::Refused(reason) });
        }
        serde_json::from_slice(&body)
            .map_err(|error| Fault::Lost(format!("no completion ({error}): {}", start_of(&body))))
    }
}

impl Server {
    fn at(address: &str) -> Result<Self, RemoteError> {
        let bad = |reason: String| RemoteError::Address { address: address.to_owned(), reason };
        let (place, query) = address.split_once('?').map_or((address, None), |(a, b)| (a, Some(b)));
        let mut full = place.trim_end_matches('/').to_owned();
        if !full.ends_with("/completions") {
            full.push_str(if full.ends_with("/v1") { "/completions" } else { "/v1/completions" });
        }
        if let Some(query) = query {
            full = format!("{full}?{query}");
        }
        let expected = || bad("expected http://HOST:PORT or https://HOST".into());
        let uri: Uri = full.parse().map_err(|_| expected())?;
        let known = uri.scheme().is_some_and(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
        if !known || uri.host().is_none_or(str::is_empty) {
            return Err(expected());
        }
        Ok(Self { uri, in_flight: AtomicUsize::new(0), health: Mutex::default() })
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How little the server should be asked: first whether it still has to show that it is back, then how busy it is.
    fn load(&self) -> (bool, usize) {
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        (in_flight > 0 && self.health().failures > 0, in_flight)
    }

    /// Until when the server rests, if it does.
    fn resting(&self, now: Instant) -> Option<Instant> {
        self.health().resting.filter(|&until| until > now)
    }

    /// Leaves the server alone for a while. Requests that were under way together fail together and count once.
    fn rest(&self) {
        let now = Instant::now();
        let mut health = self.health();
        if health.resting.is_some_and(|until| until > now) {
            return;
        }
        let rest = FIRST_REST * 2_u32.pow(health.failures.min(8));
        *health = Health { failures: health.failures + 1, resting: Some(now + rest.min(LONGEST_REST)) };
    }
}

/// An error with its causes, which say more than it does.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The first line of an answer that is none, for people.
fn start_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..400).unwrap_or(body));
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_their_path_and_bad_ones_are_named() {
        for (address, full) in [
            ("http://h:8080", "http://h:8080/v1/completions"),
            ("http://h/v1/", "http://h/v1/completions"),
            ("http://h/api/completions", "http://h/api/completions"),
            ("https://h", "https://h/v1/completions"),
            ("http://h/v1?a=b", "http://h/v1/completions?a=b"),
        ] {
            assert_eq!(Server::at(address).ok().unwrap().uri.to_string(), full);
        }
        for (address, fault) in [("ftp://h", "expected"), ("h:8080", "expected"), ("", ""), ("http://", "")] {
            let error = Server::at(address).err().unwrap().to_string();
            assert!(error.contains(fault), "{error}");
        }
        assert_eq!(Servers::new(ServerSettings::at(&[])).err(), Some(RemoteError::NoServer));
    }

    #[tokio::test]
    async fn the_least_busy_is_asked_and_a_lost_one_rests() {
        let servers = Servers::new(ServerSettings::at(&["http://a", "http://b"])).unwrap();
        let host = |server: &Server| server.uri.host().unwrap().to_owned();
        let first = servers.pick().await;
        let busy = Busy::new(&first.in_flight);
        let second = servers.pick().await;
        assert_ne!(host(first), host(second));
        drop(busy);
        first.rest();
        assert_eq!(host(servers.pick().await), host(second));
        second.rest();
        second.rest();
        assert!(
            [first, second].iter().all(|server| server.health().failures == 1),
            "together they count once"
        );
        // The wait is over when one of them is up again, and until that one answers it gets one request.
        let now = Instant::now();
        let next = servers.pick().await;
        assert!(next.resting(now).is_some() && next.resting(Instant::now()).is_none());
        let other = [first, second].into_iter().find(|server| host(server) != host(next)).unwrap();
        *other.health() = Health::default();
        let (_asked, _busy) =
            (Busy::new(&next.in_flight), [Busy::new(&other.in_flight), Busy::new(&other.in_flight)]);
        assert_eq!(host(servers.pick().await), host(other));
        *next.health() = Health::default();
        assert_eq!(host(servers.pick().await), host(next));
    }
}
