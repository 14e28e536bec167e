//! The command line, and what is wrong with it in one line.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::{commands, input::one_line};
use clap::{Parser, error::ErrorKind};
use std::process::ExitCode;

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
                // Nobody reads a closed stdout.
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            #[expect(clippy::print_stderr, reason = "the other place where a failed command speaks")]
            {
                eprintln!("mavis: {}", mistake(&error));
            }
            ExitCode::from(2)
        })
    }
}

/// What is wrong, what clap suggests, and where to read more, in one line.
fn mistake(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let reason = parts.next().unwrap_or_default();
    let mut line = reason.trim_start_matches("error: ").to_owned();
    let mut command = "mavis".to_owned();
    for part in parts {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            let names = usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-']));
            command = names.collect::<Vec<_>>().join(" ");
        } else if part.starts_with("tip: ") {
            line.push_str(&format!(" ({part})"));
        }
    }
    one_line(&anyhow::Error::msg(format!("{line}; see {command} --help")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn check(line: &str, expected: &str) {
        let words = std::iter::once("mavis").chain(line.split(' '));
        let error = Arguments::try_parse_from(words).err().expect("a mistake");
        assert_eq!(mistake(&error), expected);
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
