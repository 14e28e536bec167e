//! Chess annotations as pairs of files: FENs as text lines, values as bytes.
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

use crate::{AnnotatedPosition, Annotations, RecordError};
use mavis_game::{Game, Move, Position, Rules};
use std::{fs::File, io::Read, path::Path};

/// Positions as FEN lines with one record of bytes each: the number of legal moves, the index of the oracle's choice, then a value
/// a move in the order of the moves' UCI text. A value `v` is the mover's win probability: 1 to 254 is `v / 254`, 255 a
/// mate for the mover, 0 a mate against him.
#[derive(Clone, Debug)]
pub struct FenValues {
    rules: Rules,
    fens: String,
    /// Where each line of `fens` starts.
    lines: Vec<u32>,
    values: Vec<u8>,
    /// Where each record of `values` starts.
    records: Vec<u32>,
}

/// A pair of files that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FenValuesError {
    /// It cannot be read or decompressed.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The two files do not fit together.
    #[error("{n_fens} positions, but {n_records} records of values and {rest} bytes left over")]
    Mismatch {
        /// Lines of text.
        n_fens: usize,
        /// Whole records.
        n_records: usize,
        /// Bytes that make no record, or follow the last one.
        rest: usize,
    },
    /// Not text.
    #[error("the positions are not UTF-8 text")]
    Text,
    /// More than 32 bits can count.
    #[error("a file of 4 GiB or more; split it")]
    Size,
}

impl FenValues {
    /// Reads `STEM.fen.zst` and `STEM.val.zst`.
    ///
    /// # Errors
    /// When a file cannot be read, or they do not fit together.
    pub fn open(rules: Rules, stem: &Path) -> Result<Self, FenValuesError> {
        let read = |ending: &str| {
            let path = format!("{}.{ending}.zst", stem.display());
            let mut bytes = Vec::new();
            File::open(&path)
                .and_then(|file| zstd::Decoder::new(file)?.read_to_end(&mut bytes))
                .map_err(|source| FenValuesError::Read { path, source })?;
            Ok(bytes)
        };
        Self::from_bytes(rules, &read("fen")?, &read("val")?)
    }

    /// The same from memory.
    ///
    /// # Errors
    /// When text and records do not fit together.
    pub fn from_bytes(rules: Rules, fens: &[u8], values: &[u8]) -> Result<Self, FenValuesError> {
        let fens = String::from_utf8(fens.to_vec()).map_err(|_| FenValuesError::Text)?;
        let mut lines = Vec::new();
        let mut at = 0;
        for line in fens.split_inclusive('\n') {
            if !line.trim_end().is_empty() {
                lines.push(place(at)?);
            }
            at = line.len().saturating_add(at);
        }
        let mut records = Vec::with_capacity(lines.len());
        let mut at = 0;
        while let Some(&n_moves) = values.get(at).filter(|_| records.len() < lines.len()) {
            let end = usize::from(n_moves).saturating_add(2).saturating_add(at);
            if end > values.len() {
                break;
            }
            records.push(place(at)?);
            at = end;
        }
        if records.len() != lines.len() || at != values.len() {
            return Err(FenValuesError::Mismatch {
                n_fens: lines.len(),
                n_records: records.len(),
                rest: values.len().saturating_sub(at),
            });
        }
        Ok(Self { rules, fens, lines, values: values.to_vec(), records })
    }

    /// Drops the records whose FEN does not pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let kept: Vec<usize> =
            (0..self.lines.len()).filter(|&idx| self.fen(idx).is_some_and(&mut keep)).collect();
        self.lines = kept.iter().filter_map(|&idx| self.lines.get(idx).copied()).collect();
        self.records = kept.iter().filter_map(|&idx| self.records.get(idx).copied()).collect();
    }

    /// The FEN of a record.
    #[must_use]
    pub fn fen(&self, idx: usize) -> Option<&str> {
        let start = *self.lines.get(idx)? as usize;
        self.fens.get(start..)?.lines().next()
    }

    /// The bytes of a record and of all after it: the number of moves, the index of the best one, the values.
    fn record(&self, idx: usize) -> Result<(usize, usize, &[u8]), RecordError> {
        let start = self.records.get(idx).map(|&start| start as usize);
        match start.and_then(|start| self.values.get(start..)) {
            Some([n_moves, best, values @ ..]) => Ok((usize::from(*n_moves), usize::from(*best), values)),
            _ => Err(RecordError { idx, reason: "no such record".to_owned() }),
        }
    }
}

