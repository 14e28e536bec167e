//! The trait.

use crate::{EvalError, Reply, Request};
use std::{future::Future, pin::Pin, sync::Arc};

/// Replies under way, one for each request, in their order. Dropping it cancels the work.
pub type Replies = Pin<Box<dyn Future<Output = Vec<Reply>> + Send>>;

/// Anything that can say what moves are worth.
///
/// Implementations answer every request, in order; trouble is part of the reply. The future does not borrow the
/// evaluator, so that a search can keep many of them.
pub trait Evaluator: Send + Sync {
    /// Begins to answer a batch.
    fn evaluate(&self, requests: Vec<Request>) -> Replies;

    /// What it is, in a few words, for reports.
    fn describe(&self) -> String;

    /// Answers one request.
    fn evaluate_one(&self, request: Request) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        let replies = self.evaluate(vec![request]);
        Box::pin(async move {
            replies.await.pop().unwrap_or_else(|| Err(EvalError::Failed("no reply to a request".to_owned())))
        })
    }
}

/// Replies that are there already.
#[must_use]
pub fn ready(replies: Vec<Reply>) -> Replies {
    Box::pin(std::future::ready(replies))
}

impl<E: Evaluator + ?Sized> Evaluator for Arc<E> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        (**self).evaluate(requests)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        (**self).evaluate(requests)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}
