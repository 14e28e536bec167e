//! How far an answer has come while it is written, token by token.
//!
//! A decoder needs to know when to stop, which token of a list is a value, and what the header already decides. The strict parser
//! reads the finished answer; this only follows it, and stops where the parser is sure to refuse.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    command::{Commands, Form, Forms, Given, Top},
    example::outcome_of,
    moves,
    request::open_token,
    state,
    value::bucket_of,
    vocab::{self, LINE_END, Token},
};
use mavis_game::Move;

/// More tokens than any FEN has.
const MOST_FEN_TOKENS: usize = 128;

/// Whether more is to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The answer goes on.
    More,
    /// The answer is complete.
    Done,
    /// What stands there is no sentence of the language; the parser says why.
    Broken,
}

/// Follows an answer to some commands.
#[derive(Clone, Debug)]
pub struct AnswerProgress {
    commands: Commands,
    lines: Vec<Line>,
    /// The opening of the list, K included.
    list_opening: Vec<Token>,
    line_idx: usize,
    /// Tokens written of the line.
    column: usize,
    /// Moves listed so far.
    listed: Vec<Move>,
    best: Option<Move>,
    over: bool,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Position(Form),
    List,
    Best,
}

impl AnswerProgress {
    /// Before the first token of an answer.
    #[must_use]
    pub fn new(commands: &Commands) -> Self {
        let forms = |forms: Forms| forms.as_slice().iter().map(|&form| Line::Position(form));
        let mut lines = Vec::with_capacity(6);
        if let Given::Previous { tracked, .. } = commands.given {
            lines.extend(forms(tracked));
        }
        lines.extend(commands.top.map(|_| Line::List));
        lines.extend(commands.best.then_some(Line::Best));
        lines.extend(commands.next.into_iter().flat_map(forms));
        let mut list_opening = Vec::with_capacity(4);
        commands.write_list_opening(&mut list_opening);
        let step = if lines.is_empty() { Step::Done } else { Step::More };
        Self {
            commands: *commands,
            lines,
            list_opening,
            line_idx: 0,
            column: 0,
            listed: Vec::new(),
            best: None,
            over: false,
            step,
        }
    }

    /// How far the answer is.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// Takes the next token. Nothing changes once the answer is done or broken.
    pub fn push(&mut self, token: Token) -> Step {
        if self.step != Step::More {
            return self.step;
        }
        let Some(&line) = self.lines.get(self.line_idx) else { return self.step };
        let fits = match line {
            Line::Position(form) => self.position_token(form, token),
            Line::List => self.list_token(token),
            Line::Best => match self.column {
                0 => token == vocab::BEST_ACTION,
                1 => {
                    self.best = moves::move_of(self.commands.rules, token);
                    self.best.is_some()
                }
                _ => token == LINE_END,
            },
        };
        self.column += 1;
        if !fits {
            self.step = Step::Broken;
        } else if token == LINE_END {
            self.line_idx += 1;
            self.column = 0;
            // Once the game is over there is nothing left to choose.
            if self.line_idx == self.lines.len() || self.over {
                self.step = Step::Done;
            }
        }
        self.step
    }

    /// How many of the next tokens are fields of the state that is being written.
    #[must_use]
    pub fn fields_left(&self) -> usize {
        match self.lines.get(self.line_idx) {
            Some(Line::Position(Form::State)) if self.step == Step::More && self.column > 0 => {
                (state::state_len(self.commands.rules) + 1).saturating_sub(self.column)
            }
            _ => 0,
        }
    }

    /// Takes the first of these tokens, as far as they are fields of the state that is being written; says how many. Any token but
    /// the end of a line may stand in a field, so many are taken as fast as one.
    pub fn push_fields(&mut self, tokens: &[Token]) -> usize {
        let fields = tokens.iter().take(self.fields_left());
        let n = fields.take_while(|token| **token != LINE_END).count();
        self.column += n;
        n
    }

    /// The listed move whose value comes next.
    #[must_use]
    pub fn awaits_value(&self) -> Option<Move> {
        let in_list = self.step == Step::More && self.lines.get(self.line_idx) == Some(&Line::List);
        let column = self.column.checked_sub(self.list_opening.len())?;
        (in_list && !self.over && column % 2 == 1).then(|| self.listed.last().copied()).flatten()
    }

