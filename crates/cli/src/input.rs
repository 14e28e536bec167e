//! Arguments shared by the commands, and the error that means "your input".
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use clap::Args;
use mavis_game::{Position, Rules};
use mavis_stable::folder_lock::LockError;
use std::{fmt, time::Duration};

/// Input that cannot be used; the program ends with exit code 2.
#[derive(Debug)]
pub(crate) struct BadInput(String);

impl BadInput {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// An error with its causes in one line, whatever it quotes; many name their cause themselves, which is said once.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let line =
        error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
            "" => cause,
            so_far if so_far.ends_with(&cause) => line,
            _ => format!("{line}: {cause}"),
        });
    let line = line.replace(char::is_control, " ");
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => line.get(..end).unwrap_or(&line).to_owned() + " ...",
        None => line,
    }
}

/// Letters of an error that are printed: some quote what they were given, however long that is.
const LONGEST_LINE: usize = 2_000;

/// Marks the error of a result as the user's.
pub(crate) trait OrBadInput<T> {
    fn or_bad_input(self) -> Result<T, BadInput>;
}

impl<T, E: fmt::Display> OrBadInput<T> for Result<T, E> {
    fn or_bad_input(self) -> Result<T, BadInput> {
        self.map_err(BadInput::new)
    }
}

/// Threads, games or engines at once. More is a mistake of typing, and would fill the memory.
pub(crate) fn at_once(text: &str) -> Result<usize, String> {
    count::<1024>(text)
}

/// The first or drawn items of an input.
pub(crate) fn limit(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number from 1".to_owned())
}

/// Positions that are held in memory.
pub(crate) fn in_memory(text: &str) -> Result<usize, String> {
    count::<1_000_000>(text)
}

fn count<const MOST: usize>(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST}"))
}

/// The time of `--movetime`.
pub(crate) fn move_time(seconds: Option<f64>) -> Result<Option<Duration>, BadInput> {
    seconds.map(|seconds| time("--movetime", seconds)).transpose()
}

/// The time that a flag gives in seconds.
pub(crate) fn time(flag: &str, seconds: f64) -> Result<Duration, BadInput> {
    mavis_stable::time::seconds(seconds).map_err(|error| BadInput::new(format!("bad {flag}: {error}")))
}

/// Whether a path names something of another kind or nothing, which is the user's mistake; a disk that fails is not.
pub(crate) fn is_wrong_path(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), AlreadyExists | IsADirectory | NotADirectory | NotFound)
}

/// A folder that another process writes to is the user's mistake; a disk that fails is not.
pub(crate) fn lock_failure(error: LockError) -> anyhow::Error {
    match &error {
        LockError::Io { error: cause, .. } if !is_wrong_path(cause) => error.into(),
        _ => BadInput::new(error).into(),
    }
}

/// Which game, and from where.
#[derive(Args, Clone)]
pub(crate) struct Place {
    /// chess, chess960, connect4, hex (hex:size=13, hex:swap), othello or togyz
    #[arg(long)]
    pub(crate) game: String,
    /// Position text (a FEN for chess). Default: the start position
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) position: Option<String>,
}

impl Place {
    pub(crate) fn rules(&self) -> Result<Rules, BadInput> {
        self.game.parse().or_bad_input()
    }

    pub(crate) fn position(&self) -> Result<Position, BadInput> {
        let rules = self.rules()?;
        match &self.position {
            Some(text) => Position::parse(rules, text).or_bad_input(),
            None => Ok(Position::start(rules)),
        }
    }
}
