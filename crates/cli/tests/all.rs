//! The program through its real binary, and what others make of its files and protocols. One binary, since every binary is linked, and its generic code compiled, by itself.

mod analyze;
mod data;
mod documents;
mod eval;
mod gtp;
mod internal;
mod league;
mod mcp;
mod model;
mod mpc;
mod peers;
mod predictor;
mod probs;
mod processes;
mod program;
mod serve;
mod server_peers;
mod support;
mod terminal;
mod train;
mod training;
mod tree;
mod uci;
mod workspace;
