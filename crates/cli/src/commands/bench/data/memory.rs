//! The most memory a command holds, for an input and for ten times as much.

use super::games::{write_chess, write_togyz};
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Games of the small input; positions of the small input of annotation.
const N_GAMES: usize = 1_000;
const N_POSITIONS: usize = 3_000;

#[derive(Serialize)]
pub(super) struct Peak {
    command: &'static str,
    input: String,
    /// Mebibytes at the most for the input, and for ten times as much.
    mebibytes: [f64; 2],
}

/// Runs the commands of this very program. Each gets what an earlier one has written.
pub(super) fn measure(folder: &Path) -> anyhow::Result<Vec<Peak>> {
    for (size, times) in [("1", 1), ("10", 10)] {
        write_chess(&folder.join(format!("{size}.pgn")), times * N_GAMES)?;
        write_togyz(&folder.join(format!("{size}.togyz")), times * N_POSITIONS)?;
        let positions =
            format!("data import {size}.togyz --game togyz --format positions --out {size}.togyz.parquet");
        run(folder, &positions)?;
    }
    let games = format!("{N_GAMES} games");
    let positions = format!("{N_POSITIONS} positions");
    let rows = [
        ("import", &games, "data import @.pgn --out @.parquet"),
        ("unique", &games, "data unique @.parquet --out @.unique.parquet"),
        ("split", &games, "data split @.parquet --train @.train.parquet --valid @.valid.parquet"),
        (
            "annotate",
            &positions,
            "data annotate @.togyz.parquet --oracle togyz:depth=1 --jobs 2 --shard-size 1000 --out @.annotated",
        ),
    ];
    let mut peaks = Vec::new();
    for (command, input, line) in rows {
        let peak = |size: &str| run(folder, &line.replace('@', size));
        peaks.push(Peak { command, input: input.clone(), mebibytes: [peak("1")?, peak("10")?] });
    }
    Ok(peaks)
}

/// Runs a command to its end and gives the most memory it held, in mebibytes.
fn run(folder: &Path, line: &str) -> anyhow::Result<f64> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(line.split(' '))
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak = None;
    loop {
        // The system keeps the peak, so only the last look before the end matters.
        peak = peak_mebibytes(child.id()).or(peak);
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("'mavis {line}' failed: {status}");
            }
            return peak.context("this system does not report the memory of processes");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn peak_mebibytes(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

pub(super) fn text(peaks: &[Peak]) -> String {
    let mut text = "most memory, MiB          input   ten times\n".to_owned();
    for Peak { command, input, mebibytes: [small, large] } in peaks {
        text.push_str(&format!("  {command:<8} {input:>15} {small:>5.0} {large:>11.0}\n"));
    }
    text
}
