//! `mavis plan`: how long a job takes on some machines, how many bytes it writes, what it costs.

mod estimate;
mod jobs;
mod machine;
mod measure;

use super::{answer, answer_json};
use crate::input::{BadInput, OrBadInput as _};
use clap::{Args, Subcommand};
use estimate::{Cost, Plan, Unit};
use jobs::{PlanAnnotate, PlanLeague, PlanSelfplay, PlanTraces, PlanTrain};
use machine::Machine;
use measure::{Sampled, measure};

/// Estimates a job before it runs: time, bytes and core-hours on a list of machines.
///
/// A small part of the job runs on this machine first, by the same command, and what it costs by processor time is
/// extrapolated; or --rate gives the cost.
/// Example: mavis plan annotate --positions 10000000 --oracle stockfish:nodes=5000 --machine cores=64,count=4
#[derive(Args)]
pub(crate) struct PlanCommand {
    #[command(subcommand)]
    job: PlannedJob,
}

#[derive(Subcommand)]
enum PlannedJob {
    Annotate(PlanAnnotate),
    Selfplay(PlanSelfplay),
    Traces(PlanTraces),
    League(PlanLeague),
    Train(PlanTrain),
}

/// What every plan is given.
#[derive(Args)]
struct PlanOptions {
    /// A machine: NAME:cores=N,gpus=N,speed=X,count=N, the name optional; may be repeated. Speed is that of one core (or GPU) relative to this machine
    /// (default 1), count the number of such machines (default 1). Default: this machine
    #[arg(long, value_name = "MACHINE")]
    machine: Vec<Machine>,
    /// Items per second on one core (or GPU), instead of a measurement
    #[arg(long, value_name = "ITEMS")]
    rate: Option<f64>,
    /// Bytes an item takes on disk, with --rate
    #[arg(long, value_name = "BYTES", requires = "rate")]
    bytes: Option<f64>,
    /// What does the work: core, or gpu for jobs whose model computes on one
    #[arg(long, default_value = "core")]
    per: Unit,
    /// Approximate seconds of the measurement
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl PlanCommand {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.job {
            PlannedJob::Annotate(job) => job.run(),
            PlannedJob::Selfplay(job) => job.run(),
            PlannedJob::Traces(job) => job.run(),
            PlannedJob::League(job) => job.run(),
            PlannedJob::Train(job) => job.run(),
        }
    }
}

/// A job as the plan sees it: so many items of one kind.
struct Job {
    /// What is to be done, in words.
    title: String,
    /// The name of many items.
    items: &'static str,
    n_items: f64,
}

impl PlanOptions {
    /// Estimates a job. `sample` does so many items of it, in a folder of its own; it starts with `first` items.
    fn run(
        &self,
        job: Job,
        first: u64,
        sample: impl FnMut(u64, &std::path::Path) -> anyhow::Result<Sampled>,
    ) -> anyhow::Result<()> {
        let (cost, measured) = match self.given()? {
            Some(cost) => (cost, None),
            None => {
                let seconds = mavis_stable::time::seconds(self.seconds).or_bad_input()?;
                let measured = measure(self.per, first, seconds, sample)?;
                (measured.cost, Some(measured))
            }
        };
        let machines = if self.machine.is_empty() { vec![Machine::here()] } else { self.machine.clone() };
        let plan = Plan::new(job, self.per, cost, &machines, measured)?;
        if self.json { answer_json(&plan) } else { answer(&plan.text()) }
    }

    /// The cost that the flags give.
    fn given(&self) -> Result<Option<Cost>, BadInput> {
        let Some(rate) = self.rate else { return Ok(None) };
        if !(rate.is_finite() && rate > 0.0) {
            return Err(BadInput::new(format!("--rate: expected a number above 0, not {rate}")));
        }
        let bytes = self.bytes.unwrap_or(0.0);
        if !(bytes.is_finite() && bytes >= 0.0) {
            return Err(BadInput::new(format!("--bytes: expected a number from 0 on, not {bytes}")));
        }
        Ok(Some(Cost { seconds: 1.0 / rate, bytes }))
    }
}
