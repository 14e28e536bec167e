//! One round after the other: self-play, V, searches, Q (paper 004, algorithm 2).

use crate::{
    Algorithm, Elsewhere, Meter, ModelConfig, Phase, Planes, ProbsError, ProbsSettings, azero,
    batch::Asker,
    beams::{self, QValues},
    episode::{Episode, Sample, replay},
    fit::{Objective, fit},
    model::join,
    self_play::{self, Purpose, random},
    wire::Round,
};
use mavis_game::Move;
use mavis_net::{ConvNet, ConvNetConfig, Device, OptimizerSettings, TrainState, Weights};
use std::{sync::Arc, time::Instant};

/// A game being learned. The same settings and device give the same nets.
pub struct Learner<G> {
    settings: ProbsSettings,
    config: ModelConfig,
    start: G,
    value: Box<dyn ConvNet>,
    action: Box<dyn ConvNet>,
    progress: Progress,
    meter: Arc<Meter>,
}

/// How far a learner has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rounds done.
    pub round: u32,
    /// Updates of the value net.
    pub value_steps: u64,
    /// Updates of the action net.
    pub action_steps: u64,
    /// Positions passed through a net in self-play and searches.
    pub n_evaluations: u64,
}

impl<G: Planes> Learner<G> {
    /// A learner that knows nothing, or continues from a state of both nets.
    ///
    /// # Errors
    /// When the settings are out of range or of another game, or the state does not fit them.
    pub fn new(
        start: G,
        settings: ProbsSettings,
        device: Device,
        from: Option<(TrainState, Progress)>,
    ) -> Result<Self, ProbsError> {
        settings.validate()?;
        let game = start.rules().to_string();
        if settings.game != game {
            return Err(ProbsError::Unknown { what: "game", value: settings.game, known: game });
        }
        let config = ModelConfig::new(&start, &settings)?;
        let ([mut value, mut action], progress) = match from {
            Some((state, progress)) => (config.split(&state)?, progress),
            None => {
                let new = |net: &ConvNetConfig| net.initial_parameters().map(TrainState::new);
                ([new(&config.value)?, new(&config.action)?], Progress::default())
            }
        };
        (value.step, action.step) = (progress.value_steps, progress.action_steps);
        // Plain Adam, as everybody's default; the paper names no optimizer.
        let optimizer = OptimizerSettings {
            beta2: 0.999,
            weight_decay: 0.0,
            clip_norm: None,
            average_decay: settings.average_decay,
            ..OptimizerSettings::default()
        };
        let value = device.conv_net(config.value.clone(), optimizer.clone(), value)?;
        let action = device.conv_net(config.action.clone(), optimizer, action)?;
        Ok(Self { settings, config, start, value, action, progress, meter: Arc::default() })
    }

    /// The shapes of the nets.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The same learner, which tells `meter` where it stands.
    #[must_use]
    pub fn with_meter(self, meter: Arc<Meter>) -> Self {
        Self { meter, ..self }
    }

    /// Where games begin.
    pub fn start(&self) -> &G {
        &self.start
    }

    /// The net that moves are chosen by.
    pub fn action_net(&self) -> &dyn ConvNet {
        &*self.action
    }

    /// Everything a learner needs to go on, with [`Learner::progress`].
    ///
    /// # Errors
    /// A device failure.
    pub fn state(&self) -> Result<TrainState, ProbsError> {
        Ok(join([self.value.state()?, self.action.state()?]))
    }

    /// Plays, searches and trains once.
    ///
    /// # Errors
    /// When a net fails.
    pub fn round(&mut self) -> Result<Round, ProbsError> {
        self.round_at(&mut Place::Here)
    }

    /// The same with self-play and searches on other machines.
    ///
    /// # Errors
    /// When a net or the queue fails, or it is stopped before they are done.
    pub fn round_elsewhere(&mut self, elsewhere: &mut Elsewhere<'_>) -> Result<Round, ProbsError> {
        self.round_at(&mut Place::Elsewhere(elsewhere))
    }

