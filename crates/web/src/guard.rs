//! Who may ask: the names we are addressed by, the pages requests may come from, and the token.
//!
//! A page of another site can send requests to loopback, and by rebinding its own name to 127.0.0.1 it can also read
//! the answers. The first carries a foreign Origin, the second a foreign Host, so both are refused.

use crate::{ApiError, App};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::net::IpAddr;

/// The cookie that carries the token for the page.
const COOKIE: &str = "mavis_token";

/// Refuses requests from elsewhere, and adds headers that every answer has.
pub(crate) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let by_query = match admit(&app, &request) {
        Ok(by_query) => by_query,
        Err(error) => return error.into_response(),
    };
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(token) = by_query
        && let Ok(cookie) =
            HeaderValue::from_str(&format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"))
    {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The token if it came in the address and should be kept in a cookie.
fn admit(app: &App, request: &Request) -> Result<Option<String>, ApiError> {
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = text(header::HOST).or_else(|| request.uri().host());
    if !host.is_some_and(|host| is_ours(&app.hosts, app.token.is_some(), host)) {
        return Err(ApiError::Forbidden(format!("the host '{}' is not this server's", host.unwrap_or(""))));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        // A page of ours has the very address it was loaded from, port included.
        if authority.is_none() || authority != host {
            return Err(ApiError::Forbidden(format!("requests from '{origin}' are not accepted")));
        }
    }
    let is_page = !request.uri().path().starts_with("/api/") && !request.uri().path().starts_with("/v1/");
    if text(header::HeaderName::from_static("sec-fetch-site")) == Some("cross-site") && !is_page {
        return Err(ApiError::Forbidden("requests from other sites are not accepted".to_owned()));
    }
    let Some(token) = &app.token else { return Ok(None) };
    let query = request.uri().query().unwrap_or_default();
    let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    if given.is_some_and(|given| same(given, token)) {
        return Ok(Some(token.clone()));
    }
    if bearer(headers).or_else(|| cookie(headers)).is_some_and(|given| same(given, token)) {
        return Ok(None);
    }
    Err(ApiError::Forbidden("a token is needed: open the address that the program printed".to_owned()))
}

/// Whether a Host header names us; the port does not matter, since a tunnel may change it.
///
/// Rebinding needs a name, so addresses are safe: those of loopback always, others where a token is needed.
fn is_ours(hosts: &[String], has_token: bool, host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
    address.is_some_and(|address| address.is_loopback() || has_token)
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    cookies.split(';').find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// Compares in a time that does not depend on where two tokens differ.
fn same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
