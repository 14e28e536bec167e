//! The closed vocabulary: one string, one token, one id.
//!
//! Tokens carry their own spacing, so the text of a sequence is the plain concatenation of its tokens and a move with
//! its value takes two. Text is split by longest match from the left. The token sequences this crate writes are all
//! fixed points of that rule: [`Vocabulary::encode`] of their text gives them back.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod trie;
mod words;

pub use words::{
    BEST_ACTION, Block, CELLS, CHESS_MOVES, COUNTS, END, HEX, HEX_SWAP, INVALID, LINE_END, PAD, PASS, QUOTED,
    SWAP, UNK, VALUES, spaced,
};
pub(crate) use words::{
    BREADTH_FIRST, BREAK, COMPACT, COMPARE, DECIDE, DEPTH, DIGITS, DRAW, EVALUATE, EXPAND, FIRST_WINS,
    HEADER_BEST, HEADER_CHESS, HEADER_CHESS960, HEADER_CONNECT4, HEADER_END, HEADER_FEN, HEADER_OTHELLO,
    HEADER_PREV_ACTION, HEADER_PREV_FEN, HEADER_PREV_STATE, HEADER_STATE, HEADER_TOGYZ, HEADER_TOP,
    HEADER_TOP_ALL, MINIMAX, NODE, NODE_END, NODE_LIST, OPEN_FEN, OPEN_PREV_ACTION, OPEN_PREV_FEN,
    OPEN_PREV_STATE, OPEN_STATE, OPEN_TOP, OPEN_TOP_ALL, PLAY, PLAY_END, SECOND_WINS, SELECT, SLASH,
    chess_moves, is_spaced, spaced_letter,
};

use std::{collections::HashMap, sync::LazyLock};
use trie::Trie;

/// The id of a token.
pub type Token = u16;

/// Raised whenever an id changes its string; ids are only ever appended within a version.
pub const VERSION: u32 = 1;

/// The table of all tokens, with the scanner that splits text into them.
#[derive(Debug)]
pub struct Vocabulary {
    strings: Vec<String>,
    ids: HashMap<String, Token>,
    trie: Trie,
}

/// Text that no token begins.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no token of the vocabulary begins at byte {at}: {found:?}")]
pub struct EncodeError {
    /// The byte where reading stopped.
    pub at: usize,
    /// The first characters found there.
    pub found: String,
}

/// An id outside the vocabulary.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("token {id} at index {at} is not in the vocabulary")]
pub struct DecodeError {
    /// The index in the sequence.
    pub at: usize,
    /// The offending id.
    pub id: Token,
}

/// The one vocabulary, built on first use.
#[must_use]
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
        let strings = words::all();
        let ids = strings.iter().zip(0..).map(|(string, id)| (string.clone(), id)).collect();
        Vocabulary { trie: Trie::new(&strings), strings, ids }
    });
    &VOCABULARY
}

/// A hash of the vocabulary that checkpoints carry, so that ids are never read with another meaning: FNV-1a over all strings.
#[must_use]
pub fn vocabulary_hash() -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for string in vocabulary().strings() {
        for byte in string.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("v{}-{hash:016x}", VERSION)
}

impl Vocabulary {
    /// The number of tokens.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the vocabulary is never empty")]
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// The number of tokens padded to a multiple of 64, which is the size networks use.
    #[must_use]
    pub fn padded_len(&self) -> usize {
        self.len().next_multiple_of(64)
    }

    /// The string of a token.
    #[must_use]
    pub fn string(&self, token: Token) -> Option<&str> {
        self.strings.get(usize::from(token)).map(String::as_str)
    }

    /// The token of a string.
    #[must_use]
    pub fn token(&self, string: &str) -> Option<Token> {
        self.ids.get(string).copied()
    }

    /// Every token's string in the order of ids.
    pub fn strings(&self) -> impl Iterator<Item = &str> {
        self.strings.iter().map(String::as_str)
    }

    /// Splits a text into tokens.
    ///
    /// # Errors
    /// When the text holds something that is not of the language.
    pub fn encode(&self, text: &str) -> Result<Vec<Token>, EncodeError> {
        let mut tokens = Vec::with_capacity(text.len() / 2);
        self.encode_into(text, &mut tokens)?;
        Ok(tokens)
    }

    /// Splits a text into tokens appended to `tokens`.
    ///
    /// # Errors
    /// When the text holds something that is not of the language; `tokens` then holds what was read before it.
    pub fn encode_into(&self, text: &str, tokens: &mut Vec<Token>) -> Result<(), EncodeError> {
        let mut at = 0;
        while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
            let Some((token, length)) = self.trie.longest(rest) else {
                let found = String::from_utf8_lossy(rest).chars().take(12).collect();
                return Err(EncodeError { at, found });
            };
            tokens.push(token);
            at += length;
        }
        Ok(())
    }

    /// The text of a token sequence.
    ///
    /// # Errors
    /// When an id is outside the vocabulary.
    pub fn decode(&self, tokens: &[Token]) -> Result<String, DecodeError> {
        let mut text = String::with_capacity(4 * tokens.len());
        for (at, &id) in tokens.iter().enumerate() {
            text.push_str(self.string(id).ok_or(DecodeError { at, id })?);
        }
        Ok(text)
    }

    /// One regular expression of literals, groups and `?` that finds exactly the longest token at a place.
    pub(crate) fn pattern(&self) -> String {
        self.trie.pattern()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unique_and_scan_to_themselves() {
        let vocabulary = vocabulary();
        assert_eq!(vocabulary.ids.len(), vocabulary.len());
        assert!((2_500..2_816).contains(&vocabulary.len()), "{}", vocabulary.len());
        for (string, id) in vocabulary.strings().zip(0..) {
            assert_eq!(vocabulary.encode(string), Ok(vec![id]), "{string:?}");
            assert_eq!(vocabulary.token(string), Some(id));
        }
    }

    #[test]
    fn blocks_begin_where_they_say() {
        let check = |token: Token, string: &str| assert_eq!(vocabulary().string(token), Some(string));
        check(PAD, "<pad>");
        check(VALUES.start, ":<ctrl1>");
        check(VALUES.start + 63, ":<ctrl64>");
        check(QUOTED.start, " : \"<ctrl1>\"");
        check(COUNTS.start, " 0");
        check(COUNTS.start + 162, " 162");
        check(CELLS.start, " a1");
        check(CELLS.start + 18, " s1");
        check(CELLS.start + 360, " s19");
        check(CHESS_MOVES.start + CHESS_MOVES.len - 1, " h7h8n");
        check(HEX.start, "<mav game=hex size=3>");
        check(HEX_SWAP.start + 16, "<mav game=hex size=19 swap>");
        check(DIGITS.start + 7, "7");
    }

    #[test]
    fn foreign_text_is_refused_with_its_place() {
        let error = vocabulary().encode("[%state ü").unwrap_err();
        assert_eq!(error.at, 7);
        assert_eq!(vocabulary().decode(&[5, 60_000]), Err(DecodeError { at: 1, id: 60_000 }));
    }
}
