//! PyTorch in the same run, where a Python that has it is named.

use crate::input::BadInput;
use mavis_model::measure::PROMPT_PASS;
use mavis_net::{Device, TransformerConfig};
use serde::{Deserialize, Serialize};
use std::{
    io::Write,
    process::{Command, Stdio},
};

/// The script, which travels with the binary.
const SCRIPT: &str = include_str!("../../../../../bench/torch_decode.py");

/// What PyTorch reaches with a network of the same shape.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Peer {
    version: String,
    dtype: String,
    threads: usize,
    pub(super) prompt_tokens_per_second: f64,
    pub(super) sequential_tokens_per_second: f64,
}

impl Peer {
    /// Runs the script with a Python on a device, in numbers of a type of PyTorch.
    pub(super) fn measure(
        python: &str,
        config: &TransformerConfig,
        (device, dtype): (Device, &str),
        seconds: f64,
    ) -> anyhow::Result<Self> {
        let (sequences, length) = PROMPT_PASS;
        let mut command = Command::new(python);
        command.arg("-");
        for (name, value) in [
            ("--width", config.d_model),
            ("--layers", config.n_layers),
            ("--heads", config.n_heads),
            ("--ff", config.d_ff),
            ("--vocab", config.vocab),
            ("--sequences", sequences),
            ("--length", length),
            ("--threads", std::thread::available_parallelism().map_or(0, usize::from)),
        ] {
            command.args([name, &value.to_string()]);
        }
        command.args(["--seconds", &seconds.to_string(), "--device", &device.to_string(), "--dtype", dtype]);
        command.args(config.qk_norm.then_some("--qk-norm"));
        let cannot = |error: std::io::Error| BadInput::new(format!("--torch {python}: {error}"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().map_err(cannot)?;
        if let Some(mut input) = child.stdin.take() {
            // A Python that stops reading says why on its standard error, below.
            drop(input.write_all(SCRIPT.as_bytes()));
        }
        let output = child.wait_with_output().map_err(cannot)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed");
            return Err(BadInput::new(format!("--torch {python}: {last}")).into());
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| BadInput::new(format!("--torch {python}: {error}")).into())
    }

    pub(super) fn name(&self) -> String {
        format!("PyTorch {}, {}, {} threads", self.version, self.dtype, self.threads)
    }
}
