//! Files, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a file, decompressed if its first bytes say so: zstd, gzip or bzip2, several streams in a row included.
pub struct Source {
    reader: Box<dyn BufRead>,
    /// Bytes that were looked at and are still to be read, from `start` on.
    peeked: Vec<u8>,
    start: usize,
}

/// Windows of zstd up to 2 GiB, as long-distance compression makes them.
const WINDOW_LOG: u32 = 31;

impl Source {
    /// Opens a file; `-` is the standard input.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut raw: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::with_capacity(1 << 16, File::open(path)?))
        };
        let head = raw.fill_buf()?;
        let reader: Box<dyn BufRead> = if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
            let mut decoder = zstd::Decoder::with_buffer(raw)?;
            decoder.window_log_max(WINDOW_LOG)?;
            Box::new(BufReader::with_capacity(1 << 16, decoder))
        } else if head.starts_with(&[0x1F, 0x8B]) {
            Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(raw)))
        } else if head.starts_with(b"BZh") {
            Box::new(BufReader::with_capacity(1 << 16, bzip2::bufread::MultiBzDecoder::new(raw)))
        } else {
            raw
        };
        Ok(Self { reader, peeked: Vec::new(), start: 0 })
    }

    /// The next bytes, up to `n` of them; reading gives them again. Standard input cannot be opened twice, so a look must not
    /// take anything away.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        let n_more = n.saturating_sub(self.unread().len());
        self.reader.by_ref().take(n_more as u64).read_to_end(&mut self.peeked)?;
        Ok(self.unread())
    }

    /// What was looked at and not yet read.
    fn unread(&self) -> &[u8] {
        self.peeked.get(self.start..).unwrap_or_default()
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread().is_empty() {
            return self.reader.read(buffer);
        }
        let n = self.unread().read(buffer)?;
        self.start += n;
        Ok(n)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unread().is_empty() { self.reader.fill_buf() } else { Ok(self.unread()) }
    }

    fn consume(&mut self, amount: usize) {
        if self.unread().is_empty() {
            self.reader.consume(amount);
        } else {
            self.start += amount;
        }
    }
}

/// The longest line worth reading; anything longer is no line of games.
const LONGEST_LINE: u64 = 1 << 24;

/// Calls `visit` with every line that is not blank and its number from 1. What is not UTF-8 is replaced.
pub(super) fn for_each_line<E: From<super::ImportError>>(
    path: &Path,
    mut source: Source,
    mut visit: impl FnMut(u64, &str) -> Result<(), E>,
) -> Result<(), E> {
    let read = |source| super::ImportError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let n_bytes = source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(read)?;
        if n_bytes == 0 {
            return Ok(());
        }
        number += 1;
        let line = String::from_utf8_lossy(&bytes);
        // A byte-order mark is no part of the first line.
        let line = line.trim_start_matches('\u{feff}').trim_end();
        if !line.trim().is_empty() {
            visit(number, line)?;
        }
    }
}
