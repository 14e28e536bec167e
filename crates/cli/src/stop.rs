//! Ctrl-C: the first one finishes the work in hand, the second stops.

use mavis_search::Cancel;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Signals this close together are one wish: `timeout` and some shells send theirs twice.
const ECHO: Duration = Duration::from_secs(1);

/// A flag that the first Ctrl-C raises; the second ends the program at once.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // Without a handler Ctrl-C still ends the program, only less gently.
    let mut first = None;
    let _ = ctrlc::set_handler(move || {
        raised.store(true, Ordering::Relaxed);
        if first.get_or_insert_with(Instant::now).elapsed() > ECHO {
            std::process::exit(130);
        }
    });
    flag
}

/// Two tokens: the first Ctrl-C cancels the one that finishes the work in hand, the second the one that drops it. A third
/// ends the program at once.
pub(crate) fn tokens() -> (Cancel, Cancel) {
    let (drain, cancel) = (Cancel::new(), Cancel::new());
    let tokens = (drain.clone(), cancel.clone());
    let mut last: Option<Instant> = None;
    // Without a handler Ctrl-C still ends the program, only less gently.
    let _ = ctrlc::set_handler(move || {
        if last.is_some_and(|last| last.elapsed() <= ECHO) {
            return;
        }
        last = Some(Instant::now());
        if cancel.is_cancelled() {
            std::process::exit(130);
        } else if drain.is_cancelled() {
            cancel.cancel();
        } else {
            drain.cancel();
        }
    });
    tokens
}
