//! Long work without the interpreter's lock that still hears Ctrl-C.

use pyo3::prelude::*;
use std::{
    future::Future,
    pin::pin,
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

/// How often Ctrl-C is looked for.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits for a future on this thread. After Ctrl-C `cancel` is called and the future awaited to its end, and the exception comes
/// out in place of the result.
pub(crate) fn block_on<T: Send>(
    py: Python<'_>,
    cancel: impl Fn() + Send + Sync,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    if tokio::runtime::Handle::try_current().is_ok() {
        // This thread drives a search whose evaluator called: the work goes to another one.
        return run(py, cancel, || Ok(runtime()?.block_on(future)))?;
    }
    py.detach(|| {
        let runtime = runtime()?;
        let result = runtime.block_on(async {
            let mut future = pin!(future);
            let mut interrupted = None;
            let mut ticks = tokio::time::interval(INTERVAL);
            loop {
                tokio::select! {
                    biased;
                    done = &mut future => return interrupted.map_or(Ok(done), Err),
                    _ = ticks.tick(), if interrupted.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            interrupted = Some(error);
                            cancel();
                        }
                    }
                }
            }
        });
        // A call that is still under way on another thread is not waited for.
        runtime.shutdown_background();
        result
    })
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().build()
}

/// Does blocking work on another thread and waits for it. After Ctrl-C `cancel` is called, the work awaited to its end, and the
/// exception comes out in place of the result.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    cancel: impl Fn() + Send + Sync,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            scope.spawn(move || {
                // The other end waits until this arrives.
                drop(sender.send(work()));
            });
            let mut interrupted = None;
            loop {
                match receiver.recv_timeout(INTERVAL) {
                    Ok(done) => return interrupted.map_or(Ok(done), Err),
                    Err(RecvTimeoutError::Timeout) => {
                        let signal = Python::attach(|py| py.check_signals());
                        if let (Err(error), None) = (signal, &interrupted) {
                            interrupted = Some(error);
                            cancel();
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        let lost =
                            pyo3::exceptions::PyRuntimeError::new_err("the work ended without a result");
                        return Err(interrupted.unwrap_or(lost));
                    }
                }
            }
        })
    })
}

/// Does blocking work that cannot be cancelled on another thread. After Ctrl-C the exception comes out at once and the work is
/// left to end by itself.
pub(crate) fn run_detached<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (sender, receiver) = channel();
        std::thread::Builder::new().name("mavis-work".to_owned()).spawn(move || {
            // Nobody waits any longer after Ctrl-C.
            drop(sender.send(work()));
        })?;
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(pyo3::exceptions::PyRuntimeError::new_err("the work ended without a result"));
                }
            }
        }
    })
}
