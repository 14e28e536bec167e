//! When a search has to end before its budget is used up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// A flag that ends a search from another thread or task; clones share it.
#[derive(Clone, Default, Debug)]
pub struct Cancel(Arc<Flag>);

#[derive(Default, Debug)]
struct Flag {
    raised: AtomicBool,
    waiting: Notify,
}

impl Cancel {
    /// A token nobody has cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every search that holds this token to end with what it has.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }

    /// Waits until [`Cancel::cancel`] is called.
    pub async fn cancelled(&self) {
        let notified = self.0.waiting.notified();
        tokio::pin!(notified);
        // Listening begins before the flag is read, so that a call in between is not missed.
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}

/// The outer limits of one search: a moment and a token. The budget in simulations is part of a search's settings.
#[derive(Clone, Default, Debug)]
pub struct Stop {
    /// The moment to end at; `None` means no limit.
    pub deadline: Option<Instant>,
    /// The token that ends the search early.
    pub cancel: Cancel,
}

impl Stop {
    /// No deadline and a token nobody else holds.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// Ends after `time` from now.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self { deadline: now().checked_add(time), cancel: Cancel::new() }
    }

    /// Ends when `cancel` is cancelled.
    #[must_use]
    pub fn on(cancel: &Cancel) -> Self {
        Self { deadline: None, cancel: cancel.clone() }
    }

    /// The same with another token.
    #[must_use]
    pub fn with_cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// The same, but no later than `time` from now; `None` changes nothing.
    #[must_use]
    pub fn within(mut self, time: Option<Duration>) -> Self {
        let limit = time.and_then(|time| now().checked_add(time));
        self.deadline = match (self.deadline, limit) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self
    }

    /// Whether it is time to end. Reads the clock only when there is a deadline.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| now() >= deadline)
    }

    /// Waits until it is time to end.
    pub async fn due(&self) {
        match self.deadline {
            None => self.cancel.cancelled().await,
            Some(deadline) => tokio::select! {
                () = self.cancel.cancelled() => {}
                () = tokio::time::sleep_until(deadline.into()) => {}
            },
        }
    }
}

/// The moment by the clock that timers go by, which is the system's unless a test has paused it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
