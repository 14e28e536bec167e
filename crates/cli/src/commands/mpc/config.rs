//! The file that describes a table of matches.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::table::{Against, Match};
use crate::input::{BadInput, OrBadInput};
use mavis_league::wire::{
    AdjudicationConfig, LeagueConfig, LimitsConfig, OpeningsConfig, PlayerConfig, ScheduleConfig,
    ScheduleKind, toml_fault,
};
use mavis_play::{PlayerSpec, Steps};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Everything a table is.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableConfig {
    /// A title.
    name: String,
    /// The game.
    game: String,
    /// Seed of openings and players.
    #[serde(default)]
    seed: u64,
    /// The position evaluator, a line or a table.
    evaluator: toml::Value,
    /// The nominal opponent. `None` means the evaluator.
    opponent: Option<toml::Value>,
    /// The true opponent of stochastic matches. `None` means the nominal opponent.
    rival: Option<toml::Value>,
    /// What each call of MPC-MC and each move of the true opponent may spend.
    #[serde(default)]
    pub(super) limits: LimitsConfig,
    /// Moves that a second step looks into. `None` means the player's default.
    p: Option<usize>,
    /// Calls at once in one game; games run at once too, so one is the default.
    #[serde(default = "one")]
    threads: usize,
    /// Where games start.
    #[serde(default)]
    openings: OpeningsConfig,
    /// Ends of games beside the rules.
    #[serde(default)]
    adjudication: AdjudicationConfig,
    /// What is played, in this order.
    matches: Vec<MatchConfig>,
}

/// One row of the table against one kind of opponent: a match of the standard player and one of the fortified.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchConfig {
    /// `half`, `1` or `2`; a number too, as in a player's table.
    steps: toml::Value,
    /// `deterministic` or `stochastic`.
    against: String,
    /// Opening pairs, two games each.
    pairs: u64,
}

fn one() -> usize {
    1
}

impl TableConfig {
    /// Reads a file; the error is one line.
    pub(super) fn from_toml(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| toml_fault(text, &error))
    }

    /// The title with the limit of a call.
    pub(super) fn title(&self) -> String {
        let LimitsConfig { time, nodes, depth } = &self.limits;
        let limits = [
            time.map(|seconds| format!("{seconds} s")),
            nodes.map(|nodes| format!("{nodes} nodes")),
            depth.map(|depth| format!("depth {depth}")),
        ];
        let limits: String = limits.into_iter().flatten().map(|limit| format!(", {limit}")).collect();
        format!("{}{limits}", self.name)
    }

    /// Every match as a league.
    pub(super) fn matches(&self) -> Result<Vec<Match>, BadInput> {
        let mut list: Vec<Match> = Vec::new();
        for one in &self.matches {
            let steps = one.steps.as_str().map_or_else(|| one.steps.to_string(), str::to_owned);
            let steps: Steps = steps.parse().or_bad_input()?;
            let against: Against = one.against.parse().or_bad_input()?;
            if list.iter().any(|known| (known.steps, known.against) == (steps, against)) {
                let text = format!("two matches with steps {steps} against a {against} opponent");
                return Err(BadInput::new(text));
            }
            let league = self.league(steps, against, one.pairs)?;
            list.push(Match { steps, against, league });
        }
        Ok(list)
    }

    fn league(&self, steps: Steps, against: Against, pairs: u64) -> Result<LeagueConfig, BadInput> {
        let evaluator = spec(&self.evaluator)?;
        let opponent = self.opponent.as_ref().map(spec).transpose()?;
        let rival = self.rival.as_ref().map(spec).transpose()?;
        let nominal = opponent.as_ref().unwrap_or(&evaluator);
        let other = match against {
            Against::Deterministic => wrapped("predicted", &wrapped("fresh", nominal)),
            Against::Stochastic => wrapped("fresh", rival.as_ref().unwrap_or(nominal)),
        };
        let mut other = named(&other, &against.to_string());
        // MPC-MC has its limits in its line, for each call; the other side has them for its move.
        other.limits = Some(self.limits.clone());
        let players = vec![
            named(&self.mpc(steps, &evaluator, opponent.as_ref(), false), "standard"),
            named(&self.mpc(steps, &evaluator, opponent.as_ref(), true), "fortified"),
            other,
        ];
        let title = format!("{}: steps {steps}, {against}", self.name);
        let league = LeagueConfig {
            seed: self.seed,
            schedule: ScheduleConfig {
                kind: ScheduleKind::Gauntlet,
                pairs,
                challengers: vec!["standard".to_owned(), "fortified".to_owned()],
                ..ScheduleConfig::default()
            },
            openings: self.openings.clone(),
            adjudication: self.adjudication.clone(),
            ..LeagueConfig::new(&title, &self.game, players)
        };
        league.validate().or_bad_input()?;
        Ok(league)
    }

    fn mpc(
        &self,
        steps: Steps,
        evaluator: &PlayerSpec,
        opponent: Option<&PlayerSpec>,
        fortified: bool,
    ) -> PlayerSpec {
        let LimitsConfig { time, nodes, depth } = &self.limits;
        let given = [
            ("evaluator", Some(evaluator.to_string())),
            ("opponent", opponent.map(PlayerSpec::to_string)),
            ("steps", Some(steps.to_string())),
            ("p", self.p.filter(|_| steps == Steps::Two).map(|p| p.to_string())),
            ("fortified", fortified.then(|| "true".to_owned())),
            ("time", time.map(|seconds| seconds.to_string())),
            ("nodes", nodes.map(|nodes| nodes.to_string())),
            ("depth", depth.map(|depth| depth.to_string())),
            ("threads", Some(self.threads.to_string())),
        ];
        let options = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        PlayerSpec { kind: "mpc".to_owned(), argument: None, options: options.collect() }
    }
}

fn spec(value: &toml::Value) -> Result<PlayerSpec, BadInput> {
    PlayerSpec::try_from(value).or_bad_input()
}

fn wrapped(kind: &str, inner: &PlayerSpec) -> PlayerSpec {
    PlayerSpec { kind: kind.to_owned(), argument: Some(inner.to_string()), options: BTreeMap::new() }
}

fn named(spec: &PlayerSpec, name: &str) -> PlayerConfig {
    PlayerConfig { name: Some(name.to_owned()), ..PlayerConfig::new(&spec.to_string()) }
}
