//! One module for each group of paths.

pub(crate) mod completions;
pub(crate) mod info;
pub(crate) mod position;
pub(crate) mod search;
pub(crate) mod studies;
pub(crate) mod think;

use crate::ApiError;
use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
};
use serde::de::DeserializeOwned;

/// A JSON body, with a fault of ours where it does not parse.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let parsed: Result<Json<T>, JsonRejection> = Json::from_request(request, state).await;
        parsed.map(|Json(value)| Self(value)).map_err(|error| ApiError::Bad(error.body_text()))
    }
}
