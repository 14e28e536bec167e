//! Players against engines, servers and each other. One binary, since every binary is linked, and its generic code compiled, by itself.

mod broken;
mod engines;
mod internal;
mod mpc;
mod remote_peers;
mod repeat;
mod views;
