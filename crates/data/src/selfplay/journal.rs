//! The finished games of the shard in work, kept in small files until the shard is complete.
//!
//! A piece is lines of JSON, a game with its number each. Games are in no order: after a stop the first one that lacks was in work.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::Played;
use crate::job::{JobError, Pieces, io};
use crate::wire::PlayedWire;
use mavis_stable::kill_safe::replace_file;
use serde::de::Error as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often games are brought to the disk. A time and no count, since a game takes from a millisecond to minutes.
const PERIOD: Duration = Duration::from_secs(10);

/// Keeps the games of one shard after the other.
pub(super) struct GameJournal {
    pieces: Pieces,
    /// The piece being filled.
    lines: Vec<u8>,
    kept_at: Instant,
}

impl GameJournal {
    /// The journal of a job's folder and of `shard`, the first that is to do.
    pub(super) fn open(folder: &Path, shard: u64) -> Result<Self, JobError> {
        Ok(Self { pieces: Pieces::open(folder, shard)?, lines: Vec::new(), kept_at: Instant::now() })
    }

    /// The games of the next piece that an earlier run left; `None` after the last.
    pub(super) fn read_next(&mut self) -> Result<Option<Vec<(u64, Played)>>, JobError> {
        let path = self.pieces.next();
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(io(&path))?;
        // One name for all games of a piece.
        let mut oracle = Arc::default();
        let read = |line| {
            let (number, game): (u64, PlayedWire) = serde_json::from_str(line)?;
            Ok((number, game.played(&mut oracle).map_err(serde_json::Error::custom)?))
        };
        let games = text.lines().map(read).collect::<Result<_, _>>();
        self.pieces.count();
        games.map(Some).map_err(|source| JobError::Manifest { path, source })
    }

    /// Takes a game of the shard.
    pub(super) fn take(&mut self, number: u64, game: &Played) -> Result<(), JobError> {
        let line = serde_json::to_writer(&mut self.lines, &(number, PlayedWire::from(game)));
        line.map_err(|source| JobError::Manifest { path: self.pieces.next(), source })?;
        self.lines.push(b'\n');
        if self.kept_at.elapsed() >= PERIOD { self.keep() } else { Ok(()) }
    }

    /// Brings the games taken so far to the disk.
    pub(super) fn keep(&mut self) -> Result<(), JobError> {
        self.kept_at = Instant::now();
        if self.lines.is_empty() {
            return Ok(());
        }
        let path = self.pieces.next();
        replace_file(&path, |file| file.write_all(&self.lines)).map_err(io(&path))?;
        self.lines.clear();
        self.pieces.count();
        Ok(())
    }

    /// Forgets the shard and continues with another one, or anew.
    pub(super) fn begin(&mut self, shard: u64) -> Result<(), JobError> {
        self.lines.clear();
        self.pieces.begin(shard)
    }
}
