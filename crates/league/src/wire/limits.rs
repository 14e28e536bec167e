//! Limits as the configuration states them.

use super::ConfigError;
use mavis_play::{Limit, TimeControl};
use serde::{Deserialize, Serialize};

/// What a player may spend; each field holds on its own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Seconds a move. `None` means no limit on time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Positions or simulations per move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Plies of depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl LimitsConfig {
    /// These limits, with gaps filled from the league's.
    #[must_use]
    pub fn or(&self, general: &Self) -> Self {
        // A player's own limit of any kind replaces the league's altogether: nodes instead of time, not both.
        if self == &Self::default() { general.clone() } else { self.clone() }
    }

    /// As the referee wants it.
    ///
    /// # Errors
    /// When a limit is 0, or the time is no number of seconds.
    pub fn limit(&self) -> Result<Limit, ConfigError> {
        let zero = |key: &str| ConfigError::Value(format!("limits.{key}"), "0".to_owned());
        let time = self
            .time
            .map(|seconds| {
                let time = mavis_stable::time::seconds(seconds)
                    .map_err(|error| ConfigError::Time("limits.time", error.to_string()))?;
                if time.is_zero() { Err(zero("time")) } else { Ok(time) }
            })
            .transpose()?;
        if self.nodes == Some(0) {
            return Err(zero("nodes"));
        }
        if self.depth == Some(0) {
            return Err(zero("depth"));
        }
        Ok(Limit { time, nodes: self.nodes, depth: self.depth, ..Limit::default() })
    }
}

/// Reads a clock such as `60+0.6`.
pub(super) fn clock(text: Option<&str>) -> Result<Option<TimeControl>, ConfigError> {
    text.map(|text| text.parse().map_err(|reason| ConfigError::Time("clock", reason))).transpose()
}
