//! Where to compute.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::all_reduce::{AllReduce, SocketRank};
use crate::config::TransformerConfig;
use crate::conv_net::{ConvNet, ConvNetConfig};
use crate::cpu::{CpuConvNet, CpuDecoder, CpuTrainer};
use crate::decoder::{Decoder, Precision};
use crate::error::NetError;
use crate::optimizer::OptimizerSettings;
use crate::ranked::RankedTrainer;
use crate::trainer::{TrainState, Trainer};

/// Where to compute. Callers use the same traits for every backend, so this is the one place where it is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU; needs the feature `cuda`.
    Cuda,
    /// A GPU where this build and this machine have one, else the processor.
    Auto,
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device '{0}' (known: cpu cuda auto)")]
pub struct UnknownDevice(String);

impl Device {
    /// What this machine makes of it: [`Device::Cpu`] or [`Device::Cuda`].
    ///
    /// # Errors
    /// When CUDA is asked for and this build or this machine has none; says which, and what to do.
    pub fn resolved(self) -> Result<Self, NetError> {
        match (self, cuda_available()) {
            (Self::Cpu, _) => Ok(Self::Cpu),
            (Self::Cuda, found) => found.map(|()| Self::Cuda),
            (Self::Auto, found) => Ok(if found.is_ok() { Self::Cuda } else { Self::Cpu }),
        }
    }

    /// A decoder of a flat parameter buffer. On a GPU weights are bf16; 8 bits are served on the processor only, which `auto` then chooses.
    ///
    /// # Errors
    /// As [`resolved`](Self::resolved), and when the shape or the buffer is refused.
    pub fn decoder(
        self,
        config: &TransformerConfig,
        parameters: &[f32],
        precision: Precision,
    ) -> Result<Box<dyn Decoder>, NetError> {
        let device = match (self, precision) {
            (Self::Auto, Precision::Int8) => Self::Cpu,
            (Self::Cuda, Precision::Int8) => {
                return Err(NetError::Device("weights in 8 bits are served on the processor only".into()));
            }
            _ => self.resolved()?,
        };
        self.on(
            device,
            || cuda_decoder(config, parameters),
            || Ok(Box::new(CpuDecoder::new(config.clone(), parameters, precision)?)),
        )
    }

    /// A trainer that continues from a state, for batches of up to `max_tokens` tokens; with `ranks` it computes its share of each.
    ///
    /// # Errors
    /// As [`resolved`](Self::resolved), and when the shape or the state is refused.
    pub fn trainer(
        self,
        config: TransformerConfig,
        optimizer: OptimizerSettings,
        state: TrainState,
        max_tokens: usize,
        ranks: Option<Arc<dyn AllReduce>>,
    ) -> Result<Box<dyn Trainer>, NetError> {
        let rank = ranks.as_ref().map_or(0, |ranks| ranks.rank());
        let alone: Box<dyn Trainer> = self.on(
            self.resolved()?,
            || cuda_trainer(&config, &optimizer, &state, (max_tokens, rank)),
            || Ok(Box::new(CpuTrainer::new(config.clone(), optimizer.clone(), state.clone())?)),
        )?;
        Ok(match ranks {
            Some(ranks) => Box::new(RankedTrainer::new(alone, ranks)),
            None => alone,
        })
    }

    /// How ranks that have met sum their gradients: in host memory through the sockets, or by NCCL between their GPUs.
    ///
    /// # Errors
    /// As [`resolved`](Self::resolved), and when NCCL is missing or fails.
    pub fn ranks(self, met: SocketRank) -> Result<Arc<dyn AllReduce>, NetError> {
        match self.resolved()? {
            Self::Cuda => cuda_ranks(met),
            _ => Ok(Arc::new(met)),
        }
    }

    /// A small net that continues from a state.
    ///
    /// # Errors
    /// As [`resolved`](Self::resolved), and when the layers or the state are refused.
    pub fn conv_net(
        self,
        config: ConvNetConfig,
        optimizer: OptimizerSettings,
        state: TrainState,
    ) -> Result<Box<dyn ConvNet>, NetError> {
        self.on(
            self.resolved()?,
            || cuda_conv_net(&config, &optimizer, &state),
            || Ok(Box::new(CpuConvNet::new(config.clone(), optimizer.clone(), state.clone())?)),
        )
    }

    /// Opens a network where it was resolved to. `auto` takes the processor for a shape the GPU does not serve, or when its memory is taken.
    fn on<T>(
        self,
        resolved: Self,
        cuda: impl FnOnce() -> Result<T, NetError>,
        cpu: impl FnOnce() -> Result<T, NetError>,
    ) -> Result<T, NetError> {
        match (resolved, self) {
            (Self::Cuda, Self::Auto) => cuda().or_else(|_| cpu()),
            (Self::Cuda, _) => cuda(),
            _ => cpu(),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Auto => "auto",
        })
    }
}

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            "auto" => Ok(Self::Auto),
            _ => Err(UnknownDevice(text.to_owned())),
        }
    }
}

