//! Ctrl-C: the first one finishes the work in hand and says so, the second stops.

use mavis_search::Cancel;
use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Signals this close together are one wish: `timeout` sends its signal to the program and then to its group.
const ECHO: Duration = Duration::from_millis(100);
/// How long the program may take to end in order after the signal to drop its work.
const GRACE: Duration = Duration::from_secs(1);
/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// A flag that the first Ctrl-C raises; the second ends the program at once. `work` is what the program then finishes.
pub(crate) fn flag(work: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    finish(work, move || raised.store(true, Ordering::Relaxed));
    flag
}

/// A token that the first Ctrl-C cancels; the second ends the program at once. `work` is what the program then finishes.
pub(crate) fn cancel(work: &'static str) -> Cancel {
    let cancel = Cancel::new();
    let token = cancel.clone();
    finish(work, move || token.cancel());
    cancel
}

/// A token that the first Ctrl-C cancels, for a program that then ends without finishing anything; the second ends it at once.
pub(crate) fn end() -> Cancel {
    let cancel = Cancel::new();
    let token = cancel.clone();
    on_signal(move |number| match number {
        1 => token.cancel(),
        _ => exit_now(),
    });
    cancel
}

/// Two tokens: the first Ctrl-C cancels the one that finishes the games in hand, the second the one that drops them. The
/// program ends a moment after the second, whatever its players do, and at the third at once.
pub(crate) fn tokens() -> (Cancel, Cancel) {
    let (drain, cancel) = (Cancel::new(), Cancel::new());
    let tokens = (drain.clone(), cancel.clone());
    on_signal(move |number| match number {
        1 => {
            notice("finishing the games in hand; Ctrl-C again drops them and stops");
            drain.cancel();
        }
        2 => {
            notice("dropping the games in hand");
            cancel.cancel();
            // The handler returns, so that a third signal is noticed while this one waits.
            std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                exit_now();
            });
        }
        _ => exit_now(),
    });
    tokens
}

/// Calls `act` at the first Ctrl-C; the second ends the program.
fn finish(work: &'static str, act: impl Fn() + Send + 'static) {
    on_signal(move |number| {
        if number > 1 {
            exit_now();
        }
        notice(&format!("finishing {work}; Ctrl-C again stops at once"));
        act();
    });
}

/// Calls `act` with the number of each signal that is not an echo.
fn on_signal(mut act: impl FnMut(u32) + Send + 'static) {
    let (mut number, mut last) = (0, None::<Instant>);
    // Without a handler Ctrl-C still ends the program, only less gently.
    let _ = ctrlc::set_handler(move || {
        if last.is_some_and(|last| last.elapsed() <= ECHO) {
            return;
        }
        last = Some(Instant::now());
        number += 1;
        act(number);
    });
}

/// One line on stderr, in place of a progress bar that may be there.
fn notice(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let clear = if stderr.is_terminal() { "\r\x1b[2K" } else { "" };
    // A closed stderr is no reason to stop differently.
    let _ = writeln!(stderr, "{clear}{text}");
}

/// Ends the program, also while other threads use a GPU.
fn exit_now() -> ! {
    mavis_net::exit_after_cuda(INTERRUPTED);
    std::process::exit(i32::from(INTERRUPTED))
}
