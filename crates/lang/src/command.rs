//! The commands of a header: what is given, what is asked.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    state,
    vocab::{self, DIGITS, HEX, HEX_SWAP, Token},
};
use mavis_game::Rules;

/// One way to write a position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// `%state`, one token a square.
    State,
    /// `%FEN`, chess only.
    Fen,
}

/// The ways a position is written, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Forms {
    /// `%state`.
    State,
    /// `%FEN`.
    Fen,
    /// `%state`, then `%FEN`.
    StateFen,
    /// `%FEN`, then `%state`.
    FenState,
}

impl Forms {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::State, Self::Fen, Self::StateFen, Self::FenState];

    /// The single forms in order.
    #[must_use]
    pub const fn as_slice(self) -> &'static [Form] {
        match self {
            Self::State => &[Form::State],
            Self::Fen => &[Form::Fen],
            Self::StateFen => &[Form::State, Form::Fen],
            Self::FenState => &[Form::Fen, Form::State],
        }
    }

    /// The choice that a sequence of forms is.
    pub(crate) fn from_slice(forms: &[Form]) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_slice() == forms)
    }
}

/// How many moves are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Top {
    /// `%top_K`, the K best or all if there are fewer; K is at least 1.
    Best(u16),
    /// `%top_all`.
    All,
}

impl Top {
    /// How many of `n_legal` moves an answer lists.
    #[must_use]
    pub fn n_listed(self, n_legal: usize) -> usize {
        match self {
            Self::Best(k) => n_legal.min(usize::from(k)),
            Self::All => n_legal,
        }
    }
}

/// What the input lines hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Given {
    /// The current position.
    Current(Forms),
    /// The position before and the move played in it; the answer begins with the position that follows.
    Previous {
        /// How the position before is written; `None` only inside a compact trace, where it stands further up.
        forms: Option<Forms>,
        /// How the answer writes the position after the move.
        tracked: Forms,
    },
}

/// The commands of one header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Commands {
    /// The game.
    pub rules: Rules,
    /// What the input lines hold.
    pub given: Given,
    /// How many moves are asked for; `None` means only state tracking.
    pub top: Option<Top>,
    /// Whether the best action is asked for; it needs `top`.
    pub best: bool,
    /// How the position after the best action is written, if asked for; it needs `best`.
    pub next: Option<Forms>,
}

/// Commands that ask for nothing sensible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// `%FEN` of a game that has none.
    #[error("only chess and chess960 have a FEN")]
    NoFen,
    /// `%best_action` without a list before it.
    #[error("%best_action must follow %top_k")]
    BestWithoutTop,
    /// A position after a best action that is not asked for.
    #[error("a state after the best action needs %best_action")]
    NextWithoutBest,
    /// `%top_0`.
    #[error("%top_0 lists nothing")]
    TopZero,
    /// No output is asked for.
    #[error("the commands request nothing")]
    Nothing,
}

impl Commands {
    /// The common request: a state in, every legal move with its value out.
    #[must_use]
    pub const fn top_all(rules: Rules) -> Self {
        Self { rules, given: Given::Current(Forms::State), top: Some(Top::All), best: false, next: None }
    }

    /// The same with the best action.
    #[must_use]
    pub const fn top_all_best(rules: Rules) -> Self {
        Self { best: true, ..Self::top_all(rules) }
    }

    /// The previous state and a move in; the new state, every legal move with its value and the best action out.
    #[must_use]
    pub const fn tracking(rules: Rules) -> Self {
        let given = Given::Previous { forms: Some(Forms::State), tracked: Forms::State };
        Self { given, ..Self::top_all_best(rules) }
    }

    /// Whether the input is a previous position and a move.
    #[must_use]
    pub const fn is_tracking(&self) -> bool {
        matches!(self.given, Given::Previous { .. })
    }

