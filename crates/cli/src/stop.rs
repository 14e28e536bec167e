//! Ctrl-C: the first one finishes the work in hand, the second stops.

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
