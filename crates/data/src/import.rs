//! Games, positions and annotations from elsewhere into tables.
//!
//! Every source is read as a stream, compressed or not, and memory does not grow with its length. What cannot be used (an illegal move, a
//! variant we do not play, a broken line) is counted and its first examples are kept; it never stops an import.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod bags;
mod game_files;
mod lines;
mod pgn;
mod record;
mod source;
mod values;

pub use record::GameRecord;
pub use source::Source;

use crate::bag::BagError;
use crate::table::{TableError, TableWriter};
use crate::wire::{AnnotationRow, GameRow, OracleName, PositionRow};
use mavis_game::Rules;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How a source is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Chess games, standard or Chess960.
    Pgn,
    /// One position per line: FEN, EPD, or the position text of another game; in a table with a header the column `fen`.
    Positions,
    /// Othello games of the WTHOR base as tab-separated lines.
    Wthor,
    /// Togyz Kumalak games in PlayOK's notation.
    Playok,
    /// Hex games, moves in a line.
    Hex,
    /// Connect Four columns in a line, with or without a score.
    Connect4,
    /// Chess games as comma-separated lines with a column of SAN moves.
    LichessCsv,
    /// Pairs of files, FENs and bytes of values.
    FenValues,
    /// A ChessBench bag.
    Bag,
}

impl Format {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Pgn, "pgn"),
        (Self::Positions, "positions"),
        (Self::Wthor, "wthor"),
        (Self::Playok, "playok"),
        (Self::Hex, "hex"),
        (Self::Connect4, "connect4"),
        (Self::LichessCsv, "lichess-csv"),
        (Self::FenValues, "fen-values"),
        (Self::Bag, "bag"),
    ];

    /// Whether the source holds annotations rather than games or positions.
    #[must_use]
    pub fn is_annotated(self) -> bool {
        matches!(self, Self::FenValues | Self::Bag)
    }

    /// Guesses from a file's name and its first bytes after decompression.
    #[must_use]
    pub fn guess(path: &Path, head: &[u8]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = name.trim_end_matches(".zst").trim_end_matches(".gz").trim_end_matches(".bz2");
        let head = String::from_utf8_lossy(head);
        let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let is_moves = |word: &str| {
            word.len() <= 3
                && word.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
                && word.get(1..).is_some_and(|row| row.parse::<u8>().is_ok())
        };
        if stem.ends_with(".bag") || stem.ends_with(".bagz") {
            Self::Bag
        } else if stem.ends_with(".fen") && name.ends_with(".fen.zst") && has_values(path) {
            Self::FenValues
        } else if first.starts_with('[') || stem.ends_with(".pgn") {
            let is_playok = is_togyz(&head) && !pgn::names_other_game(head.as_bytes());
            if is_playok { Self::Playok } else { Self::Pgn }
        } else if first.starts_with("year\tblack_discs") {
            Self::Wthor
        } else if first.contains(',') && first.split(',').any(|column| column == "moves_san") {
            Self::LichessCsv
        } else if first.starts_with("file\tsize\tmoves") || first.split_whitespace().take(3).all(is_moves) {
            Self::Hex
        } else if first.split_whitespace().next().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
        {
            Self::Connect4
        } else {
            Self::Positions
        }
    }
}

/// Whether the first move of PGN-like text is two digits, as in Togyz Kumalak.
fn is_togyz(head: &str) -> bool {
    let moves = head.lines().find(|line| !line.starts_with('[') && !line.trim().is_empty());
    let first = moves.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("").as_bytes();
    first.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Whether the values lie beside the FENs.
fn has_values(path: &Path) -> bool {
    path.to_str()
        .and_then(|path| path.strip_suffix(".fen.zst"))
        .is_some_and(|stem| Path::new(&format!("{stem}.val.zst")).is_file())
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(format, _)| format == self).map_or("", |(_, name)| name))
    }
}

/// A word that names no format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown format '{0}' (known: pgn positions wthor playok hex connect4 lichess-csv fen-values bag)")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        known.map(|(format, _)| *format).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// An import that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The source cannot be read or decompressed.
    #[error("cannot read {}", path.display())]
    Read {
        /// The source.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Not a bag.
    #[error("cannot read {}", path.display())]
    Bag {
        /// The source.
        path: PathBuf,
        /// Why.
        source: BagError,
    },
    /// The source and the tables asked for do not fit.
    #[error("{}: {reason}", path.display())]
    Misfit {
        /// The source.
        path: PathBuf,
        /// In words.
        reason: String,
    },
}

/// What an import did so far.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ImportCounts {
    /// Whole games.
    pub n_games: u64,
    /// Positions or annotations written.
    pub n_positions: u64,
    /// Games, lines or records that could not be used.
    pub n_refused: u64,
    /// The first of those, with their place and the reason.
    pub refused: Vec<String>,
}

