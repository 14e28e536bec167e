//! Networks against saved references of PyTorch, whole passes and their own checkpoints. One binary, since every binary is linked, and its generic code compiled, by itself.

mod checkpoints;
mod conv_nets;
mod decoding;
mod reference;
mod training;
