//! Rules against published counts, game records and properties. One binary, since every binary is linked, and its generic code compiled, by itself.

mod chess_perft;
mod chess_replay;
mod connect4_replay;
mod hex_replay;
mod othello_replay;
mod parsers;
mod predecessors;
mod properties;
mod togyz_replay;
