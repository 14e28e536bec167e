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
        // One sample alone has no interval.
        let interval = match estimate.margin().is_finite() {
            true => format!("{:.4}..{:.4}", estimate.low, estimate.high),
            false => "-".to_owned(),
        };
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

/// The same metrics on several inputs side by side, without bands: a name, the number of samples and the metrics of each.
#[must_use]
pub fn metric_columns(sets: &[(String, usize, Vec<Metric>)]) -> String {
    let names = sets.first().map(|(_, _, metrics)| metrics.as_slice()).unwrap_or_default();
    let width = names.iter().map(|metric| metric.name.chars().count()).max().unwrap_or(0).max(6);
    let columns: Vec<usize> = sets.iter().map(|(name, ..)| name.chars().count().max(24)).collect();
    let mut text = format!("{:<width$}", "Metric");
    for ((name, ..), column) in sets.iter().zip(&columns) {
        let _ = write!(text, "  {name:>column$}");
    }
    let _ = write!(text, "\n{:<width$}", "n");
    for ((_, n, _), column) in sets.iter().zip(&columns) {
        let _ = write!(text, "  {n:>column$}");
    }
    for (row, metric) in names.iter().enumerate() {
        let _ = write!(text, "\n{:<width$}", metric.name);
        for ((_, _, metrics), column) in sets.iter().zip(&columns) {
            let cell = metrics.get(row).and_then(|metric| metric.overall).map_or_else(
                || "-".to_owned(),
                |measured| {
                    let estimate = measured.estimate;
                    format!("{:.4} ({:.4}..{:.4})", estimate.value, estimate.low, estimate.high)
                },
            );
            let _ = write!(text, "  {cell:>column$}");
        }
    }
    text + "\n"
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
