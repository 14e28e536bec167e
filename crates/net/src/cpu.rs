//! The implementation on CPU: f32, matrix products by `gemm`, loops that the compiler turns into vector code, threads by rayon.
//!
//! Sums run in a fixed order that does not depend on which thread does what, so the same seed gives the same training run.

mod activation;
pub(crate) mod attention;
mod attention_backward;
mod attention_layer;
mod backward;
mod cached_attention;
mod conv;
mod conv_board;
mod conv_lanes;
mod conv_net;
mod conv_pass;
mod decoder;
mod forward;
mod inference;
mod kv_cache;
pub(crate) mod loss;
pub(crate) mod matmul;
mod muon;
mod narrow;
pub(crate) mod norm;
mod packed;
mod pieces;
mod rotary;
pub(crate) mod scalar;
mod swiglu;
mod tile512;
mod trainer;
pub(crate) mod update;

pub use conv_net::CpuConvNet;
pub use decoder::CpuDecoder;
pub use scalar::softmax;
pub use trainer::CpuTrainer;
