//! When two rows hold the same position.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use mavis_game::{Game, Position, Rules};
use mavis_stable::seed::hash_bytes;
use std::collections::HashMap;

/// Reads the positions of rows, and compares them by 64-bit keys of what the rules of movement see: move counters and
/// history do not count.
#[derive(Debug, Default)]
pub struct PositionReader {
    /// Games met so far, with a hash that keeps their keys apart.
    rules: HashMap<String, (Rules, u64)>,
}

impl PositionReader {
    /// The game of a name, and a hash of it.
    fn rules(&mut self, game: &str) -> Result<(Rules, u64), String> {
        if let Some(known) = self.rules.get(game) {
            return Ok(*known);
        }
        let rules: Rules = game.parse().map_err(|error: mavis_game::UnknownRules| error.to_string())?;
        let known = (rules, hash_bytes(0, rules.to_string().as_bytes()));
        self.rules.insert(game.to_owned(), known);
        Ok(known)
    }

    /// Reads a position.
    ///
    /// # Errors
    /// In words, when the game is unknown or the position is none of it.
    pub fn position(&mut self, game: &str, text: &str) -> Result<Position, String> {
        let (rules, _) = self.rules(game)?;
        Position::parse(rules, text).map_err(|error| error.to_string())
    }

    /// The key of a position.
    ///
    /// # Errors
    /// In words, when the game is unknown or the position is none of it.
    pub fn key(&mut self, game: &str, text: &str) -> Result<u64, String> {
        let (rules, salt) = self.rules(game)?;
        let position = Position::parse(rules, text).map_err(|error| error.to_string())?;
        Ok(position.key() ^ salt)
    }
}
