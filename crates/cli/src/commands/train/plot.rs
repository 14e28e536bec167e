//! `mavis train plot`: curves of training runs, laid over each other.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::{commands::wrote, input::BadInput};
use anyhow::Context;
use clap::{Args, ValueEnum};
use mavis_league::report::{Line, Panel, panels};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Draws losses and metrics of runs as SVG, several runs over each other.
///
/// Example: mavis train plot runs/causal runs/full --out curves.svg
#[derive(Args)]
pub(crate) struct Plot {
    /// Folders of runs, or files of metrics (JSON lines; a field "run" separates several runs in one file)
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The SVG file to write
    #[arg(long)]
    out: PathBuf,
    /// The horizontal axis
    #[arg(long, value_enum, default_value_t = Against::Minutes)]
    against: Against,
    /// Which validation set is shown; by default chess, else the first
    #[arg(long = "set", value_name = "NAME")]
    set: Option<String>,
    /// Names of the runs in place of those of their folders, in order
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Draws only these runs of those found, by name
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Against {
    /// Minutes of training
    Minutes,
    /// Steps
    Steps,
    /// Millions of examples
    Examples,
}

impl Against {
    fn label(self) -> &'static str {
        match self {
            Self::Minutes => "minutes",
            Self::Steps => "steps",
            Self::Examples => "million examples",
        }
    }
}

/// What is drawn: title, where the number stands in a line of the log, its factor.
struct Shown {
    title: &'static str,
    event: &'static str,
    pointer: &'static str,
    factor: f64,
}

const fn shown(title: &'static str, event: &'static str, pointer: &'static str, factor: f64) -> Shown {
    Shown { title, event, pointer, factor }
}

/// Panels in order; `{set}` stands for the validation set. A panel without points is left out.
const PANELS: [Shown; 17] = [
    shown("loss of the list of moves, nats", "step", "/by_kind/move", 1.0),
    shown("loss of the values, nats", "step", "/by_kind/value", 1.0),
    shown("loss of states and other text, nats", "step", "/by_kind/text", 1.0),
    shown("loss of a predictor's answers, nats", "step", "/by_kind/answer", 1.0),
    shown("learning rate, thousandths", "step", "/learning_rate", 1000.0),
    shown("F1 of the legal set", "measure", "/quality/{set}/f1", 1.0),
    shown("whole sets, %", "measure", "/quality/{set}/whole_sets", 100.0),
    shown("action accuracy by mean, %", "measure", "/quality/{set}/action_accuracy", 100.0),
    shown("co-best move by mean, %", "measure", "/quality/{set}/best_by_mean", 100.0),
    shown("regret", "measure", "/quality/{set}/regret", 1.0),
    shown("value error", "measure", "/quality/{set}/value_error", 1.0),
    shown("ends seen, %", "measure", "/quality/{set}/ends", 100.0),
    shown("action accuracy, %", "measure", "/predictions/{set}/action_accuracy", 100.0),
    shown("Kendall's tau-b", "measure", "/predictions/{set}/kendall_tau", 1.0),
    shown("regret of a predictor", "measure", "/predictions/{set}/regret", 1.0),
    shown("value error of a predictor", "measure", "/predictions/{set}/value_error", 1.0),
    shown("puzzles solved, %", "measure", "/puzzles/0", 100.0),
];

/// The lines of one run.
struct PlottedRun {
    name: String,
    lines: Vec<Value>,
}

impl Plot {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut runs = Vec::new();
        for path in &self.runs {
            read(path, &mut runs)?;
        }
        for (run, name) in runs.iter_mut().zip(&self.names) {
            run.name.clone_from(name);
        }
        if !self.only.is_empty() {
            runs.retain(|run| self.only.contains(&run.name));
        }
        let sets = measured_sets(&runs);
        if let Some(unknown) = self.set.as_ref().filter(|name| !sets.contains(name)) {
            let text = format!("no run was measured on '{unknown}' (known: {})", sets.join(" "));
            return Err(BadInput::new(text).into());
        }
        let set = self.set.clone().or_else(|| common_set(&sets));
        let drawn: Vec<Panel> = PANELS
            .iter()
            .map(|shown| panel(shown, &runs, self.against, set.as_deref()))
            .filter(|panel| !panel.lines.is_empty())
            .collect();
        if drawn.is_empty() {
            return Err(BadInput::new("nothing to draw: no such run, or no step or measurement in it").into());
        }
        let names: Vec<String> = runs.into_iter().map(|run| run.name).collect();
        let text = panels(self.against.label(), &names, &drawn)
            .map_err(|error| anyhow::anyhow!("cannot draw: {error}"))?;
        std::fs::write(&self.out, text).with_context(|| self.out.display().to_string())?;
        wrote(&self.out);
        Ok(())
    }
}

