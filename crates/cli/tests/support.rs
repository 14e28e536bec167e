//! What several tests need.

pub(crate) mod nonsense;
pub(crate) mod pty;
pub(crate) mod server;
