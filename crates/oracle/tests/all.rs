//! Oracles against published solutions. One binary, since every binary is linked, and its generic code compiled, by itself.

mod connect4;
mod hex;
mod othello;
mod perfect_search;
mod syzygy;
mod togyz;
