//! The implementation on NVIDIA GPUs: bf16 matrix products with f32 sums by cuBLASLt, our own kernels compiled by NVRTC at
//! start, f32 master weights, and the step recorded as a CUDA graph.
//!
//! Libraries are loaded at run time: this builds without CUDA, and a missing driver, cuBLASLt or NVRTC is an error that says so.
//! Kernels live in `kernels/*.cu` and are compiled for the network's shape. Results are the same from run to run except for the
//! gradients of the embedding and of query and key gains, whose last bits depend on the order of atomic additions.
#![expect(unsafe_code, reason = "the driver's interface is raw pointers; each block says why it is sound")]

mod backward;
mod blas;
pub mod check;
mod decoder;
mod device;
mod memory;
mod network;
mod op;
mod optimizer;
mod pack;
mod pages;
mod program;
mod trainer;

pub use decoder::{CudaDecoder, CudaDecoderOptions};
pub use trainer::{CudaOptions, CudaTrainer};
