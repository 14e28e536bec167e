//! The command line, and what is wrong with it in one line.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::{commands, input::one_line};
use clap::{CommandFactory as _, Parser, error::ErrorKind};
use std::{ffi::OsString, io, process::ExitCode};

/// Plans in board games with language models.
///
/// Without a command it serves the page at a terminal, and lets the model play one game against itself elsewhere.
/// Examples: mavis serve; mavis play hex; mavis help players
#[derive(Parser)]
#[command(name = "mavis", version = env!("MAVIS_VERSION"), arg_required_else_help = false, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<commands::Command>,
}

impl Arguments {
    /// Reads the command line. Help and version are printed; a mistake is one line on stderr and code 2.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| {
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                return match error.print() {
                    // Nobody reads a closed stdout.
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&error.to_string(), 1),
                    _ => ExitCode::SUCCESS,
                };
            }
            fail(&mistake(&error, std::env::args_os()), 2)
        })
    }
}

fn fail(reason: &str, code: u8) -> ExitCode {
    #[expect(clippy::print_stderr, reason = "the other place where a failed command speaks")]
    {
        eprintln!("mavis: {reason}");
    }
    ExitCode::from(code)
}

/// What is wrong, what clap suggests, and where to read more, in one line.
fn mistake(error: &clap::Error, words: impl Iterator<Item = OsString>) -> String {
    let text = error.render().to_string();
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let reason = parts.next().unwrap_or_default();
    let mut line = reason.trim_start_matches("error: ").to_owned();
    for part in parts.filter(|part| part.starts_with("tip: ")) {
        line.push_str(&format!(" ({part})"));
    }
    one_line(&anyhow::Error::msg(format!("{line}; see {} --help", command_of(words))))
}

/// The command that a line names. Clap has it in the usage of some mistakes, but not in those of values.
fn command_of(words: impl Iterator<Item = OsString>) -> String {
    let mut command = &Arguments::command();
    let mut names = command.get_name().to_owned();
    for word in words.skip(1) {
        let Some(below) = command.find_subcommand(word) else { break };
        names = format!("{names} {}", below.get_name());
        command = below;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words = std::iter::once("mavis").chain(line.split(' '));
        let error = Arguments::try_parse_from(words.clone()).err().expect("a mistake");
        assert_eq!(mistake(&error, words.map(OsString::from)), expected);
    }

    #[test]
    fn mistakes_are_one_line() {
        check(
            "plya",
            "unrecognized subcommand 'plya' (tip: some similar subcommands exist: 'players', 'plan', 'play'); see mavis --help",
        );
        check(
            "play --agianst mav",
            "unexpected argument '--agianst' found (tip: a similar argument exists: '--against'); see mavis play --help",
        );
        check(
            "perft --game chess",
            "the following required arguments were not provided: --depth <DEPTH>; see mavis perft --help",
        );
        check(
            "match a",
            "the following required arguments were not provided: <SECOND>; see mavis match --help",
        );
        check(
            "prob train",
            "unrecognized subcommand 'prob' (tip: a similar subcommand exists: 'probs'); see mavis --help",
        );
        check(
            "perft --game chess --depth x",
            "invalid value 'x' for '--depth <DEPTH>': invalid digit found in string; see mavis perft --help",
        );
        check(
            "eval calibration --input a --bins 0",
            "invalid value '0' for '--bins <BINS>': 0 is not in 1..=1000; see mavis eval calibration --help",
        );
    }

    /// Help that scrolls away helps nobody.
    #[test]
    fn help_is_short_and_has_an_example() {
        fn visit(command: &mut clap::Command, path: &str) {
            let help = command.render_long_help().to_string();
            let n_lines = help.lines().count();
            assert!(n_lines <= 100, "{path}: {n_lines} lines");
            if !command.has_subcommands() {
                assert!(help.contains("Example"), "{path} has no example");
            }
            for below in command.get_subcommands_mut() {
                let path = format!("{path} {}", below.get_name());
                visit(below, &path);
            }
        }
        visit(&mut Arguments::command(), "mavis");
    }

    /// Every start of Othello begins with a hyphen.
    #[test]
    fn positions_may_begin_with_a_hyphen_wherever_one_is_given() {
        fn count(command: &clap::Command) -> usize {
            let positions =
                command.get_arguments().filter(|argument| argument.get_long() == Some("position"));
            let here = positions
                .inspect(|argument| assert!(argument.is_allow_hyphen_values_set(), "{}", command.get_name()))
                .count();
            here + command.get_subcommands().map(count).sum::<usize>()
        }
        assert!(count(&Arguments::command()) >= 4);
    }
}
