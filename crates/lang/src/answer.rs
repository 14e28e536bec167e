//! What a model says, with a meaning.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    command::{Commands, Given},
    example::outcome_token,
    moves,
    request::write_forms,
    value::value_token,
    vocab::{self, LINE_END, Token, vocabulary},
};
use mavis_game::{Move, Outcome, Position};
use mavis_value::Bucket;

/// The line of `%top_k`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Moves with their values for the player who makes them, in their order.
    Moves(Vec<(Move, Bucket)>),
    /// The game is over.
    Over(Outcome),
}

/// An answer: what the commands asked for, in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// The position after the given move, if state tracking was asked for.
    pub tracked: Option<Position>,
    /// Moves or outcome.
    pub listing: Option<Listing>,
    /// The best action; nothing once the game is over.
    pub best: Option<Move>,
    /// The position after the best action.
    pub next: Option<Position>,
}

/// The places of the parts of an answer, as token indices within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnswerSpans {
    /// The first move of the list, or `invalid`.
    pub list: usize,
    /// The end of the list's line.
    pub list_end: usize,
    /// The best action's move.
    pub best: usize,
    /// The line of the position after it.
    pub next: usize,
}

impl Answer {
    /// The listed moves; none once the game is over.
    #[must_use]
    pub fn moves(&self) -> &[(Move, Bucket)] {
        match &self.listing {
            Some(Listing::Moves(moves)) => moves,
            _ => &[],
        }
    }

    /// The outcome, if the answer says that the game is over.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.listing {
            Some(Listing::Over(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// The tokens of the answer.
    #[must_use]
    pub fn tokens(&self, commands: &Commands) -> Vec<Token> {
        let mut tokens = Vec::new();
        self.write(commands, &mut tokens);
        tokens
    }

    /// The answer as text.
    #[must_use]
    #[allow(clippy::expect_used, reason = "we wrote the tokens ourselves")]
    pub fn text(&self, commands: &Commands) -> String {
        vocabulary().decode(&self.tokens(commands)).expect("an answer is made of tokens")
    }

    /// Appends the answer and says where its parts are, counted from its own beginning.
    pub fn write(&self, commands: &Commands, tokens: &mut Vec<Token>) -> AnswerSpans {
        let origin = tokens.len();
        let mut spans = AnswerSpans::default();
        if let (Some(position), Given::Previous { tracked, .. }) = (&self.tracked, commands.given) {
            write_forms(position, tracked, tokens);
        }
        if let Some(listing) = &self.listing {
            commands.write_list_opening(tokens);
            spans.list = tokens.len() - origin;
            match listing {
                Listing::Moves(moves) => {
                    for &(mv, value) in moves {
                        tokens.push(move_token(commands, mv));
                        tokens.push(value_token(value));
                    }
                }
                Listing::Over(outcome) => tokens.extend([vocab::INVALID, outcome_token(*outcome)]),
            }
            spans.list_end = tokens.len() - origin;
            tokens.push(LINE_END);
        }
        if let Some(best) = self.best {
            spans.best = tokens.len() + 1 - origin;
            tokens.extend([vocab::BEST_ACTION, move_token(commands, best), LINE_END]);
        }
        spans.next = tokens.len() - origin;
        if let (Some(position), Some(forms)) = (&self.next, commands.next) {
            write_forms(position, forms, tokens);
        }
        spans
    }
}

/// Foreign codes print as the unknown token, so that a wrong answer still prints.
fn move_token(commands: &Commands, mv: Move) -> Token {
    moves::token_of(commands.rules, mv).unwrap_or(vocab::UNK)
}