    fn round_at(&mut self, place: &mut Place<'_, '_>) -> Result<Round, ProbsError> {
        let (settings, round) = (&self.settings, self.progress.round);
        let rate = settings.rate(round);
        let mut clock = Stopwatch::new();
        let meter = &*self.meter;
        let begin = |phase, total| meter.begin(round + 1, phase, total);
        begin(Phase::SelfPlay, settings.games as usize);
        let (episodes, mut n_evaluations) = self.play(place)?;
        let n_plies: usize = episodes.iter().map(|episode| episode.states.len()).sum();
        let n_cut = episodes.iter().filter(|episode| episode.outcome.is_none()).count();
        let lines: Vec<Vec<Move>> = episodes.iter().map(|episode| episode.moves.clone()).collect();
        let mut samples = replay(episodes, settings.capacity);
        let self_play_seconds = clock.lap();

        let n_steps = samples.len().div_ceil(settings.batch) * settings.epochs as usize;
        begin(Phase::Value, n_steps);
        let mut numbers = random(settings.seed, Purpose::FitValue, round, 0);
        let value_loss =
            fit(&mut *self.value, &samples, Objective::Value, settings, rate, &mut numbers, meter)?;
        let value_seconds = clock.lap();

        if settings.algorithm == Algorithm::Probs {
            begin(Phase::Search, samples.len());
            let (results, n) = self.search(&samples, &lines, place)?;
            samples.iter_mut().zip(results).for_each(|(sample, moves)| sample.moves = moves);
            n_evaluations += n;
        }
        let search_seconds = clock.lap();

        let objective = match settings.algorithm {
            Algorithm::Probs => Objective::QValues,
            Algorithm::Azero => Objective::Policy,
        };
        begin(Phase::Action, n_steps);
        let mut numbers = random(settings.seed, Purpose::FitAction, round, 0);
        let action_loss = fit(&mut *self.action, &samples, objective, settings, rate, &mut numbers, meter)?;
        let action_seconds = clock.lap();

        self.progress = Progress {
            round: round + 1,
            value_steps: self.progress.value_steps + n_steps as u64,
            action_steps: self.progress.action_steps + n_steps as u64,
            n_evaluations: self.progress.n_evaluations + n_evaluations,
        };
        Ok(Round {
            round: self.progress.round,
            games: settings.games,
            cut_off: n_cut as u32,
            states: samples.len(),
            mean_plies: n_plies as f64 / f64::from(settings.games),
            value_loss,
            action_loss,
            learning_rate: rate,
            evaluations: self.progress.n_evaluations,
            self_play_seconds,
            value_seconds,
            search_seconds,
            action_seconds,
            seconds: 0.0,
        })
    }

    /// The games of a round, and how many positions went through a net for them.
    fn play(&self, place: &mut Place<'_, '_>) -> Result<(Vec<Episode<G>>, u64), ProbsError> {
        let (settings, round, meter) = (&self.settings, self.progress.round, &*self.meter);
        if let Place::Elsewhere(elsewhere) = place {
            return elsewhere.play(&self.start, settings, round, &self.parameters()?, meter);
        }
        let v = Asker::new(&*self.value, Weights::Live);
        let q = Asker::new(&*self.action, Weights::Live);
        let episodes = match settings.algorithm {
            Algorithm::Probs => self_play::play_games(&self.start, settings, round, &q, meter)?,
            Algorithm::Azero => azero::play_games(&self.start, settings, round, (&v, &q), meter)?,
        };
        Ok((episodes, v.n_evaluations() + q.n_evaluations()))
    }

    /// The result of a beam search for every state, and how many positions went through a net for them. `lines` are the moves of
    /// the games that the states come from.
    fn search(
        &self,
        samples: &[Sample<G>],
        lines: &[Vec<Move>],
        place: &mut Place<'_, '_>,
    ) -> Result<(QValues, u64), ProbsError> {
        let (settings, meter) = (&self.settings, &*self.meter);
        let states: Vec<&G> = samples.iter().map(|sample| &sample.state).collect();
        if let Place::Elsewhere(elsewhere) = place {
            let line = |sample: &Sample<G>| &lines[sample.place.0][..sample.place.1];
            let lines: Vec<&[Move]> = samples.iter().map(line).collect();
            return elsewhere.search((&states, &lines), settings, &self.parameters()?, meter);
        }
        let v = Asker::new(&*self.value, Weights::Live);
        let q = Asker::new(&*self.action, Weights::Live);
        let results = beams::search_all(&states, &settings.beam(), &v, &q, meter)?;
        Ok((results, v.n_evaluations() + q.n_evaluations()))
    }

    /// The weights of both nets, value net first.
    fn parameters(&self) -> Result<Vec<f32>, ProbsError> {
        Ok(self.state()?.parameters)
    }
}

/// Where self-play and searches are done.
enum Place<'a, 'b> {
    Here,
    Elsewhere(&'a mut Elsewhere<'b>),
}

/// Seconds from lap to lap.
struct Stopwatch(Instant);

impl Stopwatch {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self) -> f64 {
        let last = std::mem::replace(&mut self.0, Instant::now());
        last.elapsed().as_secs_f64()
    }
}
