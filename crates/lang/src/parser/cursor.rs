//! A place in a token sequence.

use crate::{
    hallucination::Hallucination,
    vocab::{Token, vocabulary},
};
use mavis_value::Mistake;

/// Reads tokens one by one; every failure names its place.
pub(crate) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    /// The index of the next token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Reads again from an earlier place.
    pub(crate) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    pub(crate) fn next(&mut self) -> Result<Token, Hallucination> {
        let token =
            self.peek().ok_or_else(|| self.malformed(self.at, "the text ends too early".to_owned()))?;
        self.at = self.at.saturating_add(1);
        Ok(token)
    }

    /// Takes the token if it is the next.
    pub(crate) fn skip(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    /// Takes exactly this token.
    pub(crate) fn take(&mut self, token: Token) -> Result<(), Hallucination> {
        if self.skip(token) { Ok(()) } else { Err(self.unexpected(self.at, &format!("{:?}", string(token)))) }
    }

    /// Takes the next `n` tokens, whatever they are.
    pub(crate) fn take_some(&mut self, n: usize) -> Result<&'a [Token], Hallucination> {
        let end = self.at.saturating_add(n);
        let taken = self
            .tokens
            .get(self.at..end)
            .ok_or_else(|| self.malformed(self.tokens.len(), "the text ends too early".to_owned()))?;
        self.at = end;
        Ok(taken)
    }

    /// Takes everything before the next `token`, which must come.
    pub(crate) fn take_until(&mut self, token: Token) -> Result<&'a [Token], Hallucination> {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let n = rest.iter().position(|&other| other == token);
        self.take_some(n.unwrap_or(usize::MAX))
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), Hallucination> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected(self.at, "the end")),
        }
    }

    /// The token at `at` is not what the language wants there.
    pub(crate) fn unexpected(&self, at: usize, expected: &str) -> Hallucination {
        let found = match self.tokens.get(at) {
            Some(&token) => format!("{:?}", string(token)),
            None => "the end".to_owned(),
        };
        self.malformed(at, format!("expected {expected}, found {found}"))
    }

    fn malformed(&self, at: usize, reason: String) -> Hallucination {
        Hallucination::new(at, Mistake::Malformed, reason)
    }
}

fn string(token: Token) -> &'static str {
    vocabulary().string(token).unwrap_or("a token outside the vocabulary")
}