impl Annotations for FenValues {
    fn len(&self) -> usize {
        self.lines.len()
    }

    fn get(&self, idx: usize) -> Result<AnnotatedPosition, RecordError> {
        let fail = |reason: String| RecordError { idx, reason };
        let fen = self.fen(idx).ok_or_else(|| fail("no such record".to_owned()))?;
        let position = Position::parse(self.rules, fen).map_err(|error| fail(error.to_string()))?;
        // An engine may still value moves where our rules have ended the game, by dead material for one.
        if position.outcome().is_some() {
            return Ok(AnnotatedPosition { position, moves: Vec::new(), best: None });
        }
        let mut moves: Vec<Move> = position.legal_moves().into_iter().collect();
        let (n_moves, best, values) = self.record(idx)?;
        moves.sort_by_cached_key(|mv| uci_order(&position, *mv));
        let Some(&chosen) = moves.get(best).filter(|_| n_moves == moves.len()) else {
            return Err(fail(format!("{} legal moves, {n_moves} values, best {best}", moves.len())));
        };
        let moves = moves.into_iter().zip(values).map(|(mv, value)| (mv, win_probability(*value))).collect();
        Ok(AnnotatedPosition { position, moves, best: Some(chosen) })
    }

    fn n_moves(&self, idx: usize) -> Result<usize, RecordError> {
        self.record(idx).map(|(n_moves, _, _)| n_moves)
    }
}

/// Where a line or a record starts, in the 32 bits that are kept for it.
fn place(at: usize) -> Result<u32, FenValuesError> {
    u32::try_from(at).map_err(|_| FenValuesError::Size)
}

/// A key that orders moves as their UCI text does, without allocating: the text packed into an integer.
fn uci_order(position: &Position, mv: Move) -> u64 {
    let mut key = [0_u8; 8];
    for (slot, byte) in key.iter_mut().zip(position.move_text(mv).bytes()) {
        *slot = byte;
    }
    u64::from_be_bytes(key)
}

fn win_probability(value: u8) -> f32 {
    match value {
        255 => 1.0,
        value => f32::from(value) / 254.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_the_order_of_uci_text() {
        // Two promotions and king moves: a7a8b < a7a8n < a7a8q < a7a8r.
        let fens = b"8/P7/8/8/8/8/8/k1K5 w - - 0 1\n";
        let set = FenValues::from_bytes(Rules::Chess, fens, &[7, 2, 1, 2, 255, 4, 5, 6, 0]).unwrap();
        let record = set.get(0).unwrap();
        let texts: Vec<_> = record.moves.iter().map(|(mv, _)| record.position.move_text(*mv)).collect();
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts[..4], ["a7a8b", "a7a8n", "a7a8q", "a7a8r"]);
        assert_eq!(record.best, Some(record.moves[2].0));
        assert_eq!((record.moves[2].1, record.moves[6].1), (1.0, 0.0));
        assert_eq!(set.n_moves(0), Ok(7));
        assert!(set.n_moves(1).is_err());
    }

    #[test]
    fn a_game_that_is_over_has_no_moves_to_value() {
        let fens = b"8/8/8/8/8/5k2/8/5K2 w - - 0 1\n";
        let set = FenValues::from_bytes(Rules::Chess, fens, &[2, 0, 127, 127]).unwrap();
        let record = set.get(0).unwrap();
        assert!(record.moves.is_empty() && record.best.is_none());
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let fens = b"8/P7/8/8/8/8/8/k1K5 w - - 0 1\n";
        for values in [&[][..], &[7, 2, 1], &[1, 0, 5, 1, 0, 5]] {
            assert!(matches!(
                FenValues::from_bytes(Rules::Chess, fens, values),
                Err(FenValuesError::Mismatch { n_fens: 1, .. })
            ));
        }
        let wrong = FenValues::from_bytes(Rules::Chess, fens, &[1, 0, 5]).unwrap();
        assert!(wrong.get(0).unwrap_err().reason.contains("legal moves"));
        assert!(wrong.get(1).is_err());
    }
}
