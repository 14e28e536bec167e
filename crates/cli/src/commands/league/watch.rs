//! What happens in a league, on stderr.

use indicatif::{ProgressBar, ProgressStyle};
use mavis_league::Event;
use std::io::Write;
use std::time::{Duration, Instant};

/// How often a line appears where no bar can be drawn.
const EVERY: Duration = Duration::from_secs(10);

/// A bar at a terminal, a line now and then elsewhere.
pub(super) struct Watch {
    bar: ProgressBar,
    last: Instant,
}

impl Watch {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} games, {eta} left {msg}");
        // The template is ours; a plain bar would do as well.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, last: Instant::now() }
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
                self.bar.reset_eta();
            }
            Event::Finished { game, finished, planned } => {
                if game.end.by.is_fault() {
                    let (number, reason) = (game.game, &game.end.reason);
                    self.line(&format!("game {number}, {} - {}: {reason}", game.first, game.second));
                }
                self.bar.set_position(*finished);
                if self.bar.is_hidden() && self.last.elapsed() >= EVERY {
                    self.last = Instant::now();
                    self.line(&format!("{finished}/{planned} games"));
                }
            }
            Event::Tested(state) => {
                self.bar
                    .set_message(format!("LLR {:.2} in ({:.2}, {:.2})", state.llr, state.lower, state.upper));
            }
        }
    }

    /// Removes the bar before the answer.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// One line above the bar.
    pub(super) fn line(&self, text: &str) {
        // A closed stderr must not stop a league.
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{text}");
        });
    }
}
