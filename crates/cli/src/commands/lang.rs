//! `mavis lang`: the MAV language as text, tokens and checked answers.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{answer, answer_json};
use crate::input::{BadInput, OrBadInput};
use clap::{Args, Subcommand};
use mavis_bundled::wire::CheckRecord;
use mavis_game::Rules;
use mavis_lang::{Variety, report};
use serde::Serialize;
use std::{io::Read, path::PathBuf};

/// Shows and checks the language the model speaks.
#[derive(Args)]
pub(crate) struct Lang {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Tokenize(Tokenize),
    Example(Example),
    Check(Check),
    Tokenizer(Tokenizer),
}

/// Splits a text into tokens.
///
/// Example: mavis lang example --game hex --seed 3 | mavis lang tokenize -
#[derive(Args)]
struct Tokenize {
    /// A file, or - for standard input
    file: PathBuf,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints an example from a seed: a position of random play, its moves valued by random games.
///
/// Example: mavis lang example --game hex --seed 3
#[derive(Args)]
struct Example {
    /// chess, chess960, connect4, hex (hex:size=13), othello or togyz
    #[arg(long)]
    game: String,
    /// Seed of the position and the commands
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Text, ids and the length of the input as one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks a file of model answers: prompts with their answers, or traces, separated by empty lines.
///
/// Example: mavis lang check answers.txt
#[derive(Args)]
struct Check {
    /// A file, or - for standard input
    file: PathBuf,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the vocabulary as a tokenizer.json that the Hugging Face libraries load.
///
/// Example: mavis lang tokenizer > tokenizer.json
#[derive(Args)]
struct Tokenizer {}

impl Lang {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Tokenize(command) => command.run(),
            What::Example(command) => command.run(),
            What::Check(command) => command.run(),
            What::Tokenizer(_) => answer(&mavis_lang::export::tokenizer_json()),
        }
    }
}

/// The text of a file or of standard input.
fn read(file: &PathBuf) -> Result<String, BadInput> {
    let unreadable =
        |error: std::io::Error| BadInput::new(format!("cannot read {}: {error}", file.display()));
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(unreadable)?;
        return Ok(text);
    }
    std::fs::read_to_string(file).map_err(unreadable)
}

#[derive(Serialize)]
struct ShownToken {
    id: u16,
    text: &'static str,
}

impl Tokenize {
    fn run(self) -> anyhow::Result<()> {
        let split = report::tokenize(&read(&self.file)?).or_bad_input()?;
        if self.json {
            let tokens: Vec<ShownToken> =
                split.tokens.into_iter().map(|(id, text)| ShownToken { id, text }).collect();
            return answer_json(&tokens);
        }
        answer(&split.to_string())
    }
}

#[derive(Serialize)]
struct ShownExample {
    text: String,
    tokens: Vec<u16>,
    input_len: usize,
}

impl Example {
    fn run(self) -> anyhow::Result<()> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        let example = report::sample_example(rules, self.seed, &Variety::default()).or_bad_input()?;
        if self.json {
            let (text, input_len) = (example.text(), example.input_len);
            return answer_json(&ShownExample { text, tokens: example.tokens, input_len });
        }
        answer(&example.text())
    }
}

impl Check {
    fn run(self) -> anyhow::Result<()> {
        let report = report::check(&read(&self.file)?);
        if !self.json {
            return answer(&report.to_string());
        }
        answer_json(&CheckRecord::from(&report))
    }
}
