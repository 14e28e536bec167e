//! A small part of a job, run by the real command.

use super::estimate::{Cost, Unit, duration, grouped, number};
use crate::commands::{
    bench::{machine, waited_seconds},
    note,
};
use anyhow::{Context as _, anyhow};
use serde::Serialize;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// No measurement does more items, however fast they are.
const MOST: u64 = 1 << 20;

/// What a part of a job took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Sampled {
    /// Items done.
    pub(super) items: u64,
    /// Seconds by the clock.
    pub(super) seconds: f64,
    /// Seconds of processor time, engines included.
    pub(super) processor_seconds: f64,
    /// What was written.
    pub(super) bytes: u64,
}

/// What was measured, and where.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    machine: String,
    cores: usize,
    /// The longest part that was run.
    sample: Sampled,
    /// Cores it kept busy, on average.
    cores_busy: f64,
    /// What one more item costs.
    #[serde(skip)]
    pub(super) cost: Cost,
}

/// Runs larger and larger parts of a job until one takes about the time that the measurement may take. Start and end cost the
/// same for every part, so the cost of an item is the difference between the last part and the first.
pub(super) fn measure(
    unit: Unit,
    first: u64,
    time: Duration,
    mut sample: impl FnMut(u64, &Path) -> anyhow::Result<Sampled>,
) -> anyhow::Result<Measured> {
    let folder = Temporary::new()?;
    let mut number = 0;
    let mut run = |n: u64| {
        number += 1;
        sample(n, &folder.0.join(format!("part-{number}")))
    };
    let least = run(first)?;
    // Only now, since what is wrong with the job shows in its first part.
    note("measuring; other work on this machine makes the estimate worse");
    let mut last = least;
    loop {
        // A part so much larger that it fills the time, as far as one can tell from the last one.
        let factor = (time.as_secs_f64() / last.seconds.max(1e-3)).clamp(4.0, 64.0);
        let n = (last.items as f64 * factor).min(MOST as f64) as u64;
        let next = run(n)?;
        let ends = next.items <= last.items;
        if !ends {
            last = next;
        }
        if ends || last.seconds >= time.as_secs_f64() / 2.0 || n == MOST {
            break;
        }
    }
    if last.items <= least.items {
        return Err(anyhow!("the job has only {} items, too few to measure; run it instead", last.items));
    }
    let n_more = (last.items - least.items) as f64;
    let seconds = match unit {
        Unit::Core => last.processor_seconds - least.processor_seconds,
        Unit::Gpu => last.seconds - least.seconds,
    };
    let cost = Cost {
        // Ticks of the system's clock are coarse; nothing costs less than none.
        seconds: (seconds / n_more).max(1e-9),
        bytes: (last.bytes as f64 - least.bytes as f64).max(0.0) / n_more,
    };
    Ok(Measured {
        machine: machine(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        sample: last,
        cores_busy: last.processor_seconds / last.seconds.max(1e-9),
        cost,
    })
}

impl Measured {
    pub(super) fn text(&self, item: &str, unit: Unit) -> String {
        let mut text = format!(
            "measured on {} ({} cores): {} {item} in {}, {} cores busy\n",
            self.machine,
            self.cores,
            grouped(self.sample.items as f64),
            duration(self.sample.seconds),
            number(self.cores_busy)
        );
        if unit == Unit::Core && self.cores_busy < 0.8 * self.cores as f64 {
            text.push_str(
                "fewer cores were busy than there are: other work took them, or this job leaves some idle and takes longer\n",
            );
        }
        text
    }
}

/// Runs a command of this program and counts what it takes; `out` is what it writes.
pub(super) fn command(arguments: &[OsString], items: u64, out: &Path) -> anyhow::Result<Sampled> {
    let program = std::env::current_exe().context("the path of this program")?;
    let (begin, before) = (Instant::now(), waited_seconds());
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("starting a part of the job")?;
    let seconds = begin.elapsed().as_secs_f64();
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let reason = told.lines().last().unwrap_or("it gave no reason");
        return Err(anyhow!("a part of the job failed: {}", reason.trim_start_matches("error: ")));
    }
    Ok(Sampled { items, seconds, processor_seconds: waited_seconds() - before, bytes: size_of(out) })
}

/// Bytes of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        _ => entry.metadata().map_or(0, |data| data.len()),
    };
    entries.map(size).sum()
}

/// A folder that goes away.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("mavis-plan-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self(folder))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A folder left behind among temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
