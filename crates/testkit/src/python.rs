//! Python with packages from PyPI, for tests against other programs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of a virtual environment with a package, such as `chess` or `duckdb==1.4`. It is kept in the build folder and
/// is made once.
///
/// # Panics
/// When it cannot be made: without it the test says nothing.
#[must_use]
pub fn python_with(package: &str) -> PathBuf {
    environment(package)
        .unwrap_or_else(|error| panic!("these tests need the Python package {package} ({error})"))
}

fn environment(package: &str) -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    fs::create_dir_all(&root)?;
    let folder = root.canonicalize()?.join(package.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    // Test programs run side by side: one installs, the others wait for it.
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    let (python, ready) = (folder.join("bin/python"), folder.join("ready"));
    if !ready.exists() {
        crate::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        crate::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", package]))?;
        fs::write(ready, "")?;
    }
    Ok(python)
}
