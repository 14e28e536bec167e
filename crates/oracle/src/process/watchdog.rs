//! A small helper process that kills engines when this program is gone, however it ended.
//!
//! Handles of engines kill them when they are dropped, but `exit`, a panic in another thread or `kill -9` drop nothing. A
//! parent-death signal is no answer either: it is sent when the *thread* that started the child ends, it reaches no
//! grandchildren, and it can only be set by unsafe code. So one shell per program reads the ids of process groups from a pipe
//! that only this program (and an engine that is just starting) can write to. When the last writer is gone the shell sees the
//! end of the pipe and kills the groups that are still listed.

use std::ffi::OsStr;
use std::io::{self, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Reads `+ GROUP` and `- GROUP`; at the end of its input it kills the groups that were not taken back.
const WATCH: &str = r#"
trap '' HUP INT QUIT TERM
groups=' '
while read -r sign group; do
    case "$sign$groups" in
    +*) groups="$groups$group " ;;
    -*" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -9 "-$group"; done
"#;

/// Registers its own process group, then becomes the engine. While it does so it holds the pipe of the watchdog (its stderr)
/// open, so that the end of the pipe never comes before the registration.
const START: &str = r#"echo "+ $$" >&2 && exec "$@" 2>/dev/null"#;

/// The pipe to the watchdog of this program, once there is one.
static PIPE: Mutex<Option<PipeWriter>> = Mutex::new(None);

/// A command that runs a program in a process group of its own, which the watchdog knows. Its stderr is thrown away.
///
/// # Errors
/// When the watchdog cannot be started.
pub fn watched(program: &Path, arguments: &[String]) -> io::Result<Command> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c".as_ref(), START.as_ref(), OsStr::new("mavis-engine"), program.as_os_str()]);
    command.args(arguments).stderr(pipe()?).process_group(0);
    Ok(command)
}

/// Takes a group from the list, before its id can be used again: to be called when the program that led it was waited for.
pub fn forget(group: u32) {
    if let Some(pipe) = lock().as_mut() {
        // A watchdog that is gone has no list.
        writeln!(pipe, "- {group}").ok();
    }
}

/// The writing end of the watchdog's pipe; starts the watchdog where there is none, or where it was killed.
fn pipe() -> io::Result<PipeWriter> {
    let mut pipe = lock();
    // An empty line is ignored by the watchdog and fails when nobody reads.
    if let Some(writer) = pipe.as_mut()
        && writer.write_all(b"\n").is_ok()
    {
        return writer.try_clone();
    }
    let (reader, writer) = io::pipe()?;
    Command::new("/bin/sh")
        .args(["-c", WATCH, "mavis-watchdog"])
        .current_dir("/")
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    pipe.insert(writer).try_clone()
}

fn lock() -> std::sync::MutexGuard<'static, Option<PipeWriter>> {
    // A thread that panicked here left a pipe as good as before.
    PIPE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
