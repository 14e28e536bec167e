//! Processor time of this program and of its children, where the system tells it (Linux).

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Linux counts processor time in hundredths of a second for programs.
const TICKS: f64 = 100.0;

/// What was used since the start.
pub(super) struct Usage {
    started: Instant,
    own_before: Option<f64>,
    /// Seconds of each child when last seen.
    children: BTreeMap<u32, f64>,
    end: Option<(f64, Option<f64>)>,
    told: f64,
}

impl Usage {
    pub(super) fn start() -> Self {
        let own_before = processor_seconds(std::process::id());
        Self { started: Instant::now(), own_before, children: BTreeMap::new(), end: None, told: 0.0 }
    }

    /// Notes what the children have used; called now and then, since a child that ended cannot be asked.
    pub(super) fn look(&mut self) {
        for child in children() {
            if let Some(seconds) = processor_seconds(child) {
                self.children.insert(child, seconds);
            }
        }
    }

    /// Stops counting; `told` are seconds of children that were counted by others.
    pub(super) fn end(mut self, told: &[f64]) -> Self {
        self.look();
        let own = processor_seconds(std::process::id());
        let own = own.zip(self.own_before).map(|(now, before)| now - before);
        self.end = Some((self.started.elapsed().as_secs_f64(), own));
        self.told = told.iter().sum();
        self
    }

    /// Seconds by the clock.
    pub(super) fn seconds(&self) -> f64 {
        self.end.map_or_else(|| self.started.elapsed().as_secs_f64(), |(seconds, _)| seconds)
    }

    /// Processor seconds of this program.
    pub(super) fn own(&self) -> Option<f64> {
        self.end?.1
    }

    /// Processor seconds of the engines.
    pub(super) fn engines(&self) -> Option<f64> {
        self.own()?;
        Some(self.told + self.children.values().sum::<f64>())
    }
}

/// Processor seconds of a process, all its threads together.
pub(super) fn processor_seconds(process: u32) -> Option<f64> {
    stat_seconds(process).map(|[user, system, ..]| user + system)
}

/// Seconds of a process in its own code and in the system's, then the same of its children that have ended.
fn stat_seconds(process: u32) -> Option<[f64; 4]> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold anything, spaces and brackets too; the numbers follow its last bracket.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let mut seconds = [0.0; 4];
    for (place, field) in seconds.iter_mut().zip(fields.get(11..15)?) {
        *place = field.parse::<f64>().ok()? / TICKS;
    }
    Some(seconds)
}

/// Children of this process.
fn children() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// Processor seconds of this thread.
pub(super) fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Processor seconds of this program, all its threads together.
pub(super) fn own_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Processor seconds of all children that have ended; 0 where the system does not report them.
pub(in crate::commands) fn waited_seconds() -> f64 {
    let fields = stat_seconds(std::process::id());
    fields.map_or(0.0, |[_, _, user, system]| user + system)
}
