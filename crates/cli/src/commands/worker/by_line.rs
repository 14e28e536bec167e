//! Runners that are made from what a job names, and kept while jobs name the same.

use crate::commands::cluster::engines::Engines;
use mavis_bundled::OracleMaker;
use mavis_data::traces::{Grower, Rows, TraceInput, TraceJob};
use mavis_data::wire::OracleName;
use mavis_data::{AnnotateInput, AnnotateJob, Judge, Judged, Pace};
use mavis_data::{Labeler, Memory, Played, SelfPlayer, SelfplayInput, SelfplayJob};
use mavis_game::Position;
use mavis_lang::trace::Evaluation;
use mavis_model::ModelLabels;
use mavis_net::{Device, Precision};
use mavis_oracle::{Identity, Oracle};
use mavis_play::PlayerSpec;
use mavis_queue::{Beat, JobKind, Runner};
use std::sync::Arc;

/// Begins the line of a job whose positions the bundled model judges; the precision follows.
pub(crate) const BUNDLED: &str = "bundled";

/// A runner that is kept from job to job.
pub(super) struct ByLine<R> {
    engines: Engines,
    kept: Option<(Arc<str>, R)>,
}

impl<R: Judging> ByLine<R> {
    pub(super) fn new(engines: Engines) -> Self {
        Self { engines, kept: None }
    }

    /// Runs a job with the runner of its line: that of the last job, or a new one. A runner whose job failed is dropped, with its
    /// engine: another job of the line starts the engine anew, as it is then.
    fn run_kept<K: JobKind>(
        &mut self,
        line: &Arc<str>,
        wanted: &OracleName,
        input: K::Input,
        beat: &Beat,
    ) -> Result<K::Output, String>
    where
        R: Runner<K>,
    {
        let mut runner = match self.kept.take() {
            Some((known, runner)) if known == *line => runner,
            _ => R::of(&self.engines, line)?,
        };
        check(&runner.identity(), wanted)?;
        let output = runner.run(input, beat)?;
        self.kept = Some((Arc::clone(line), runner));
        Ok(output)
    }
}

/// A runner that is made from the line of a job.
pub(super) trait Judging: Sized {
    /// The runner of a line, with programs of this machine.
    ///
    /// # Errors
    /// In words, when the line is wrong or its engine does not start.
    fn of(engines: &Engines, line: &str) -> Result<Self, String>;

    /// Who judges.
    fn identity(&self) -> Identity;
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

impl Judging for Judge {
    fn of(engines: &Engines, line: &str) -> Result<Self, String> {
        Ok(Self::new(oracle(engines, line)?, Pace::Fixed(0)))
    }

    fn identity(&self) -> Identity {
        self.identity()
    }
}

impl Runner<AnnotateJob> for ByLine<Judge> {
    fn run(&mut self, input: AnnotateInput, beat: &Beat) -> Result<Vec<Judged>, String> {
        self.run_kept::<AnnotateJob>(&input.line.clone(), &input.oracle.clone(), input, beat)
    }
}

impl Judging for SelfPlayer {
    fn of(engines: &Engines, line: &str) -> Result<Self, String> {
        Ok(Self::new(oracle(engines, line)?, Arc::<Memory>::default()))
    }

    fn identity(&self) -> Identity {
        self.identity()
    }
}

impl Runner<SelfplayJob> for ByLine<SelfPlayer> {
    fn run(&mut self, input: SelfplayInput, beat: &Beat) -> Result<Vec<Played>, String> {
        self.run_kept::<SelfplayJob>(&input.line.clone(), &input.oracle.clone(), input, beat)
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

    fn label(&mut self, positions: &[Position]) -> Result<Vec<Result<Evaluation, String>>, String> {
        match self {
            Self::Oracle(oracle) => oracle.label(positions),
            Self::Model(labels) => labels.label(positions),
        }
    }
}

impl Judging for Grower<NodeJudge> {
    fn of(engines: &Engines, line: &str) -> Result<Self, String> {
        NodeJudge::of(engines, line).map(Self::new)
    }

    fn identity(&self) -> Identity {
        self.identity()
    }
}

impl Runner<TraceJob> for ByLine<Grower<NodeJudge>> {
    fn run(&mut self, input: TraceInput, beat: &Beat) -> Result<Vec<Rows>, String> {
        self.run_kept::<TraceJob>(&input.line.clone(), &input.oracle.clone(), input, beat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavis_data::wire::{Place, PositionRow};
    use mavis_data::{GamePlan, TracePlan};
    use mavis_game::Rules;
    use mavis_oracle::process::find_engine;
    use mavis_testkit::install_script;
    use std::collections::BTreeMap;

    const LINE: &str = "uci:fish,nodes=40";

    /// The engine is another version while the first job runs and the wanted one before the second, as when somebody installs it:
    /// the first job fails, the second runs.
    fn check<K: JobKind, R: Judging>(input: impl FnOnce(Arc<str>, Arc<OracleName>) -> K::Input)
    where
        K::Input: Clone,
        ByLine<R>: Runner<K>,
    {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("fish");
        let stockfish = find_engine("stockfish", Some(&mavis_testkit::engine_path())).expect("Stockfish");
        let right = format!("exec {}", stockfish.display());
        let other = format!("{} | sed -u 's/^id name Stockfish/id name Otherfish/'", stockfish.display());
        install_script(&program, &right);
        let named = BTreeMap::from([("fish".to_owned(), program.clone())]);
        let engines = Engines::find(&named).expect("an engine");
        let Identity { name, version, settings } = R::of(&engines, LINE).expect("a runner").identity();
        let input = input(LINE.into(), Arc::new(OracleName { name, version, settings }));

        install_script(&program, &other);
        let mut runner = ByLine::<R>::new(engines);
        let refused =
            Runner::<K>::run(&mut runner, input.clone(), &Beat::default()).err().expect("another engine");
        assert!(refused.contains("the oracle is Otherfish"), "{refused}");
        install_script(&program, &right);
        Runner::<K>::run(&mut runner, input, &Beat::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(runner.kept.is_some(), "a runner whose job succeeded is kept");
    }

    fn start() -> Position {
        Position::start(Rules::Chess)
    }

    #[test]
    fn annotation_starts_a_failed_engine_anew() {
        check::<AnnotateJob, Judge>(|line, oracle| {
            let rows = vec![PositionRow { place: Place::of(&start(), None), played: None }];
            AnnotateInput { line, oracle, rows }
        });
    }

    #[test]
    fn selfplay_starts_a_failed_engine_anew() {
        check::<SelfplayJob, SelfPlayer>(|line, oracle| {
            let plan = GamePlan { start: start(), epsilon: 0.0, random_plies: 0, seed: 1, max_plies: 2 };
            SelfplayInput { line, oracle, plan: Arc::new(plan), numbers: 0..1 }
        });
    }

    #[test]
    fn traces_start_a_failed_engine_anew() {
        check::<TraceJob, Grower<NodeJudge>>(|line, oracle| {
            let plan = Arc::new(TracePlan { per_root: 1, sizes: vec![(2, 1)], ..TracePlan::default() });
            TraceInput { line, oracle, plan, seed: 1, first: 0, roots: vec![start()] }
        });
    }
}
