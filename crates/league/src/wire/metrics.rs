//! Metrics as JSON.

use super::EstimateJson;
use serde::{Deserialize, Serialize};

/// One metric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MetricJson {
    /// What it is.
    pub name: String,
    /// Samples.
    pub n: usize,
    /// Over all samples; `null` without any.
    pub overall: Option<EstimateJson>,
    /// By band.
    pub bands: Vec<BandJson>,
}

/// One band of a metric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BandJson {
    /// Its label.
    pub band: String,
    /// Samples.
    pub n: usize,
    /// Value and interval.
    pub estimate: EstimateJson,
}
