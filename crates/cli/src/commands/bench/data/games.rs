//! Games nobody meant, for a bench that needs no files.

use mavis_data::pgn::{PgnGame, PgnMove};
use mavis_game::{Game, Position, Rules};
use mavis_league::Book;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Plies of a game, about as many as people play.
const N_PLIES: u32 = 80;

/// Writes chess games of random moves from the openings of paper 001.
pub(super) fn write_chess(path: &Path, n_games: usize) -> anyhow::Result<PathBuf> {
    let book = Book::table4::<Position>(Rules::Chess)?;
    let mut random = random();
    let mut file = BufWriter::new(File::create(path)?);
    for opening in book.lines().iter().cycle().take(n_games) {
        let start: Position = opening.position(Rules::Chess)?;
        let mut game = PgnGame {
            tags: vec![("White".to_owned(), "chance".to_owned()), ("FEN".to_owned(), start.to_string())],
            start: start.clone(),
            preface: Vec::new(),
            moves: Vec::new(),
            result: "*".to_owned(),
        };
        let mut position = start;
        for _ in 0..N_PLIES {
            let Some(mv) = position.random_move(random()) else { break };
            position.play_unchecked(mv);
            game.moves.push(PgnMove { mv, notes: Vec::new() });
        }
        write!(file, "{game}")?;
    }
    file.flush()?;
    Ok(path.to_owned())
}

/// Writes positions of random Togyz Kumalak games, one per line.
pub(super) fn write_togyz(path: &Path, n_positions: usize) -> anyhow::Result<()> {
    let mut random = random();
    let mut file = BufWriter::new(File::create(path)?);
    let mut position = Position::start(Rules::Togyz);
    for _ in 0..n_positions {
        writeln!(file, "{position}")?;
        match position.random_move(random()) {
            Some(mv) => position.play_unchecked(mv),
            None => position = Position::start(Rules::Togyz),
        }
    }
    Ok(file.flush()?)
}

fn random() -> impl FnMut() -> u32 {
    // A multiplicative generator is random enough to pick moves, and the same everywhere.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (state >> 32) as u32
    }
}
