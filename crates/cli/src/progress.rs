//! Progress of long work: a bar on stderr for people, lines of JSON on stdout for machines.

use indicatif::{ProgressBar, ProgressStyle};
use mavis_data::job::JobEvent;
use serde_json::json;
use std::time::{Duration, Instant};

/// How often a line for machines appears.
const EVERY: Duration = Duration::from_secs(1);

/// Shows the events of a job.
pub(crate) struct JobProgress {
    bar: ProgressBar,
    json: bool,
    last: Option<Instant>,
}

impl JobProgress {
    /// A watcher; `unit` is what is counted.
    pub(crate) fn new(json: bool, unit: &str) -> Self {
        let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let style =
            ProgressStyle::with_template(&format!("{{bar:30}} {{human_pos}}/{{human_len}} {unit}, {{msg}}"));
        // The template is ours; a plain bar would do as well.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, json, last: None }
    }

    /// Takes an event.
    pub(crate) fn watch(&mut self, event: &JobEvent<'_>) {
        match event {
            JobEvent::Progress { n_done, n_total, per_second, left } => {
                let seconds = left.map(|left| left.as_secs());
                if self.json {
                    if n_done < n_total && self.last.is_some_and(|last| last.elapsed() < EVERY) {
                        return;
                    }
                    self.last = Some(Instant::now());
                    self.line(&json!({
                        "event": "progress", "done": n_done, "total": n_total,
                        "per_second": per_second, "seconds_left": seconds,
                    }));
                    return;
                }
                self.bar.set_length(*n_total);
                self.bar.set_position(*n_done);
                let left = seconds.map_or_else(String::new, |s| {
                    format!(", {}:{:02}:{:02} left", s / 3600, s / 60 % 60, s % 60)
                });
                self.bar.set_message(format!("{per_second:.1}/s{left}"));
            }
            JobEvent::Shard(shard) if self.json => {
                self.line(&json!({
                    "event": "shard", "number": shard.number, "files": shard.files,
                    "items": shard.n_items, "aside": shard.aside.len(),
                }));
            }
            JobEvent::Shard(_) => {}
        }
    }

    /// Removes the bar before the answer.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, value: &serde_json::Value) {
        use std::io::Write;
        // A reader that went away is no reason to stop the work; the final answer will say so.
        let _ = writeln!(std::io::stdout().lock(), "{value}");
    }
}
