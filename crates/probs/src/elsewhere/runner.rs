//! What a worker does.

use super::{Found, PlayedGame, ProbsInput, ProbsJob, ProbsOutput, Task, after, to_wire};
use crate::{
    Algorithm, Meter, Model, ModelConfig, Planes, ProbsError, azero, batch::Asker, beams, episode::Episode,
    self_play,
};
use mavis_game::{Position, for_game};
use mavis_net::{Device, Weights};
use mavis_queue::{Beat, Files, Runner};
use std::sync::Arc;

/// Plays and searches with the nets that a job names, which it keeps from job to job.
pub struct ProbsRunner {
    files: Arc<dyn Files>,
    kept: Option<(String, Model)>,
}

impl ProbsRunner {
    /// A runner that reads weights from `files`.
    #[must_use]
    pub fn new(files: Arc<dyn Files>) -> Self {
        Self { files, kept: None }
    }

    fn model(&mut self, config: ModelConfig, weights: &str) -> Result<&Model, String> {
        let model = match self.kept.take() {
            Some((name, model)) if name == weights && model.config == config => model,
            _ => {
                let bytes = self.files.get(weights).map_err(|error| error.to_string())?;
                let (numbers, []) = bytes.as_chunks() else {
                    return Err("weights of an odd length".to_owned());
                };
                let parameters = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                Model::from_parameters(config, parameters, Device::Cpu).map_err(|error| error.to_string())?
            }
        };
        Ok(&self.kept.insert((weights.to_owned(), model)).1)
    }

    fn run_game<G: Planes>(
        &mut self,
        start: &G,
        input: ProbsInput,
        beat: &Beat,
    ) -> Result<ProbsOutput, String> {
        let ProbsInput { settings, weights, task } = input;
        let model =
            self.model(ModelConfig::new(start, &settings).map_err(|error| error.to_string())?, &weights)?;
        let v = Asker::new(&*model.value, Weights::Live);
        let q = Asker::new(&*model.action, Weights::Live);
        let meter = Meter::of_job(beat);
        let failed = |error: ProbsError| error.to_string();
        let found = match task {
            Task::Games { round, numbers } => {
                let games = match settings.algorithm {
                    Algorithm::Probs => self_play::play_group(start, &settings, &numbers, round, &q, &meter),
                    Algorithm::Azero => {
                        azero::play_group(start, &settings, &numbers, round, (&v, &q), &meter)
                    }
                };
                Found::Games(games.map_err(failed)?.into_iter().map(as_played).collect())
            }
            Task::Search { lines } => {
                let states: Result<Vec<G>, String> = lines.iter().map(|line| after(start, line)).collect();
                let states = states?;
                let states: Vec<&G> = states.iter().collect();
                let results = beams::search_group(&states, &settings.beam(), &v, &q).map_err(failed)?;
                Found::Search(results.iter().map(|moves| to_wire(moves)).collect())
            }
        };
        Ok(ProbsOutput { evaluations: v.n_evaluations() + q.n_evaluations(), found })
    }
}

impl Runner<ProbsJob> for ProbsRunner {
    fn run(&mut self, input: ProbsInput, beat: &Beat) -> Result<ProbsOutput, String> {
        input.settings.validate().map_err(|error| error.to_string())?;
        let rules = input.settings.rules().map_err(|error| error.to_string())?;
        for_game!(Position::start(rules), start => self.run_game(&start, input, beat))
    }
}

fn as_played<G>(episode: Episode<G>) -> PlayedGame {
    PlayedGame {
        moves: episode.moves.iter().map(|mv| mv.0).collect(),
        policies: episode.policies.iter().map(|moves| to_wire(moves)).collect(),
    }
}
