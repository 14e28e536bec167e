//! Stored trees, and trees as data. One binary, since every binary is linked, and its generic code compiled, by itself.

mod golden;
mod listing;
mod wire;