    /// Whether the next token is the first of the list: a move, or that the game is over.
    #[must_use]
    pub fn opens_list(&self) -> bool {
        self.step == Step::More
            && self.lines.get(self.line_idx) == Some(&Line::List)
            && self.column == self.list_opening.len()
    }

    /// Whether the next token is the first field of a state.
    #[must_use]
    pub fn opens_state(&self) -> bool {
        self.step == Step::More
            && self.lines.get(self.line_idx) == Some(&Line::Position(Form::State))
            && self.column == 1
    }

    /// Whether the next token is a move of the list, or its end.
    #[must_use]
    pub fn awaits_listed(&self) -> bool {
        let column = self.column.checked_sub(self.list_opening.len());
        self.step == Step::More
            && self.lines.get(self.line_idx) == Some(&Line::List)
            && !self.over
            && column.is_some_and(|column| column % 2 == 0)
    }

    /// Whether the next token says how the game ended.
    #[must_use]
    pub fn awaits_outcome(&self) -> bool {
        self.over && self.step == Step::More && self.column == self.list_opening.len() + 1
    }

    /// Whether the next token is the best action.
    #[must_use]
    pub fn awaits_best(&self) -> bool {
        self.step == Step::More && self.lines.get(self.line_idx) == Some(&Line::Best) && self.column == 1
    }

    /// The moves listed so far.
    #[must_use]
    pub fn listed(&self) -> &[Move] {
        &self.listed
    }

    /// The best action, once it is written.
    #[must_use]
    pub fn best(&self) -> Option<Move> {
        self.best
    }

    /// The tokens that must come next whatever the model thinks: openings and ends of lines.
    #[must_use]
    pub fn forced(&self) -> Vec<Token> {
        let Some(&line) = self.lines.get(self.line_idx).filter(|_| self.step == Step::More) else {
            return Vec::new();
        };
        let full = matches!(self.commands.top, Some(Top::Best(k)) if self.listed.len() >= usize::from(k));
        match line {
            _ if self.column == 0 => self.opening(line),
            Line::Position(Form::State) if self.column > state::state_len(self.commands.rules) => {
                vec![LINE_END]
            }
            Line::List if self.column < self.list_opening.len() => {
                self.list_opening.iter().skip(self.column).copied().collect()
            }
            Line::List if full && self.awaits_value().is_none() => vec![LINE_END],
            // "invalid" and the outcome are all that a list of a finished game has.
            Line::List if self.over && self.column == self.list_opening.len() + 2 => vec![LINE_END],
            Line::Best if self.column == 2 => vec![LINE_END],
            _ => Vec::new(),
        }
    }

    /// The tokens that must come after the line of a state, once that is complete: the opening of the next line.
    #[must_use]
    pub fn forced_after_state(&self) -> Vec<Token> {
        self.lines.get(self.line_idx + 1).map_or_else(Vec::new, |&line| self.opening(line))
    }

    /// The tokens that begin a line.
    fn opening(&self, line: Line) -> Vec<Token> {
        match line {
            Line::Position(form) => vec![open_token(form)],
            Line::List => self.list_opening.clone(),
            Line::Best => vec![vocab::BEST_ACTION],
        }
    }

    fn position_token(&self, form: Form, token: Token) -> bool {
        let len = state::state_len(self.commands.rules);
        match (self.column, form) {
            (0, _) => token == open_token(form),
            (column, Form::State) => (token == LINE_END) == (column > len),
            (column, Form::Fen) => column <= MOST_FEN_TOKENS,
        }
    }

    fn list_token(&mut self, token: Token) -> bool {
        let Some(column) = self.column.checked_sub(self.list_opening.len()) else {
            return self.list_opening.get(self.column) == Some(&token);
        };
        if self.over {
            return if column == 1 { outcome_of(token).is_some() } else { token == LINE_END };
        }
        if column % 2 == 1 {
            return bucket_of(token).is_some();
        }
        if column == 0 && token == vocab::INVALID {
            self.over = true;
            return true;
        }
        if column > 0 && token == LINE_END {
            return true;
        }
        let Some(mv) = moves::move_of(self.commands.rules, token) else { return false };
        let most = match self.commands.top {
            Some(Top::Best(k)) => usize::from(k),
            _ => usize::MAX,
        };
        let fits = !self.listed.contains(&mv) && self.listed.len() < most;
        self.listed.push(mv);
        fits
    }
}
