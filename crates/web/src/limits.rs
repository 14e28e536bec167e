//! How much one client may use: bytes, seconds, searches.

use crate::{ApiError, App};
use axum::{
    body::{Body, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::Extensions,
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Limits on what one client may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Time for a request's body to arrive.
    pub patience: Duration,
    /// The longest a player may think.
    pub thinking: Duration,
    /// Searches, analyses and completions of one client at the same time.
    pub per_client: usize,
    /// The same of all clients together.
    pub in_all: usize,
    /// Connections at the same time.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            patience: Duration::from_secs(10),
            thinking: Duration::from_secs(60),
            per_client: 12,
            in_all: 32,
            connections: 512,
        }
    }
}

/// Counts what is under way.
pub(crate) struct Counter {
    pub(crate) limits: Limits,
    under_way: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Counter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, under_way: Arc::default() }
    }

    /// Room for one more search, until the permit is dropped.
    pub(crate) fn permit(&self, client: Client) -> Result<Permit, ApiError> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = under_way.values().sum();
        if total >= self.limits.in_all {
            return Err(ApiError::Busy(format!("{total} searches are under way; try again")));
        }
        let own = under_way.entry(client.0).or_default();
        if *own >= self.limits.per_client {
            return Err(ApiError::Busy(format!("you have {own} searches under way; try again")));
        }
        *own += 1;
        Ok(Permit { client, under_way: Arc::clone(&self.under_way) })
    }
}

/// A search under way; it travels with the work, not with the request.
pub(crate) struct Permit {
    client: Client,
    under_way: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = under_way.get_mut(&self.client.0) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                under_way.remove(&self.client.0);
            }
        }
    }
}

/// A client, identified by its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client(IpAddr);

impl Client {
    /// Without a socket, as in tests, all requests come from loopback.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let address = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        Self(address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }
}

/// Reads the body before any handler runs, within the limits of size and time.
pub(crate) async fn bound_body(State(app): State<App>, request: Request, next: Next) -> Response {
    let Limits { body: most, patience, .. } = app.limits.limits;
    let (parts, body) = request.into_parts();
    let too_large = || ApiError::TooLarge(most).into_response();
    let announced =
        parts.headers.get("content-length").and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return too_large();
    }
    match tokio::time::timeout(patience, to_bytes(body, most)).await {
        Err(_) => ApiError::Slow.into_response(),
        Ok(Err(_)) => too_large(),
        Ok(Ok(bytes)) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
    }
}