/// Appends the runs of a folder or a file.
fn read(path: &Path, runs: &mut Vec<PlottedRun>) -> anyhow::Result<()> {
    let file = if path.is_dir() { path.join("metrics.jsonl") } else { path.to_owned() };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| BadInput::new(format!("{}: {error}", file.display())))?;
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let stem = stem.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let first = runs.len();
    // A line without an end was being written when its process was killed, or is being written now.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for (idx, line) in whole.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| BadInput::new(format!("{} line {}: {error}", file.display(), idx + 1)))?;
        let name = line.get("run").and_then(Value::as_str).unwrap_or(&stem).to_owned();
        match runs.iter_mut().skip(first).find(|run| run.name == name) {
            Some(run) => run.lines.push(line),
            None => runs.push(PlottedRun { name, lines: vec![line] }),
        }
    }
    Ok(())
}

/// The names of all validation sets, each once.
fn measured_sets(runs: &[PlottedRun]) -> Vec<String> {
    let measured = runs.iter().flat_map(|run| &run.lines).filter_map(|line| {
        let quality = line.get("quality").or(line.get("predictions"))?;
        Some(quality.as_object()?.keys().cloned())
    });
    let names: BTreeSet<String> = measured.flatten().collect();
    names.into_iter().collect()
}

/// The validation set that most people want: chess, else the first by name.
fn common_set(names: &[String]) -> Option<String> {
    names.iter().find(|name| name.contains("chess")).or(names.first()).cloned()
}

fn panel(shown: &Shown, runs: &[PlottedRun], against: Against, set: Option<&str>) -> Panel {
    // Names of sets may hold a slash, which a pointer writes as ~1.
    let set = set.unwrap_or_default();
    let pointer = shown.pointer.replace("{set}", &set.replace('~', "~0").replace('/', "~1"));
    let lines = runs
        .iter()
        .enumerate()
        .map(|(name_idx, run)| Line {
            name_idx,
            points: points(run, shown.event, against, |line| {
                Some(line.pointer(&pointer)?.as_f64()? * shown.factor)
            }),
        })
        // A kind that no example has is a line at zero, and says nothing.
        .filter(|line| line.points.iter().any(|(_, y)| y.abs() > 1e-5))
        .collect();
    let title = if shown.pointer.contains("{set}") {
        format!("{} ({set})", shown.title)
    } else {
        shown.title.to_owned()
    };
    Panel { title, lines }
}

/// One number over a run. Seconds and examples count from the start of a process, so where they fall a new one went on.
fn points(
    run: &PlottedRun,
    event: &str,
    against: Against,
    number: impl Fn(&Value) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let (mut before, mut last, mut points) = ((0.0, 0.0), (0.0, 0.0), Vec::new());
    for line in &run.lines {
        let field = |name: &str| line.get(name).and_then(Value::as_f64);
        let now = (field("seconds").unwrap_or(last.0), field("examples").unwrap_or(last.1));
        if now.0 < last.0 && field("examples").is_none_or(|examples| examples < last.1) {
            before = (before.0 + last.0, before.1 + last.1);
        }
        last = now;
        if line.get("event").and_then(Value::as_str) != Some(event) {
            continue;
        }
        let x = match against {
            Against::Minutes => (before.0 + now.0) / 60.0,
            Against::Steps => field("step").unwrap_or(0.0),
            Against::Examples => (before.1 + now.1) / 1e6,
        };
        points.extend(number(line).map(|y| (x, y)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &[&str]) -> PlottedRun {
        PlottedRun {
            name: "r".into(),
            lines: lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    #[test]
    fn a_run_that_went_on_counts_its_minutes_through() {
        let run = run(&[
            r#"{"event":"step","step":100,"seconds":30.0,"examples":1000000,"loss":3.0}"#,
            r#"{"event":"measure","step":150,"seconds":60.0,"quality":{"valid_chess":{"f1":0.5}}}"#,
            r#"{"event":"step","step":200,"seconds":30.0,"examples":500000,"loss":2.0}"#,
        ]);
        let loss = |against| points(&run, "step", against, |line| line.get("loss")?.as_f64());
        assert_eq!(loss(Against::Minutes), [(0.5, 3.0), (1.5, 2.0)]);
        assert_eq!(loss(Against::Steps), [(100.0, 3.0), (200.0, 2.0)]);
        assert_eq!(loss(Against::Examples), [(1.0, 3.0), (1.5, 2.0)]);
    }

    #[test]
    fn labels_of_every_panel_are_whole_and_cover_nothing() {
        let names = ["r".to_owned()];
        let points: Vec<(f64, f64)> = (1..6).map(|k| (f64::from(k), 0.1 * f64::from(k))).collect();
        let panels: Vec<Panel> = PANELS
            .iter()
            .map(|shown| {
                let empty = panel(shown, &[], Against::Minutes, Some("valid_connect4"));
                Panel { lines: vec![Line { name_idx: 0, points: points.clone() }], ..empty }
            })
            .collect();
        let svg = super::panels("minutes", &names, &panels).unwrap();
        assert!(mavis_testkit::check_drawing(&svg) > PANELS.len());
        assert!(!svg.contains('…'), "no title is shortened");
    }
}
