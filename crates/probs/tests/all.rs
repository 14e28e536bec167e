//! PROBS on small boards: runs that are killed, games that are solved. One binary, since every binary is linked, and its generic code compiled, by itself.

mod anchors;
mod runs;
mod solved_game;
