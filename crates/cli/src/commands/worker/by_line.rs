//! Runners that are made from what a job names, and kept while jobs name the same.

use crate::commands::cluster::engines::Engines;
use mavis_bundled::OracleMaker;
use mavis_data::traces::{Grower, Rows, TraceInput, TraceJob};
use mavis_data::wire::OracleName;
use mavis_data::{Labeler, Memory, Played, SelfPlayer, SelfplayInput, SelfplayJob};
use mavis_game::Position;
use mavis_lang::trace::Evaluation;
use mavis_model::ModelLabels;
use mavis_net::{Device, Precision};
use mavis_oracle::{Identity, Oracle};
use mavis_play::PlayerSpec;
use mavis_queue::{Beat, Runner};
use std::sync::Arc;

/// Begins the line of a job whose positions the bundled model judges; the precision follows.
pub(crate) const BUNDLED: &str = "bundled";

/// A runner that is kept from job to job.
pub(super) struct ByLine<R> {
    engines: Engines,
    kept: Option<(Arc<str>, R)>,
}

impl<R> ByLine<R> {
    pub(super) fn new(engines: Engines) -> Self {
        Self { engines, kept: None }
    }

    /// The runner of a line, made by `make` unless it is that of the last job.
    fn of(
        &mut self,
        line: &Arc<str>,
        make: impl FnOnce(&Engines) -> Result<R, String>,
    ) -> Result<&mut R, String> {
        let runner = match self.kept.take() {
            Some((known, runner)) if known == *line => runner,
            _ => make(&self.engines)?,
        };
        Ok(&mut self.kept.insert((Arc::clone(line), runner)).1)
    }
}

/// The oracle that a line names, with programs of this machine.
fn oracle(engines: &Engines, line: &str) -> Result<Box<dyn Oracle>, String> {
    let spec: PlayerSpec = line.parse().map_err(|error: mavis_play::SpecError| error.to_string())?;
    let maker = OracleMaker::of_spec(&engines.resolve(&spec)?, None).map_err(|error| error.to_string())?;
    maker.make(1).map_err(|error| error.to_string())?.pop().ok_or_else(|| "no oracle".to_owned())
}

/// Refuses a judge that is another one than the job wants.
fn check(here: &Identity, wanted: &OracleName) -> Result<(), String> {
    if (&here.name, &here.version, &here.settings) == (&wanted.name, &wanted.version, &wanted.settings) {
        return Ok(());
    }
    Err(format!(
        "the oracle is {} {} ({}) here, and the job wants {} {} ({})",
        here.name, here.version, here.settings, wanted.name, wanted.version, wanted.settings
    ))
}

impl Runner<SelfplayJob> for ByLine<SelfPlayer> {
    fn run(&mut self, input: SelfplayInput, beat: &Beat) -> Result<Vec<Played>, String> {
        let line = Arc::clone(&input.line);
        let make = |engines: &Engines| Ok(SelfPlayer::new(oracle(engines, &line)?, Arc::<Memory>::default()));
        let player = self.of(&line, make)?;
        check(&player.identity(), &input.oracle)?;
        player.run(input, beat)
    }
}

/// Who judges the nodes of a trace: an oracle, or the model that every worker of one version has.
pub(super) enum NodeJudge {
    Oracle(Box<dyn Oracle>),
    Model(ModelLabels),
}

impl NodeJudge {
    fn of(engines: &Engines, line: &str) -> Result<Self, String> {
        let Some(precision) = line.strip_prefix(BUNDLED) else {
            return oracle(engines, line).map(Self::Oracle);
        };
        let precision = precision.trim_start().parse::<Precision>();
        let precision = precision.map_err(|error| error.to_string())?;
        let labels = ModelLabels::open(&mavis_bundled::model()?, precision, Device::Cpu);
        labels.map(Self::Model).map_err(|error| error.to_string())
    }
}

impl Labeler for NodeJudge {
    fn identity(&self) -> Identity {
        match self {
            Self::Oracle(oracle) => oracle.identity(),
            Self::Model(labels) => labels.identity(),
        }
    }

    fn n_roots(&self) -> u64 {
        match self {
            Self::Oracle(oracle) => oracle.n_roots(),
            Self::Model(labels) => labels.n_roots(),
        }
    }

    fn label(&mut self, positions: &[Position]) -> Vec<Result<Evaluation, String>> {
        match self {
            Self::Oracle(oracle) => oracle.label(positions),
            Self::Model(labels) => labels.label(positions),
        }
    }
}

impl Runner<TraceJob> for ByLine<Grower<NodeJudge>> {
    fn run(&mut self, input: TraceInput, beat: &Beat) -> Result<Vec<Rows>, String> {
        let line = Arc::clone(&input.line);
        let grower = self.of(&line, |engines| NodeJudge::of(engines, &line).map(Grower::new))?;
        check(&grower.identity(), &input.oracle)?;
        grower.run(input, beat)
    }
}
