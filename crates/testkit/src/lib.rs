//! What tests need from the machine they run on.
//!
//! Some tests talk to the real Stockfish, and `cargo test --workspace` has to pass on a machine that has never seen one.
//! [`engine_path`] is the one place that knows where the engine is: on `PATH`, in `/usr/games`, or, when it is in neither,
//! in the build folder, where Debian's package is unpacked once. Nothing outside the build folder is written and no rights
//! are needed; on a system without `apt-get` the test fails with the line that says what to install.
//!
//! [`check_drawing`] finds labels that are cut or cover something.
//! [`NatsServer`] is a real queue server on loopback, alone or in a cluster.
//! [`Program`] runs a binary in a folder of its own, as a user would.
//! [`install_script`] writes a program that can be started at once.
//! [`python_with`] gives a Python with a package of PyPI, for the tests behind the features `peers`.
//!
//! ```no_run
//! let path = mavis_testkit::engine_path();
//! std::process::Command::new("stockfish").env("PATH", path).spawn()?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod drawing;
mod nats;
mod program;
mod python;
mod script;

pub use drawing::check_drawing;
pub use nats::NatsServer;
pub use program::Program;
pub use python::python_with;
pub use script::install_script;

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Where Debian's package of Stockfish has the program.
const GAMES: &str = "usr/games";
/// Where Debian's package of the NATS server has the program.
const SYSTEM: &str = "usr/sbin";

/// A value for `PATH` on which `stockfish` is found; the first call on a machine without the engine fetches it.
///
/// # Panics
/// When there is no engine and none can be fetched: without it the test says nothing.
#[must_use]
pub fn engine_path() -> OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let mut folders: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        folders.push(Path::new("/").join(GAMES));
        if !folders.iter().any(|folder| holds_engine(folder)) {
            let unpacked = unpacked("stockfish", GAMES, "stockfish").unwrap_or_else(|error| {
                panic!("these tests need Stockfish: install the package 'stockfish' ({error})")
            });
            folders.push(unpacked);
        }
        env::join_paths(folders).expect("folders of PATH have no separator in them")
    })
    .clone()
}

fn holds_engine(folder: &Path) -> bool {
    folder.join("stockfish").is_file()
}

/// The program of a NATS server with JetStream; the first call on a machine without one fetches it.
///
/// # Panics
/// When there is none and none can be fetched: without it the test says nothing.
#[must_use]
pub fn nats_server() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM
        .get_or_init(|| {
            let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
            // Debian puts it where only administrators have their path.
            let folders = path.into_iter().chain([Path::new("/").join(SYSTEM)]);
            let found = folders.map(|folder| folder.join("nats-server")).find(|program| program.is_file());
            found.unwrap_or_else(|| {
                let folder = unpacked("nats-server", SYSTEM, "nats-server").unwrap_or_else(|error| {
                    panic!("these tests need a NATS server: install the package 'nats-server' ({error})")
                });
                folder.join("nats-server")
            })
        })
        .clone()
}

/// The library that gives a program another time (`LD_PRELOAD`, with `FAKETIME` such as `+1h`); the first call on a machine
/// without it fetches it.
///
/// # Panics
/// When there is none and none can be fetched: without it the test says nothing.
#[must_use]
pub fn fake_time() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    const FILE: &str = "libfaketime.so.1";
    LIBRARY
        .get_or_init(|| {
            let inside = format!("usr/lib/{}-linux-gnu/faketime", env::consts::ARCH);
            let installed = Path::new("/").join(&inside).join(FILE);
            if installed.is_file() {
                return installed;
            }
            let folder = unpacked("libfaketime", &inside, FILE).unwrap_or_else(|error| {
                panic!("these tests need libfaketime: install the package 'libfaketime' ({error})")
            });
            folder.join(FILE)
        })
        .clone()
}

/// The folder of a package's file in the build folder, filled when it is empty.
fn unpacked(package: &str, inside: &str, file: &str) -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/engines");
    fs::create_dir_all(&root)?;
    let root = root.canonicalize()?;
    // Test programs run side by side: one fetches, the others wait for it.
    let lock = File::create(root.join("lock"))?;
    lock.lock()?;
    let folder = root.join(package);
    let wanted = Path::new(inside).join(file);
    if !folder.join(&wanted).is_file() {
        fetch(&root, &folder, package, &wanted)?;
    }
    Ok(folder.join(inside))
}

/// Downloads a package with a file and unpacks it. The rename at the end means that a half-unpacked program is never found.
fn fetch(root: &Path, folder: &Path, package: &str, wanted: &Path) -> io::Result<()> {
    #[expect(clippy::print_stderr, reason = "a test that takes minutes says why")]
    {
        eprintln!("{package} is not installed: fetching the package into {}", root.display());
    }
    let work = root.join("fetch");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    for needed in ["lists/partial", "cache/archives/partial", "unpacked"] {
        fs::create_dir_all(work.join(needed))?;
    }
    // Its own lists and cache: a fresh system has none, and the system's belong to the administrator.
    let apt = |verb: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .current_dir(&work)
            .arg("-qq")
            .args(["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="])
            .arg("-o")
            .arg(format!("Dir::State::lists={}/lists", work.display()))
            .arg("-o")
            .arg(format!("Dir::Cache={}/cache", work.display()))
            .args(verb);
        command
    };
    run(&mut apt(&["update"]))?;
    run(&mut apt(&["download", package]))?;
    let archive = fs::read_dir(&work)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| io::Error::other("apt-get download left no package"))?;
    run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(work.join("unpacked")))?;
    if !work.join("unpacked").join(wanted).is_file() {
        return Err(io::Error::other(format!("the package has no {} in it", wanted.display())));
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(work.join("unpacked"), folder)?;
    fs::remove_dir_all(&work)
}

fn run(command: &mut Command) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let last = message.lines().last().unwrap_or("no message");
    Err(io::Error::other(format!("{name}: {last}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_answers() {
        let path = engine_path();
        let engine = env::split_paths(&path)
            .map(|folder| folder.join("stockfish"))
            .find(|program| program.is_file())
            .expect("the path holds the engine");
        let answer = Command::new(engine).arg("quit").output().expect("it starts");
        assert!(String::from_utf8_lossy(&answer.stdout).starts_with("Stockfish"));
    }
}
