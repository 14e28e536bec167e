//! A child process that speaks in lines over its pipes, and dies with its handle and with this program.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod watchdog;

pub use watchdog::{forget, watched};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A line longer than this is no answer of a working engine.
const LONGEST_LINE: usize = 1 << 20;

/// How long we wait for an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// For its first answer: it may load large networks, on a machine where many engines start at once.
    pub startup: Duration,
    /// For every later one, beyond what the engine was given to think.
    pub answer: Duration,
}

impl Patience {
    /// The same for every answer.
    #[must_use]
    pub fn always(time: Duration) -> Self {
        Self { startup: time, answer: time }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self { startup: Duration::from_secs(60), answer: Duration::from_secs(5) }
    }
}

/// What goes wrong with a child engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine is not on this machine.
    #[error("engine '{program}' not found on PATH or in /usr/games; {hint}")]
    Missing {
        /// The name looked for.
        program: String,
        /// How to get it.
        hint: &'static str,
    },
    /// The program could not be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The process ended while an answer was due.
    #[error("the engine exited ({})", status.map_or_else(|| "status unknown".to_owned(), |status| status.to_string()))]
    Died {
        /// How it ended, where known.
        status: Option<ExitStatus>,
    },
    /// The pipe to it broke.
    #[error("pipe to the engine: {0}")]
    Pipe(#[from] io::Error),
    /// No answer in time.
    #[error("no {expected} within {} s", after.as_secs_f32())]
    Late {
        /// What was due.
        expected: &'static str,
        /// How long we waited.
        after: Duration,
    },
    /// An answer that makes no sense.
    #[error("expected {expected}, got '{got}'")]
    Nonsense {
        /// What a working engine says here.
        expected: &'static str,
        /// What this one said.
        got: String,
    },
    /// An option it does not have.
    #[error("the engine has no option '{name}' (it offers {offered})")]
    NoOption {
        /// The name asked for.
        name: String,
        /// All that it has.
        offered: String,
    },
    /// A value that one of its options does not take.
    #[error("the engine does not take '{value}' for its option: {option}")]
    OptionValue {
        /// The option as the engine describes it.
        option: String,
        /// The value asked for.
        value: String,
    },
}

/// A running child with its pipes. Dropping it kills its whole process group; so does the end of this program, whatever ends
/// it.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Bytes read but not yet given out, from `start` on.
    buffer: Vec<u8>,
    start: usize,
}

impl ChildProcess {
    /// Starts a program in a process group of its own, its stderr thrown away.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub fn start(program: &Path, arguments: &[String]) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Start { program: program.to_owned(), source };
        // A shell starts the program and could only report such a fault by its exit status.
        access(program, Access::EXEC_OK).map_err(|error| failed(error.into()))?;
        let mut command = watchdog::watched(program, arguments).map_err(failed)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Self { child, stdin, stdout, buffer: Vec::new(), start: 0 }),
            _ => Err(failed(io::Error::other("no pipes"))),
        }
    }

    /// The process id, which is also the id of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes text as it is; commands end in a newline.
    ///
    /// # Errors
    /// When the child is gone.
    pub fn send(&mut self, text: &str) -> Result<(), EngineError> {
        self.stdin.write_all(text.as_bytes()).map_err(|error| self.broken(error))
    }

    /// Whether a whole line has been read and not yet given out.
    #[must_use]
    pub fn has_line(&self) -> bool {
        self.buffer.iter().skip(self.start).any(|&byte| byte == b'\n')
    }

    /// The next line without its end, waiting until `deadline`; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// When the child is gone, talks without ever ending a line, or nothing comes in time: the last as [`None`].
    pub fn line(&mut self, deadline: Instant) -> Result<Option<String>, EngineError> {
        Ok(self.line_here(deadline)?.map(Cow::into_owned))
    }

    /// The same, without a copy: the line stands where it was read until the next one is asked for.
    ///
    /// # Errors
    /// As [`ChildProcess::line`].
    pub fn line_here(&mut self, deadline: Instant) -> Result<Option<Cow<'_, str>>, EngineError> {
        let mut searched = self.start;
        loop {
            let unsearched = self.buffer.get(searched..).unwrap_or_default();
            if let Some(length) = unsearched.iter().position(|&byte| byte == b'\n') {
                let end = searched.saturating_add(length);
                let bytes = self.buffer.get(self.start..end).unwrap_or_default().trim_ascii_end();
                self.start = end.saturating_add(1);
                // Nearly every line is text; looking for what is not takes several times as long.
                return Ok(Some(match std::str::from_utf8(bytes) {
                    Ok(line) => Cow::Borrowed(line),
                    Err(_) => String::from_utf8_lossy(bytes),
                }));
            }
            if self.buffer.len().saturating_sub(self.start) > LONGEST_LINE {
                return Err(EngineError::Nonsense {
                    expected: "lines",
                    got: "a megabyte without an end".into(),
                });
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            if !self.fill(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Reads what is there; `false` when nothing came until the deadline.
    fn fill(&mut self, deadline: Instant) -> Result<bool, EngineError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::new(&self.stdout, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Ok(false),
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(EngineError::Pipe(error.into())),
            }
        }
        // As much as a pipe holds, so that one read empties it.
        let mut chunk = [0; 1 << 16];
        match self.stdout.read(&mut chunk) {
            Ok(0) => Err(EngineError::Died { status: self.status() }),
            Ok(n) => {
                self.buffer.extend(chunk.iter().take(n));
                Ok(true)
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    fn broken(&mut self, error: io::Error) -> EngineError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            EngineError::Died { status: self.status() }
        } else {
            EngineError::Pipe(error)
        }
    }

    /// How the child ended; a process that closed its pipe is given a moment to end.
    fn status(&self) -> Option<ExitStatus> {
        let child = Pid::from_child(&self.child);
        // The child stays a zombie until it is dropped, so that nobody else can have the id of its group.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        for _ in 0..20 {
            if let Ok(Some(status)) = waitid(WaitId::Pid(child), options) {
                let exited = status.exit_status().map(|code| code << 8);
                return exited.or(status.terminating_signal()).map(ExitStatus::from_raw);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The group, so that a wrapper script's engine goes too. Errors mean it is gone already.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        watchdog::forget(self.child.id());
        self.child.wait().ok();
    }
}

/// Finds an engine: a path is taken as it is, a bare name is looked up on `PATH`, then in `/usr/games`.
///
/// # Errors
/// When it is nowhere; the message says how to install it.
pub fn find_engine(program: &str, search_path: Option<&std::ffi::OsStr>) -> Result<PathBuf, EngineError> {
    let named = Path::new(program);
    let folders =
        search_path.into_iter().flat_map(std::env::split_paths).chain([PathBuf::from("/usr/games")]);
    let found = if named.components().count() > 1 {
        named.is_file().then(|| named.to_owned())
    } else {
        folders.map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    found.ok_or_else(|| EngineError::Missing {
        program: program.to_owned(),
        hint: if program == "stockfish" {
            "on Debian and Ubuntu install it with 'apt install stockfish', or give its path"
        } else {
            "give the path of its program"
        },
    })
}
