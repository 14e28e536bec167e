//! Jobs of `mavis data annotate`.

use crate::commands::cluster::engines::Engines;
use mavis_bundled::OracleMaker;
use mavis_data::{AnnotateInput, AnnotateJob, Judge, Judged, Pace};
use mavis_play::PlayerSpec;
use mavis_queue::{Beat, Runner};
use std::sync::Arc;

/// Judges positions with the oracle that a job names, which it keeps from job to job.
pub(super) struct Annotator {
    engines: Engines,
    judge: Option<(Arc<str>, Judge)>,
}

impl Annotator {
    pub(super) fn new(engines: Engines) -> Self {
        Self { engines, judge: None }
    }

    fn judge(&self, line: &str) -> Result<Judge, String> {
        let spec: PlayerSpec = line.parse().map_err(|error: mavis_play::SpecError| error.to_string())?;
        let maker =
            OracleMaker::of_spec(&self.engines.resolve(&spec)?, None).map_err(|error| error.to_string())?;
        let mut oracles = maker.make(1).map_err(|error| error.to_string())?;
        let oracle = oracles.pop().ok_or("no oracle")?;
        Ok(Judge::new(oracle, Pace::Fixed(0)))
    }
}

impl Runner<AnnotateJob> for Annotator {
    fn run(&mut self, input: AnnotateInput, beat: &Beat) -> Result<Vec<Judged>, String> {
        let mut judge = match self.judge.take() {
            Some((line, judge)) if line == input.line => judge,
            _ => self.judge(&input.line)?,
        };
        let (here, wanted) = (judge.identity(), &input.oracle);
        if (&here.name, &here.version, &here.settings) != (&wanted.name, &wanted.version, &wanted.settings) {
            return Err(format!(
                "the oracle is {} {} ({}) here, and the job wants {} {} ({})",
                here.name, here.version, here.settings, wanted.name, wanted.version, wanted.settings
            ));
        }
        let line = Arc::clone(&input.line);
        let judged = judge.run(input, beat)?;
        self.judge = Some((line, judge));
        Ok(judged)
    }
}
