//! Metrics for people and programs.

use super::Metric;
use crate::wire::{BandJson, MetricJson};
use std::fmt::Write;

/// One row for each metric, with its bands below.
#[must_use]
pub fn metric_table(metrics: &[Metric]) -> String {
    let labels = metrics.iter().flat_map(|metric| {
        let bands = metric.bands.iter().map(|(label, _)| label.chars().count() + 2);
        std::iter::once(metric.name.chars().count()).chain(bands)
    });
    let width = labels.max().unwrap_or(0).max(6);
    let mut text = format!("{:<width$} {:>8} {:>17} {:>8}\n", "Metric", "Value", "95 %", "n");
    let row = |text: &mut String, label: &str, measured: &super::Measured| {
        let estimate = measured.estimate;
        let interval = format!("{:.4}..{:.4}", estimate.low, estimate.high);
        let _ = writeln!(text, "{label:<width$} {:>8.4} {interval:>17} {:>8}", estimate.value, measured.n);
    };
    for metric in metrics {
        match &metric.overall {
            Some(measured) => row(&mut text, &metric.name, measured),
            None => {
                let _ = writeln!(text, "{:<width$} {:>8} {:>17} {:>8}", metric.name, "-", "-", 0);
            }
        }
        for (label, measured) in &metric.bands {
            row(&mut text, &format!("  {label}"), measured);
        }
    }
    text
}

/// The same for `--json`.
#[must_use]
pub fn metrics_json(metrics: &[Metric]) -> Vec<MetricJson> {
    metrics
        .iter()
        .map(|metric| MetricJson {
            name: metric.name.clone(),
            n: metric.overall.map_or(0, |measured| measured.n),
            overall: metric.overall.map(|measured| measured.estimate.into()),
            bands: metric
                .bands
                .iter()
                .map(|(label, measured)| BandJson {
                    band: label.clone(),
                    n: measured.n,
                    estimate: measured.estimate.into(),
                })
                .collect(),
        })
        .collect()
}
