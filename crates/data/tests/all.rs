//! Tables of games, positions, annotations and traces in fresh folders. One binary, since every binary is linked, and its generic code compiled, by itself.

mod annotate;
mod import;
mod reshape;
mod selfplay;
mod support;
mod tables;
mod traces;
