//! The implementation on NVIDIA GPUs: bf16 matrix products with f32 sums by cuBLASLt, our own kernels compiled by NVRTC at
//! start, f32 master weights, and the step recorded as a CUDA graph.
//!
//! Libraries are loaded at run time: this builds without CUDA, and a missing driver, cuBLASLt or NVRTC is an error that says so.
//! Kernels live in `kernels/*.cu` and are compiled for the network's shape. Results are the same from run to run except for the
//! gradients of the embedding and of query and key gains, whose last bits depend on the order of atomic additions.
#![expect(unsafe_code, reason = "the driver's interface is raw pointers; each block says why it is sound")]

use cudarc::{cublaslt, driver, nvrtc};

use crate::error::NetError;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

mod backward;
pub mod bench;
mod blas;
// Not part of the library: what the example `cuda_check` is made of, which needs the insides of this module.
#[cfg(any(test, feature = "cuda-check"))]
#[doc(hidden)]
pub mod check;
mod conv_net;
mod conv_pass;
mod decoder;
mod gpu;
mod in_flight;
mod memory;
mod nccl;
mod network;
mod op;
mod optimizer;
mod pack;
mod pages;
mod program;
mod rows;
mod spans;
mod trainer;

pub use conv_net::CudaConvNet;
pub use decoder::{CudaDecoder, CudaDecoderOptions, PassMode};
pub use nccl::NcclRank;
pub(crate) use nccl::gpu_of;
pub use trainer::{CudaOptions, CudaTrainer};

/// Looks for the libraries that are loaded at run time, and for a GPU.
///
/// # Errors
/// Says which is missing, and what to do.
pub fn available() -> Result<(), NetError> {
    // SAFETY: these only look for libraries; cudarc panics later when one is missing.
    let found = unsafe {
        [driver::sys::is_culib_present(), cublaslt::sys::is_culib_present(), nvrtc::sys::is_culib_present()]
    };
    let missing = match found {
        [false, ..] => {
            "no CUDA driver: libcuda.so.1 is not found (no NVIDIA GPU, or its driver's folder is not in LD_LIBRARY_PATH)"
        }
        [_, false, _] => "libcublasLt is not found; put the folder of CUDA's libraries in LD_LIBRARY_PATH",
        [_, _, false] => "libnvrtc is not found; put the folder of CUDA's libraries in LD_LIBRARY_PATH",
        _ => match driver::CudaContext::device_count() {
            Ok(1..) => return Ok(()),
            _ => "no NVIDIA GPU is found, though its driver's library is",
        },
    };
    Err(NetError::Device(missing.into()))
}

/// Whether this process has opened a GPU, so that exit handlers of CUDA's libraries are installed.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Ends the process at once if it has opened a GPU.
pub(crate) fn exit_if_open(code: u8) {
    unsafe extern "C" {
        safe fn _exit(code: c_int) -> !;
    }
    if IS_OPEN.load(Ordering::Acquire) {
        _exit(c_int::from(code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptimizerSettings, TrainState, TransformerConfig, initial_parameters};

    #[test]
    fn a_missing_library_is_an_error_that_says_so() {
        let Err(error) = available() else { return };
        assert!(error.to_string().contains("found"), "{error}");
        let config = TransformerConfig::tiny();
        let state = TrainState::new(initial_parameters(&config).unwrap());
        let options = CudaOptions::for_tokens(512);
        let refused = CudaTrainer::new(config, &OptimizerSettings::default(), &state, &options);
        assert_eq!(refused.err().map(|error| error.to_string()), Some(error.to_string()));
    }
}
