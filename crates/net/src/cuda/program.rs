//! Compiling the kernels of a network for its shape.

use std::ffi::CString;

use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};

use super::spans;
use crate::config::{NormKind, NormPlacement, TransformerConfig};
use crate::error::NetError;

/// What is compiled for one kind of network.
pub(super) struct Kernels {
    source: &'static str,
    /// Entry points.
    pub(super) names: Vec<&'static str>,
    /// Macros of the shape.
    shape: Vec<(&'static str, usize)>,
}

impl Kernels {
    /// Those of a transformer, compiled for its shape.
    pub(super) fn transformer(config: &TransformerConfig) -> Self {
        let shape = vec![
            ("D", config.d_model),
            ("FF", config.d_ff),
            ("V", config.n_outputs()),
            ("NH", config.n_heads),
            ("HD", config.head_dim()),
            ("QKNORM", usize::from(config.qk_norm)),
            ("LAYERNORM", usize::from(config.variant.norm == NormKind::Layer)),
            ("POSTNORM", usize::from(config.variant.placement == NormPlacement::Post)),
        ];
        let names = TRANSFORMER_KERNELS.into_iter().chain(spans::kernels(config)).collect();
        Self { source: TRANSFORMER, names, shape }
    }

    /// Those of small nets over boards, which take their shapes as arguments.
    pub(super) fn conv() -> Self {
        Self { source: CONV, names: CONV_KERNELS.to_vec(), shape: Vec::new() }
    }
}

/// All kernels of a transformer as one program; the order matters, each file uses those before it.
const TRANSFORMER: &str = concat!(
    include_str!("kernels/prelude.cu"),
    include_str!("kernels/norm.cu"),
    include_str!("kernels/encoder.cu"),
    include_str!("kernels/mlp.cu"),
    include_str!("kernels/attention.cu"),
    include_str!("kernels/attention_bwd.cu"),
    include_str!("kernels/attention_short.cu"),
    include_str!("kernels/loss.cu"),
    include_str!("kernels/optimizer.cu"),
);

/// All kernels of small nets.
const CONV: &str = concat!(
    include_str!("kernels/prelude.cu"),
    include_str!("kernels/conv.cu"),
    include_str!("kernels/optimizer.cu"),
);

const CONV_KERNELS: [&str; 16] = [
    "conv_fwd",
    "conv_dgrad",
    "conv_wgrad",
    "conv_reduce",
    "conv_act",
    "conv_act_bwd",
    "conv_mse",
    "conv_ce",
    "square_sum",
    "tick",
    "adamw",
    "muon_momentum",
    "muon_normalize",
    "muon_apply",
    "to_bf16",
    "fill_noise",
];

const TRANSFORMER_KERNELS: [&str; 26] = [
    "embed_norm",
    "embed_learned_norm",
    "norm_rows",
    "gather_norm",
    "norm_bwd",
    "scatter_norm_bwd",
    "gain_reduce",
    "embed_bwd",
    "swiglu_fwd",
    "swiglu_bwd",
    "rotate_qk",
    "attention_fwd",
    "attention_paged",
    "store_pages",
    "attention_bwd_q",
    "attention_bwd_kv",
    "cross_entropy",
    "brief_rows",
    "square_sum",
    "tick",
    "adamw",
    "muon_momentum",
    "muon_normalize",
    "muon_apply",
    "to_bf16",
    "fill_noise",
];

/// Machine code for one shape and one kind of GPU.
pub(super) struct Program {
    /// The cubin.
    pub(super) image: Vec<u8>,
    /// What the assembler said: registers and spills of each kernel.
    pub(super) log: String,
}

impl Program {
    /// Compiles for compute capability `major.minor`; needs NVRTC, but no GPU.
    pub(super) fn compile(kernels: &Kernels, capability: (i32, i32)) -> Result<Self, NetError> {
        // SAFETY: only looks for the library.
        if !unsafe { nvrtc_sys::is_culib_present() } {
            return Err(NetError::Device(
                "libnvrtc is not found; put the folder of CUDA's libraries in LD_LIBRARY_PATH".into(),
            ));
        }
        let fail =
            |what: &str, error: nvrtc::NvrtcError| NetError::Device(format!("NVRTC, {what}: {error:?}"));
        let source = CString::new(kernels.source).map_err(|error| NetError::Device(error.to_string()))?;
        let program =
            nvrtc::create_program(&source, Some(c"mavis.cu")).map_err(|error| fail("create", error))?;
        let mut options: Vec<String> = vec![
            format!("--gpu-architecture=sm_{}{}", capability.0, capability.1),
            "--std=c++17".into(),
            "--ptxas-options=-v".into(),
        ];
        options.extend(kernels.shape.iter().map(|(name, value)| format!("-D{name}={value}")));
        // SAFETY: the program was created above and is destroyed below.
        let compiled = unsafe { nvrtc::compile_program(program, &options) };
        // SAFETY: as above.
        let log = unsafe { nvrtc::get_program_log(program) }
            .map(|text| text.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect::<String>())
            .unwrap_or_default();
        let mut image = Vec::new();
        let mut read = || -> Result<(), nvrtc::NvrtcError> {
            compiled?;
            let mut size = 0;
            // SAFETY: the program is compiled; the buffer has the size NVRTC asks for.
            unsafe {
                nvrtc_sys::nvrtcGetCUBINSize(program, &mut size).result()?;
                image = vec![0; size];
                nvrtc_sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()
            }
        };
        let outcome = read();
        // SAFETY: created above, not used after this.
        let destroyed = unsafe { nvrtc::destroy_program(program) };
        outcome.map_err(|error| NetError::Device(format!("NVRTC: {error:?}\n{log}")))?;
        destroyed.map_err(|error| fail("destroy", error))?;
        Ok(Self { image, log })
    }

    /// Kernels that spill registers to memory, with the bytes.
    pub(super) fn spills(&self) -> Vec<String> {
        let mut name = "";
        let mut spills = Vec::new();
        for line in self.log.lines() {
            if line.contains("Compiling entry function") {
                name = line.split('\'').nth(1).unwrap_or("");
            }
            let bytes = line.split(" bytes spill stores").next().and_then(|head| head.split(' ').next_back());
            if let Some(bytes) = bytes.filter(|bytes| line.contains("spill stores") && *bytes != "0") {
                spills.push(format!("{name} {bytes}"));
            }
        }
        spills
    }
}
