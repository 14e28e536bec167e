//! The program under test.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A binary in a fresh folder, which is removed with it.
#[derive(Debug)]
pub struct Program {
    binary: &'static str,
    folder: tempfile::TempDir,
}

impl Program {
    /// The binary in a new folder; tests pass `env!("CARGO_BIN_EXE_mavis")`.
    ///
    /// # Panics
    /// When there is no place for a folder.
    #[must_use]
    pub fn new(binary: &'static str) -> Self {
        Self { binary, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Where it runs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into its folder.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder().join(name), content).expect("the file is written");
    }

    /// A command of the words of a line ('a word in quotes' may hold spaces), with the engine on its path and nothing on stdin.
    #[must_use]
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(self.binary);
        command
            .args(words(line))
            .current_dir(self.folder())
            .env("PATH", crate::engine_path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn output(&self, line: &str) -> Output {
        self.command(line).output().expect("the binary starts")
    }

    /// What a command answers.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn stdout(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("answers are text")
    }

    /// Runs a command whose answer does not matter.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, line: &str) {
        let _ = self.stdout(line);
    }

    /// Checks that a command is refused: code 2, one line on stderr that has `part` in it, nothing on stdout.
    ///
    /// # Panics
    /// When it is not.
    pub fn check_bad(&self, line: &str, part: &str) {
        let output = self.output(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.contains(part), "{line}: {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
        assert!(output.stdout.is_empty(), "nothing on stdout");
    }
}

/// The words of a line: what is between spaces, or between single quotes.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(idx, part)| match idx % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}
