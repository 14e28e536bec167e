//! Training, decoding and exchange of models. One binary, since every binary is linked, and its generic code compiled, by itself.

mod agreement;
mod decoding;
mod interchange;
mod learning;
mod mixture;
mod predictor;
mod traces;
