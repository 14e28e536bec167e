//! Errors as HTTP answers.

use crate::wire::Fault;
use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

/// Why a request was not served. The text says what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request itself: a malformed body, an unknown game, an illegal move, a bad player line.
    #[error("{0}")]
    Bad(String),
    /// A Host, Origin or token that is not ours.
    #[error("{0}")]
    Forbidden(String),
    /// A player that the command line did not allow.
    #[error("{0}")]
    NotAllowed(String),
    /// A path that does not exist.
    #[error("nothing at {0}")]
    NotFound(String),
    /// A path that exists, asked in another way.
    #[error("this path does not take {0}")]
    Method(String),
    /// A body beyond the limit.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// A client that sends too slowly.
    #[error("the body did not arrive in time")]
    Slow,
    /// A client or the server with too many searches under way.
    #[error("{0}")]
    Busy(String),
    /// A player that did not end in time.
    #[error("the player did not answer in time")]
    Timeout,
    /// A player or model that failed.
    #[error("{0}")]
    Failed(String),
}

impl ApiError {
    /// Input that cannot be used.
    pub(crate) fn bad(reason: impl std::fmt::Display) -> Self {
        Self::Bad(reason.to_string())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Forbidden(_) | Self::NotAllowed(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Failed(_) => StatusCode::BAD_GATEWAY,
        }
    }

    /// The body of the answer. OpenAI's clients read `error.message`.
    pub(crate) fn fault(&self) -> Fault {
        Fault::new(self.status().as_u16(), self.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.fault())).into_response();
        if matches!(self, Self::Busy(_)) {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

/// The answer to a known path asked with another method.
pub(crate) async fn method_not_allowed(method: axum::http::Method) -> ApiError {
    ApiError::Method(method.to_string())
}