    /// Checks that the commands make sense together.
    ///
    /// # Errors
    /// With the first rule that they break.
    pub fn validate(&self) -> Result<(), CommandError> {
        let (given, tracked) = match self.given {
            Given::Current(forms) => (Some(forms), None),
            Given::Previous { forms, tracked } => (forms, Some(tracked)),
        };
        let with_fen =
            |forms: Option<Forms>| forms.is_some_and(|forms| forms.as_slice().contains(&Form::Fen));
        if !state::has_fen(self.rules) && [given, tracked, self.next].into_iter().any(with_fen) {
            Err(CommandError::NoFen)
        } else if self.best && self.top.is_none() {
            Err(CommandError::BestWithoutTop)
        } else if self.next.is_some() && !self.best {
            Err(CommandError::NextWithoutBest)
        } else if self.top == Some(Top::Best(0)) {
            Err(CommandError::TopZero)
        } else if self.top.is_none() && !self.is_tracking() {
            Err(CommandError::Nothing)
        } else {
            Ok(())
        }
    }

    /// Appends the header line.
    pub(crate) fn write(&self, tokens: &mut Vec<Token>) {
        let current = |form: &Form| match form {
            Form::State => vocab::HEADER_STATE,
            Form::Fen => vocab::HEADER_FEN,
        };
        tokens.push(header_token(self.rules));
        match self.given {
            Given::Current(forms) => tokens.extend(forms.as_slice().iter().map(current)),
            Given::Previous { forms, tracked } => {
                tokens.extend(forms.map_or(&[][..], Forms::as_slice).iter().map(|form| match form {
                    Form::State => vocab::HEADER_PREV_STATE,
                    Form::Fen => vocab::HEADER_PREV_FEN,
                }));
                tokens.push(vocab::HEADER_PREV_ACTION);
                tokens.extend(tracked.as_slice().iter().map(current));
            }
        }
        match self.top {
            None => {}
            Some(Top::All) => tokens.push(vocab::HEADER_TOP_ALL),
            Some(Top::Best(k)) => {
                tokens.push(vocab::HEADER_TOP);
                write_number(k, tokens);
            }
        }
        if self.best {
            tokens.push(vocab::HEADER_BEST);
        }
        tokens.extend(self.next.map_or(&[][..], Forms::as_slice).iter().map(current));
        tokens.push(vocab::HEADER_END);
    }

    /// Appends the opening of the list of moves, K included.
    pub(crate) fn write_list_opening(&self, tokens: &mut Vec<Token>) {
        match self.top {
            None => {}
            Some(Top::All) => tokens.push(vocab::OPEN_TOP_ALL),
            Some(Top::Best(k)) => {
                tokens.push(vocab::OPEN_TOP);
                write_number(k, tokens);
            }
        }
    }
}

/// Appends a number as plain digits.
pub(crate) fn write_number(number: u16, tokens: &mut Vec<Token>) {
    let mut power = 10_000;
    while power > 1 && number < power {
        power /= 10;
    }
    while power > 0 {
        tokens.push(DIGITS.start + number / power % 10);
        power /= 10;
    }
}

/// The token that opens a header of this game.
#[must_use]
pub fn header_token(rules: Rules) -> Token {
    match rules {
        Rules::Chess => vocab::HEADER_CHESS,
        Rules::Chess960 => vocab::HEADER_CHESS960,
        Rules::Connect4 => vocab::HEADER_CONNECT4,
        Rules::Othello => vocab::HEADER_OTHELLO,
        Rules::Togyz => vocab::HEADER_TOGYZ,
        Rules::Hex { size, swap } => {
            let block = if swap { HEX_SWAP } else { HEX };
            block.start + Token::from(size.clamp(3, 19)) - 3
        }
    }
}

/// The game that a header token opens.
#[must_use]
pub fn rules_of_header(token: Token) -> Option<Rules> {
    let hex = |place: Token, swap| Rules::Hex { size: place as u8 + 3, swap };
    match token {
        vocab::HEADER_CHESS => Some(Rules::Chess),
        vocab::HEADER_CHESS960 => Some(Rules::Chess960),
        vocab::HEADER_CONNECT4 => Some(Rules::Connect4),
        vocab::HEADER_OTHELLO => Some(Rules::Othello),
        vocab::HEADER_TOGYZ => Some(Rules::Togyz),
        _ => HEX
            .place(token)
            .map(|place| hex(place, false))
            .or_else(|| HEX_SWAP.place(token).map(|place| hex(place, true))),
    }
}