/// Callback that gets the counts of an import as they grow.
pub type Watch = Box<dyn FnMut(&ImportCounts)>;

/// Tables to write, any of them absent.
#[derive(Default)]
pub struct Importer {
    /// Where positions go.
    pub positions: Option<TableWriter<PositionRow>>,
    /// Where whole games go.
    pub games: Option<TableWriter<GameRow>>,
    /// Where annotations go.
    pub annotations: Option<TableWriter<AnnotationRow>>,
    /// The game, where the source does not say; otherwise it is guessed.
    pub rules: Option<Rules>,
    /// Games of players below this rating are left out, as are those without ratings; `None` takes all.
    pub min_rating: Option<i32>,
    /// Who judged annotations whose source does not say so.
    pub oracle: Option<OracleName>,
    /// Counts so far.
    pub counts: ImportCounts,
    /// Called after every game or line.
    pub progress: Option<Watch>,
}

/// Bytes that are looked at to guess a format.
const N_GUESS: usize = 4_096;
/// How many refused examples are kept.
const N_EXAMPLES: usize = 5;

impl Importer {
    /// Reads one source to its end.
    ///
    /// # Errors
    /// When it cannot be read, or a table cannot be written.
    pub fn import(&mut self, path: &Path, format: Option<Format>) -> Result<(), ImportError> {
        let read = |source| ImportError::Read { path: path.to_owned(), source };
        // Bags are not streams, and annotations may be several files; their names tell.
        let format = format.or_else(|| Some(Format::guess(path, b"")).filter(|format| format.is_annotated()));
        let mut source = None;
        let format = match format {
            Some(format) => format,
            None => {
                let source = source.insert(Source::open(path).map_err(read)?);
                Format::guess(path, source.peek(N_GUESS).map_err(read)?)
            }
        };
        let fits = match format.is_annotated() {
            true => self.annotations.is_some(),
            false => self.positions.is_some() || self.games.is_some(),
        };
        if !fits {
            let holds = if format.is_annotated() { "annotations" } else { "games or positions" };
            let reason =
                format!("a source of format '{format}' holds {holds}, but no table for them is given");
            return Err(ImportError::Misfit { path: path.to_owned(), reason });
        }
        let import = match format {
            Format::Pgn => pgn::import,
            Format::Positions => lines::import,
            Format::Wthor => game_files::wthor,
            Format::Playok => game_files::playok,
            Format::Hex => game_files::hex,
            Format::Connect4 => game_files::connect4,
            Format::LichessCsv => game_files::lichess_csv,
            Format::FenValues => return values::import(self, path),
            Format::Bag => return bags::import(self, path),
        };
        let source = match source {
            Some(source) => source,
            None => Source::open(path).map_err(read)?,
        };
        import(self, path, source)
    }

    /// Completes the tables.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn finish(self) -> Result<ImportCounts, TableError> {
        if let Some(table) = self.positions {
            table.finish()?;
        }
        if let Some(table) = self.games {
            table.finish()?;
        }
        if let Some(table) = self.annotations {
            table.finish()?;
        }
        Ok(self.counts)
    }

    /// Whether a game of players with these ratings is taken.
    fn is_rated(&self, first: Option<i32>, second: Option<i32>) -> bool {
        // An absent rating is lower than any.
        self.min_rating.is_none_or(|least| first.min(second) >= Some(least))
    }

    /// Takes a game.
    ///
    /// # Errors
    /// When a table cannot be written.
    pub fn game(&mut self, game: GameRecord) -> Result<(), TableError> {
        if !self.is_rated(game.row.first_rating, game.row.second_rating) {
            return Ok(());
        }
        if let Some(table) = &mut self.positions {
            for row in game.position_rows() {
                table.write(&row)?;
                self.counts.n_positions += 1;
            }
        }
        if let Some(table) = &mut self.games {
            table.write(&game.row)?;
        }
        self.counts.n_games += 1;
        self.report();
        Ok(())
    }

    fn position(&mut self, row: &PositionRow) -> Result<(), TableError> {
        if let Some(table) = &mut self.positions {
            table.write(row)?;
            self.counts.n_positions += 1;
        }
        self.report();
        Ok(())
    }

    fn annotation(&mut self, row: &AnnotationRow) -> Result<(), TableError> {
        if let Some(table) = &mut self.annotations {
            table.write(row)?;
            self.counts.n_positions += 1;
        }
        self.report();
        Ok(())
    }

    /// Counts a game, line or record that cannot be used.
    pub fn refuse(&mut self, place: impl fmt::Display, reason: impl fmt::Display) {
        self.counts.n_refused += 1;
        if self.counts.refused.len() < N_EXAMPLES {
            self.counts.refused.push(format!("{place}: {reason}"));
        }
        self.report();
    }

    fn report(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress(&self.counts);
        }
    }
}
