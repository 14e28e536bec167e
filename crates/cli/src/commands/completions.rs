//! `mavis completions` and `mavis manual`: what shells and `man` want to know.

use super::answer;
use crate::{arguments::Arguments, input::BadInput};
use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use std::path::PathBuf;

/// Prints completions for a shell.
///
/// Example: mavis completions bash > ~/.local/share/bash-completion/completions/mavis
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "mavis", &mut text);
        answer(&String::from_utf8_lossy(&text))
    }
}

/// Writes a manual page for every command.
///
/// Example: mavis manual ~/.local/share/man/man1
#[derive(Args)]
pub(crate) struct Manual {
    /// The folder to write to; it is created if it is missing
    folder: PathBuf,
}

impl Manual {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = self.folder.display();
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| BadInput::new(format!("cannot create {folder}: {error}")))?;
        clap_mangen::generate_to(Arguments::command(), &self.folder)
            .with_context(|| format!("cannot write to {folder}"))?;
        answer(&self.folder.display().to_string())
    }
}
