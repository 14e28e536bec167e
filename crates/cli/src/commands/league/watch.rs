//! What happens in a league, on stderr.

mod duel;

pub(in crate::commands) use duel::Duel;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use mavis_league::Event;
use std::io::Write;
use std::time::{Duration, Instant};

/// How often a line appears where no bar can be drawn.
const EVERY: Duration = Duration::from_secs(10);

/// A bar at a terminal, a line now and then elsewhere.
pub(in crate::commands) struct Watch {
    bar: ProgressBar,
    last: Instant,
    /// When the first game of this run began, and how many were on disk then.
    began: (Instant, u64),
    /// The state of a sequential test.
    test: String,
    /// The score, where two players meet.
    duel: Option<Duel>,
    /// Whether the games stay on disk, so that the same command resumes a run that was stopped.
    pub(super) kept: bool,
}

impl Watch {
    /// A watch over a league; `title` begins each line, for several leagues.
    pub(super) fn new(title: &str) -> Self {
        let bar = ProgressBar::new(0).with_prefix(title.to_owned());
        let style = ProgressStyle::with_template("{prefix}{bar:30} {human_pos}/{human_len} games{msg}");
        // The template is ours; a plain bar would do as well.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let now = Instant::now();
        Self { bar, last: now, began: (now, 0), test: String::new(), duel: None, kept: true }
    }

    /// A watch over two players, which shows the score.
    pub(in crate::commands) fn over(duel: Duel, kept: bool) -> Self {
        Self { duel: Some(duel), kept, ..Self::new("") }
    }

    /// Takes an event.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Begin { finished, planned, concurrency, dropped_bytes } => {
                if *dropped_bytes > 0 {
                    self.line(&format!("dropped {dropped_bytes} bytes of a game that a stop cut short"));
                }
                self.line(&format!("{finished} of {planned} games on disk, {concurrency} at once"));
                self.bar.set_length(*planned);
                self.bar.set_position(*finished);
                self.began = (Instant::now(), *finished);
            }
            Event::Finished { game, finished, planned } => {
                if game.end.by.is_fault() {
                    let (number, reason) = (game.game, &game.end.reason);
                    self.line(&format!("game {number}, {} - {}: {reason}", game.first, game.second));
                }
                self.bar.set_position(*finished);
                let left = time_left(self.began.0.elapsed(), self.began.1, *finished, *planned);
                let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
                let state = match &mut self.duel {
                    Some(duel) => {
                        duel.add(game);
                        format!(": {duel}")
                    }
                    None => self.test.clone(),
                };
                self.bar.set_message(format!("{left}{state}"));
                if self.bar.is_hidden() && self.last.elapsed() >= EVERY {
                    self.last = Instant::now();
                    self.line(&format!("{finished}/{planned} games{left}{state}"));
                }
            }
            Event::Tested(state) => {
                self.test = format!(", LLR {:.2} in ({:.2}, {:.2})", state.llr, state.lower, state.upper);
            }
        }
    }

    /// Removes the bar before the answer.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// One line above the bar.
    pub(super) fn line(&self, text: &str) {
        let title = self.bar.prefix();
        // A closed stderr must not stop a league.
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{title}{text}");
        });
    }
}

/// How long the games that are left will take, by those of this run alone; `None` before the first of them.
fn time_left(elapsed: Duration, on_disk: u64, finished: u64, planned: u64) -> Option<Duration> {
    let played = u32::try_from(finished.saturating_sub(on_disk)).ok().filter(|played| *played > 0)?;
    let left = u32::try_from(planned.saturating_sub(finished)).ok()?;
    (elapsed / played).checked_mul(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_unknown_at_first_and_counts_no_games_of_earlier_runs() {
        let minute = Duration::from_secs(60);
        assert_eq!(time_left(minute, 0, 0, 100), None);
        assert_eq!(time_left(minute, 90, 90, 100), None);
        assert_eq!(time_left(minute, 90, 92, 100), Some(4 * minute));
        assert_eq!(time_left(minute, 0, 100, 100), Some(Duration::ZERO));
    }
}
