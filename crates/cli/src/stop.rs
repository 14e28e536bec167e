//! Ctrl-C: the first one finishes the work in hand, the second stops.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A flag that the first Ctrl-C raises; the second ends the program at once.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    // Without a handler Ctrl-C still ends the program, only less gently.
    let _ = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    flag
}
