//! What every worker needs to know.

use super::RunError;
use crate::adjudication::Judges;
use crate::openings::Openings;
use crate::wire::{AdjudicationConfig, LeagueConfig};
use mavis_game::{FromRules, Game};
use mavis_play::{BuildError, Limit, Player, PlayerSpec, Referee, Registry, TimeControl};
use mavis_search::Cancel;
use std::sync::Arc;
use std::time::Duration;

/// The league as its workers see it.
pub(super) struct Task<G: Game> {
    pub(super) names: Vec<String>,
    pub(super) seed: u64,
    pub(super) openings: Openings<G>,
    pub(super) adjudication: AdjudicationConfig,
    pub(super) judges: Judges<G>,
    pub(super) judge_limit: Limit,
    pub(super) limits: Vec<Limit>,
    pub(super) time_control: Option<TimeControl>,
    specs: Vec<PlayerSpec>,
    judge: Option<PlayerSpec>,
    registry: Arc<Registry<G>>,
    tolerance: Option<Duration>,
}

impl<G: FromRules> Task<G> {
    pub(super) fn new(
        config: &LeagueConfig,
        openings: Openings<G>,
        judges: Judges<G>,
        registry: Arc<Registry<G>>,
    ) -> Result<Self, RunError> {
        if let Some(exact) = &config.adjudication.exact {
            let Some(judge) = judges.get(&exact.judge) else {
                let names = judges.keys().map(String::as_str).chain(["syzygy:DIR"]);
                let known = names.collect::<Vec<_>>().join(" ");
                return Err(RunError::UnknownJudge { name: exact.judge.clone(), known });
            };
            let rules = openings.rules();
            if !judge.judges(rules.clone()) {
                return Err(RunError::OtherJudge { name: exact.judge.clone(), game: rules.to_string() });
            }
        }
        let early = config.adjudication.early.as_ref();
        let judge = early.and_then(|early| early.judge.as_deref()).map(str::parse).transpose();
        let specs: Result<Vec<PlayerSpec>, _> = config.players.iter().map(|player| player.spec()).collect();
        let limits: Result<Vec<Limit>, _> =
            (0..config.players.len()).map(|player| config.limits_of(player).limit()).collect();
        Ok(Self {
            names: config.names(),
            seed: config.seed,
            openings,
            adjudication: config.adjudication.clone(),
            judges,
            judge_limit: early.map_or_else(|| Ok(Limit::default()), |early| early.limits.limit())?,
            limits: limits?,
            time_control: config.time_control()?,
            specs: specs.map_err(crate::wire::ConfigError::from)?,
            judge: judge.map_err(crate::wire::ConfigError::from)?,
            registry,
            tolerance: config.tolerance.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        })
    }

    pub(super) fn build(&self, player: usize) -> Result<Box<dyn Player<G>>, BuildError> {
        self.registry.build(&self.specs[player], self.seed)
    }

    /// The player that judges early ends, if there is one.
    pub(super) fn build_judge(&self) -> Option<Result<Box<dyn Player<G>>, BuildError>> {
        self.judge.as_ref().map(|spec| self.registry.build(spec, self.seed))
    }

    pub(super) fn referee(&self, players: [usize; 2], cancel: Cancel) -> Referee {
        let default = Referee::default();
        Referee {
            limits: players.map(|player| self.limits[player].clone()),
            time_control: self.time_control,
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            claim_draws: !self.adjudication.no_claims,
            max_plies: self.adjudication.max_plies,
            cancel,
        }
    }
}
