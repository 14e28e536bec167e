//! ChessBench's record files.
//!
//! A bag is its records one after the other, then the end offset of each as an 8-byte little-endian integer; the last 8 bytes are
//! the end of the last record and so tell where that index starts. In a `.bagz` every record is compressed with zstd. A record is
//! Beam's tuple code: strings after a varint of their length, except a string in last place, which has none; numbers as 8-byte
//! big-endian doubles.
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

use mavis_stable::kill_safe::PartialFile;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// A bag that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The index does not fit the file.
    #[error("the index of a bag of {len} bytes cannot start at {start}")]
    Index {
        /// Bytes of the file.
        len: u64,
        /// Where the last 8 bytes say it starts.
        start: u64,
    },
    /// The offsets do not ascend.
    #[error("record {idx} ends before it starts")]
    Offsets {
        /// The record's number.
        idx: u64,
    },
}

/// The three kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BagKind {
    /// FEN and win probability of the side to move.
    StateValue,
    /// FEN, move and its win probability.
    ActionValue,
    /// FEN and the move chosen.
    BehavioralCloning,
}

impl BagKind {
    /// All three with their names.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::StateValue, "state_value"),
        (Self::ActionValue, "action_value"),
        (Self::BehavioralCloning, "behavioral_cloning"),
    ];
}

/// One record.
#[derive(Clone, PartialEq, Debug)]
pub enum BagRecord {
    /// FEN and win probability of the side to move.
    StateValue(String, f64),
    /// FEN, move and its win probability.
    ActionValue(String, String, f64),
    /// FEN and the move chosen.
    BehavioralCloning(String, String),
}

impl BagRecord {
    /// Reads a record; its shape determines the kind, since a move has at most five bytes and a number eight. `None` if it has no such shape.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (fen, rest) = text(bytes)?;
        if let Ok(number) = <[u8; 8]>::try_from(rest) {
            return Some(Self::StateValue(fen, f64::from_be_bytes(number)));
        }
        if rest.len() <= 5 {
            return Some(Self::BehavioralCloning(fen, String::from_utf8(rest.to_vec()).ok()?));
        }
        let (mv, rest) = text(rest)?;
        Some(Self::ActionValue(fen, mv, f64::from_be_bytes(rest.try_into().ok()?)))
    }

    /// Appends the record's bytes.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let mut text = |text: &str| {
            let mut len = text.len();
            while len >= 0x80 {
                bytes.push(len as u8 | 0x80);
                len >>= 7;
            }
            bytes.push(len as u8);
            bytes.extend(text.as_bytes());
        };
        match self {
            Self::StateValue(fen, value) => {
                text(fen);
                bytes.extend(value.to_be_bytes());
            }
            Self::ActionValue(fen, mv, value) => {
                text(fen);
                text(mv);
                bytes.extend(value.to_be_bytes());
            }
            Self::BehavioralCloning(fen, mv) => {
                text(fen);
                bytes.extend(mv.as_bytes());
            }
        }
    }
}

/// A string with its varint length, and what follows it.
fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (mut len, mut shift, mut rest) = (0_usize, 0_u32, bytes);
    loop {
        let (&byte, behind) = rest.split_first()?;
        len |= usize::from(byte & 0x7F).checked_shl(shift)?;
        rest = behind;
        shift = shift.checked_add(7)?;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (text, rest) = rest.split_at_checked(len)?;
    Some((String::from_utf8(text.to_vec()).ok()?, rest))
}

/// Records of a bag in order, read as two streams: the records and their index.
pub struct BagReader {
    records: BufReader<File>,
    index: BufReader<File>,
    compressed: bool,
    n_records: u64,
    next: u64,
    at: u64,
}

impl BagReader {
    /// Opens a bag; the ending `.bagz` says that its records are compressed.
    ///
    /// # Errors
    /// When the file cannot be read or its index is impossible.
    pub fn open(path: &Path) -> Result<Self, BagError> {
        let mut index = BufReader::new(File::open(path)?);
        let len = index.get_ref().metadata()?.len();
        let start = match len.checked_sub(8) {
            Some(last) => {
                index.seek(SeekFrom::Start(last))?;
                read_offset(&mut index)?
            }
            None => 0,
        };
        let n_bytes = len.checked_sub(start).filter(|n_bytes| n_bytes.is_multiple_of(8));
        let n_bytes = n_bytes.filter(|&n_bytes| if len == 0 { n_bytes == 0 } else { n_bytes >= 8 });
        let Some(n_bytes) = n_bytes else { return Err(BagError::Index { len, start }) };
        index.seek(SeekFrom::Start(start))?;
        Ok(Self {
            records: BufReader::new(File::open(path)?),
            index,
            compressed: path.extension().is_some_and(|extension| extension == "bagz"),
            n_records: n_bytes / 8,
            next: 0,
            at: 0,
        })
    }

    /// The number of records.
    #[must_use]
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    fn read(&mut self) -> Result<Vec<u8>, BagError> {
        let end = read_offset(&mut self.index)?;
        let len = end.checked_sub(self.at).ok_or(BagError::Offsets { idx: self.next })?;
        let mut bytes = Vec::new();
        self.records.by_ref().take(len).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != len {
            return Err(BagError::Offsets { idx: self.next });
        }
        self.at = end;
        self.next = self.next.saturating_add(1);
        Ok(if self.compressed { zstd::decode_all(bytes.as_slice())? } else { bytes })
    }
}

impl Iterator for BagReader {
    type Item = Result<Vec<u8>, BagError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.n_records {
            return None;
        }
        let record = self.read();
        if record.is_err() {
            self.next = self.n_records;
        }
        Some(record)
    }
}

fn read_offset(index: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    index.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes a bag, which has its name once it is finished. The offsets wait in memory, 8 bytes a record.
pub struct BagWriter {
    file: BufWriter<PartialFile>,
    compressed: bool,
    ends: Vec<u64>,
    scratch: Vec<u8>,
}

impl BagWriter {
    /// Starts a bag; the ending `.bagz` asks for compressed records.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(PartialFile::create(path)?),
            compressed: path.extension().is_some_and(|extension| extension == "bagz"),
            ends: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, record: &BagRecord) -> io::Result<()> {
        self.scratch.clear();
        record.encode(&mut self.scratch);
        if self.compressed {
            self.scratch = zstd::encode_all(self.scratch.as_slice(), 0)?;
        }
        self.file.write_all(&self.scratch)?;
        let end = self.ends.last().unwrap_or(&0).saturating_add(self.scratch.len() as u64);
        self.ends.push(end);
        Ok(())
    }

    /// Writes the index, gives the file its name and returns the number of records.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<u64> {
        for end in &self.ends {
            self.file.write_all(&end.to_le_bytes())?;
        }
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        Ok(self.ends.len() as u64)
    }
}