#[cfg(feature = "cuda")]
use with_cuda::{cuda_available, cuda_conv_net, cuda_decoder, cuda_ranks, cuda_trainer, exit_if_open};
#[cfg(not(feature = "cuda"))]
use without_cuda::{cuda_available, cuda_conv_net, cuda_decoder, cuda_ranks, cuda_trainer, exit_if_open};

#[cfg(feature = "cuda")]
mod with_cuda {
    use super::*;
    pub(super) use crate::cuda::exit_if_open;
    use crate::cuda::{
        CudaConvNet, CudaDecoder, CudaDecoderOptions, CudaOptions, CudaTrainer, NcclRank, available, gpu_of,
    };

    pub(super) fn cuda_available() -> Result<(), NetError> {
        available()
    }

    pub(super) fn cuda_decoder(
        config: &TransformerConfig,
        parameters: &[f32],
    ) -> Result<Box<dyn Decoder>, NetError> {
        Ok(Box::new(CudaDecoder::new(config, parameters, &CudaDecoderOptions::default())?))
    }

    pub(super) fn cuda_trainer(
        config: &TransformerConfig,
        optimizer: &OptimizerSettings,
        state: &TrainState,
        (max_tokens, rank): (usize, usize),
    ) -> Result<Box<dyn Trainer>, NetError> {
        let options = CudaOptions { device: gpu_of(rank)?, ..CudaOptions::for_tokens(max_tokens) };
        Ok(Box::new(CudaTrainer::new(config.clone(), optimizer, state, &options)?))
    }

    pub(super) fn cuda_ranks(met: SocketRank) -> Result<Arc<dyn AllReduce>, NetError> {
        Ok(Arc::new(NcclRank::new(met)?))
    }

    pub(super) fn cuda_conv_net(
        config: &ConvNetConfig,
        optimizer: &OptimizerSettings,
        state: &TrainState,
    ) -> Result<Box<dyn ConvNet>, NetError> {
        Ok(Box::new(CudaConvNet::new(config.clone(), optimizer, state, 0)?))
    }
}

/// Ends the process with `code` if it has opened a GPU; returns otherwise. To be called as the last thing in `main`, with all output
/// flushed.
///
/// A process that returns from `main` runs the exit handlers of CUDA's libraries while other threads may still free memory of the
/// device or wait for a pass: threads of models end by themselves some time after their last player. The libraries do not allow
/// that, and may crash. This leaves without the handlers; the driver cleans up after the process either way.
pub fn exit_after_cuda(code: u8) {
    exit_if_open(code);
}

#[cfg(not(feature = "cuda"))]
mod without_cuda {
    use super::*;

    fn absent<T>() -> Result<T, NetError> {
        Err(NetError::Device("cuda needs a build with --features cuda".into()))
    }

    pub(super) fn exit_if_open(_: u8) {}

    pub(super) fn cuda_available() -> Result<(), NetError> {
        absent()
    }

    pub(super) fn cuda_decoder(_: &TransformerConfig, _: &[f32]) -> Result<Box<dyn Decoder>, NetError> {
        absent()
    }

    pub(super) fn cuda_trainer(
        _: &TransformerConfig,
        _: &OptimizerSettings,
        _: &TrainState,
        _: (usize, usize),
    ) -> Result<Box<dyn Trainer>, NetError> {
        absent()
    }

    pub(super) fn cuda_ranks(_: SocketRank) -> Result<Arc<dyn AllReduce>, NetError> {
        absent()
    }

    pub(super) fn cuda_conv_net(
        _: &ConvNetConfig,
        _: &OptimizerSettings,
        _: &TrainState,
    ) -> Result<Box<dyn ConvNet>, NetError> {
        absent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::initial_parameters;

    #[test]
    fn names_come_back_and_others_are_refused() {
        for device in [Device::Cpu, Device::Cuda, Device::Auto] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        let error = "tpu".parse::<Device>().unwrap_err();
        assert_eq!(error.to_string(), "unknown device 'tpu' (known: cpu cuda auto)");
    }

    #[test]
    fn auto_finds_a_device_everywhere_and_a_missing_gpu_is_said() {
        let config = TransformerConfig::tiny();
        let parameters = initial_parameters(&config).unwrap();
        let auto = Device::Auto.decoder(&config, &parameters, Precision::Exact).unwrap();
        assert_eq!(auto.config(), &config);
        let int8 = Device::Cuda.decoder(&config, &parameters, Precision::Int8).err().unwrap();
        assert!(int8.to_string().contains("on the processor only"), "{int8}");
        if let Err(error) = Device::Cuda.resolved() {
            let refused = Device::Cuda.decoder(&config, &parameters, Precision::Exact).err().unwrap();
            assert_eq!(refused.to_string(), error.to_string());
            assert_eq!(Device::Auto.resolved().ok(), Some(Device::Cpu));
            let line = error.to_string();
            assert!(line.contains("--features cuda") || line.contains("found"), "{line}");
        }
    }
}
