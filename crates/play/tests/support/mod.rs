//! What the tests of this crate share.

pub(crate) mod server;
pub(crate) mod tls;
