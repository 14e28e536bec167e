//! A question to a model: commands and the position they are about.
#![cfg_attr(
    not(test),
    deny(
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use crate::{
    command::{Commands, Form, Forms, Given},
    moves, state,
    vocab::{self, LINE_END, Token, vocabulary},
};
use mavis_game::{Game, Move, Position};

/// What the input lines say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// The current position.
    At(Position),
    /// The position before and the move played in it.
    After {
        /// The position before.
        previous: Position,
        /// The move, legal in it.
        action: Move,
    },
}

/// A question to a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is given and asked.
    pub commands: Commands,
    /// The position it is about.
    pub start: Start,
}

/// A request whose parts do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The commands themselves.
    #[error(transparent)]
    Commands(#[from] crate::command::CommandError),
    /// Commands of one game, a position of another.
    #[error("the commands are for {commands}, the position is one of {position}")]
    Rules {
        /// What the header says.
        commands: String,
        /// What the position is.
        position: String,
    },
    /// A previous position where the current one is expected, or the other way round.
    #[error("the commands and the input differ about state tracking")]
    Tracking,
    /// A previous action that is not legal.
    #[error("the previous action is not legal in the previous state")]
    IllegalAction,
}

impl Request {
    /// Asks about a position.
    #[must_use]
    pub fn at(position: Position, commands: Commands) -> Self {
        Self { commands, start: Start::At(position) }
    }

    /// Asks about what follows a move.
    #[must_use]
    pub fn after(previous: Position, action: Move, commands: Commands) -> Self {
        Self { commands, start: Start::After { previous, action } }
    }

    /// Checks that commands and input fit together.
    ///
    /// # Errors
    /// With the first thing that does not.
    pub fn validate(&self) -> Result<(), RequestError> {
        self.commands.validate()?;
        let position = match &self.start {
            Start::At(position) | Start::After { previous: position, .. } => position,
        };
        if position.rules() != self.commands.rules {
            return Err(RequestError::Rules {
                commands: self.commands.rules.to_string(),
                position: position.rules().to_string(),
            });
        }
        match &self.start {
            Start::At(_) if self.commands.is_tracking() => Err(RequestError::Tracking),
            Start::After { .. } if !self.commands.is_tracking() => Err(RequestError::Tracking),
            Start::After { previous, action } if !previous.is_legal(*action) => {
                Err(RequestError::IllegalAction)
            }
            _ => Ok(()),
        }
    }

    /// Header and input lines: everything the model does not write itself.
    #[must_use]
    pub fn prompt(&self) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(192);
        write_prompt(&self.commands, self.input(), &mut tokens);
        tokens
    }

    /// The prompt as text.
    #[must_use]
    #[allow(clippy::expect_used, reason = "we wrote the tokens ourselves")]
    pub fn prompt_text(&self) -> String {
        vocabulary().decode(&self.prompt()).expect("a prompt is made of tokens")
    }

    /// The tokens that begin any answer: the opening of its first line, which the header already decides.
    #[must_use]
    pub fn opening(&self) -> Vec<Token> {
        let mut tokens = Vec::with_capacity(4);
        match self.commands.given {
            Given::Previous { tracked, .. } => {
                tokens.extend(tracked.as_slice().first().map(|&form| open_token(form)));
            }
            Given::Current(_) => self.commands.write_list_opening(&mut tokens),
        }
        tokens
    }

    /// The position the moves are asked for: the given one, or by the rules the one after the move.
    #[must_use]
    pub fn current(&self) -> Position {
        match &self.start {
            Start::At(position) => position.clone(),
            Start::After { previous, action } => {
                let mut position = previous.clone();
                position.play_unchecked(*action);
                position
            }
        }
    }

    pub(crate) fn input(&self) -> Input<'_> {
        match &self.start {
            Start::At(position) => Input::At(position),
            Start::After { previous, action } => Input::After(previous, *action),
        }
    }
}

/// [`Start`] without ownership, for the hot path.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    At(&'a Position),
    After(&'a Position, Move),
}

/// Appends header and input lines.
pub(crate) fn write_prompt(commands: &Commands, input: Input<'_>, tokens: &mut Vec<Token>) {
    commands.write(tokens);
    match (commands.given, input) {
        (Given::Current(forms), Input::At(position)) => write_forms(position, forms, tokens),
        (Given::Previous { forms, .. }, Input::After(previous, action)) => {
            for form in forms.map_or(Default::default(), Forms::as_slice) {
                tokens.push(match form {
                    Form::State => vocab::OPEN_PREV_STATE,
                    Form::Fen => vocab::OPEN_PREV_FEN,
                });
                write_form(previous, *form, tokens);
            }
            tokens.push(vocab::OPEN_PREV_ACTION);
            tokens.push(moves::token_of(commands.rules, action).unwrap_or(vocab::UNK));
            tokens.push(LINE_END);
        }
        // `validate` refuses these; without input lines the header alone stands.
        (Given::Current(_), Input::After(..)) | (Given::Previous { .. }, Input::At(_)) => {}
    }
}

/// Appends the lines of a position in the given forms.
pub(crate) fn write_forms(position: &Position, forms: Forms, tokens: &mut Vec<Token>) {
    for &form in forms.as_slice() {
        tokens.push(open_token(form));
        write_form(position, form, tokens);
    }
}

pub(crate) const fn open_token(form: Form) -> Token {
    match form {
        Form::State => vocab::OPEN_STATE,
        Form::Fen => vocab::OPEN_FEN,
    }
}

fn write_form(position: &Position, form: Form, tokens: &mut Vec<Token>) {
    match form {
        Form::State => state::write_state(position, tokens),
        Form::Fen => state::write_fen(position, tokens),
    }
    tokens.push(LINE_END);
}
