//! What a person types: moves and commands, with line editing at a terminal.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use rustyline::{
    Config, Context, Editor, Helper, completion::Completer, error::ReadlineError, highlight::Highlighter,
    hint::Hinter, history::MemHistory, validate::Validator,
};

/// The commands and what they do; moves are everything else.
pub(super) const COMMANDS: [(&str, &str); 9] = [
    ("help", "this list"),
    ("moves", "the legal moves"),
    ("board", "the board again"),
    ("hint", "what the model would play"),
    ("undo", "takes back your last move and the reply"),
    ("flip", "turns the board"),
    ("draw", "claims a draw where the rules allow it"),
    ("resign", "gives up the game"),
    ("quit", "leaves the game, which can be continued (also Ctrl-D)"),
];

/// Something a person typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A command of [`COMMANDS`].
    Command(&'static str),
    /// Everything else.
    Move(String),
}

impl Typed {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let lower = line.trim_start_matches('/').to_lowercase();
        let lower = match lower.as_str() {
            "?" => "help",
            "exit" | "q" => "quit",
            "u" | "takeback" => "undo",
            other => other,
        };
        let command = COMMANDS.iter().find(|(name, _)| *name == lower);
        match command {
            Some((name, _)) => Some(Self::Command(name)),
            None if line.is_empty() => None,
            None => Some(Self::Move(line.to_owned())),
        }
    }
}

/// Reads lines from standard input.
pub(super) struct Prompt {
    editor: Editor<Words, MemHistory>,
}

impl Prompt {
    pub(super) fn new() -> anyhow::Result<Self> {
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = Editor::with_history(config, MemHistory::new())?;
        editor.set_helper(Some(Words { moves: Vec::new() }));
        Ok(Self { editor })
    }

    /// The next thing that is not an empty line. Ctrl-C, Ctrl-D and the end of the input quit.
    pub(super) fn read(&mut self, prompt: &str, moves: Vec<String>) -> anyhow::Result<Typed> {
        self.editor.set_helper(Some(Words { moves }));
        loop {
            match self.editor.readline(prompt) {
                Ok(line) => {
                    if let Some(typed) = Typed::read(&line) {
                        return Ok(typed);
                    }
                }
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => return Ok(Typed::Command("quit")),
                Err(ReadlineError::Signal(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What Tab completes.
struct Words {
    moves: Vec<String>,
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..at).unwrap_or(line);
        let commands = COMMANDS.iter().map(|(name, _)| (*name).to_owned());
        let known = self.moves.iter().cloned().chain(commands);
        Ok((0, known.filter(|word| word.starts_with(begun)).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Typed>) {
        assert_eq!(Typed::read(line), expected, "{line}");
    }

    #[test]
    fn commands_are_told_from_moves() {
        check("  ", None);
        check(" Undo ", Some(Typed::Command("undo")));
        check("/hint", Some(Typed::Command("hint")));
        check("?", Some(Typed::Command("help")));
        check("Nf3", Some(Typed::Move("Nf3".to_owned())));
    }
}
