//! The tokens of paper 002: a position as 77 characters, an action as one of 1,968.
//!
//! The paper's appendix A.1 gives the fields in order: 64 squares, side, castling, en passant, halfmove clock, fullmove number. It counts two
//! characters for the halfmove clock, which makes 76; its total of 77 is reached with three, which is also what a clock of 100 needs.

use std::sync::LazyLock;

/// Characters of a position.
pub const N_CHARACTERS: usize = 77;
/// Actions: every move of a queen or a knight on an empty board, and every promotion.
pub const N_ACTIONS: usize = 1968;
/// The token every input starts with; no FEN holds this character.
pub const START: u32 = 0;
/// Token of the first action; below it a token is the ASCII code of a character.
pub const FIRST_ACTION: u32 = 128;
/// Ids of the network's embedding, a multiple of 64 as the kernels like it.
pub const N_IDS: usize = (FIRST_ACTION as usize + N_ACTIONS).next_multiple_of(64);

/// A FEN that does not fit into 77 characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a FEN of six fields: {reason} in '{fen}'")]
pub struct FenError {
    /// The text.
    pub fen: String,
    /// What is wrong.
    pub reason: &'static str,
}

/// A position as 77 ASCII characters: the FEN without separators, an empty square as `.`, every field padded with `.` to its full width
/// (`-...` without castling rights, `-.` without an en-passant square). The board is never turned.
///
/// # Errors
/// When a field is missing, malformed or too long. A fullmove number above 999 counts as 999.
pub fn characters(fen: &str) -> Result<[u8; N_CHARACTERS], FenError> {
    let fail = |reason| FenError { fen: fen.to_owned(), reason };
    let mut fields = fen.split_ascii_whitespace();
    let mut field = || fields.next().ok_or_else(|| fail("a field is missing"));
    let mut out = [b'.'; N_CHARACTERS];
    let mut square = 0;
    for (rank_idx, rank) in field()?.split('/').enumerate() {
        for byte in rank.bytes() {
            match byte {
                b'1'..=b'8' => square += usize::from(byte - b'0'),
                b'p' | b'n' | b'b' | b'r' | b'q' | b'k' | b'P' | b'N' | b'B' | b'R' | b'Q' | b'K' => {
                    *out[..64].get_mut(square).ok_or_else(|| fail("more than 64 squares"))? = byte;
                    square += 1;
                }
                _ => return Err(fail("no piece or number of squares")),
            }
        }
        if square != 8 * (rank_idx + 1) {
            return Err(fail("a rank without eight squares"));
        }
    }
    if square != 64 {
        return Err(fail("fewer than 64 squares"));
    }
    out[64] = match field()? {
        "w" => b'w',
        "b" => b'b',
        _ => return Err(fail("no side to move")),
    };
    let mut at = 65;
    let mut put = |text: &str, width: usize| {
        out[at..at + text.len()].copy_from_slice(text.as_bytes());
        at += width;
    };
    let castling = field()?;
    // Letters of files are those of Chess960.
    let is_right = |byte: u8| matches!(byte, b'K' | b'Q' | b'k' | b'q' | b'A'..=b'H' | b'a'..=b'h');
    if castling != "-" && (castling.len() > 4 || !castling.bytes().all(is_right)) {
        return Err(fail("no castling rights"));
    }
    put(castling, 4);
    let passant = field()?;
    if passant != "-" && !matches!(passant.as_bytes(), [b'a'..=b'h', b'1'..=b'8']) {
        return Err(fail("no en-passant square"));
    }
    put(passant, 2);
    for name in ["no halfmove clock", "no fullmove number"] {
        let number: u32 = field()?.parse().map_err(|_| fail(name))?;
        put(&number.min(999).to_string(), 3);
    }
    Ok(out)
}

/// Every action in UCI notation, sorted; an action's index is its token.
pub fn actions() -> &'static [String] {
    &TABLES.texts
}

/// The index of an action in UCI notation.
pub fn action_index(uci: &str) -> Option<u16> {
    let key = key(uci.as_bytes())?;
    TABLES.indices[key].checked_sub(1)
}

struct Tables {
    texts: Vec<String>,
    /// Index plus one by [`key`]; zero for none.
    indices: Vec<u16>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let name = |square: i32| format!("{}{}", (b'a' + (square % 8) as u8) as char, square / 8 + 1);
    let mut texts = Vec::with_capacity(N_ACTIONS);
    for from in 0..64_i32 {
        for to in (0..64_i32).filter(|to| *to != from) {
            let (files, ranks) = ((from % 8 - to % 8).abs(), (from / 8 - to / 8).abs());
            let moves = files == 0 || ranks == 0 || files == ranks || files * ranks == 2;
            if moves {
                texts.push(name(from) + &name(to));
            }
            let promotes = matches!((from / 8, to / 8), (6, 7) | (1, 0)) && files <= 1;
            if promotes {
                texts.extend("bnqr".chars().map(|piece| format!("{}{}{piece}", name(from), name(to))));
            }
        }
    }
    texts.sort_unstable();
    let mut indices = vec![0; 64 * 64 * 5];
    for (idx, text) in texts.iter().enumerate() {
        if let Some(key) = key(text.as_bytes()) {
            indices[key] = idx as u16 + 1;
        }
    }
    Tables { texts, indices }
});

/// A number for each pair of squares and promotion.
fn key(uci: &[u8]) -> Option<usize> {
    let square = |file: u8, rank: u8| match (file, rank) {
        (b'a'..=b'h', b'1'..=b'8') => Some(usize::from(rank - b'1') * 8 + usize::from(file - b'a')),
        _ => None,
    };
    let (&[a, b, c, d], rest) = uci.split_first_chunk::<4>()?;
    let piece = match rest {
        [] => 0,
        [b'b'] => 1,
        [b'n'] => 2,
        [b'q'] => 3,
        [b'r'] => 4,
        _ => return None,
    };
    Some((square(a, b)? * 64 + square(c, d)?) * 5 + piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fen: &str, expected: &str) {
        assert_eq!(
            characters(fen).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            Ok(expected.to_owned())
        );
    }

    #[test]
    fn every_field_has_its_width() {
        check(
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "rnbqkbnrpppppppp................................PPPPPPPPRNBQKBNRwKQkq-.0..1..",
        );
        check(
            "4k3/8/8/3pP3/8/8/8/4K2R w K d6 12 103",
            &format!("....k...{}...pP...{}....K..RwK...d612.103", ".".repeat(16), ".".repeat(24)),
        );
        check("8/8/8/8/8/8/8/K1k5 b - - 100 2000", &format!("{}K.k.....b-...-.100999", ".".repeat(56)));
    }

    #[test]
    fn what_is_no_fen_is_refused() {
        for (fen, reason) in [
            ("", "a field is missing"),
            ("8/8/8/8/8/8/8/K1k5 b - -", "a field is missing"),
            ("8/8/8/8/8/8/8/K1k6 b - - 0 1", "a rank without eight squares"),
            ("8/8/8/8/8/8/8/8/8 b - - 0 1", "fewer than 64 squares"),
            ("88/8/8/8/8/8/8/8 b - - 0 1", "a rank without eight squares"),
            ("8/8/8/8/8/8/8/K1x5 b - - 0 1", "no piece or number of squares"),
            ("8/8/8/8/8/8/8/K1k5 x - - 0 1", "no side to move"),
            ("8/8/8/8/8/8/8/K1k5 b KQkqK - 0 1", "no castling rights"),
            ("8/8/8/8/8/8/8/K1k5 b - e9 0 1", "no en-passant square"),
            ("8/8/8/8/8/8/8/K1k5 b - - x 1", "no halfmove clock"),
        ] {
            assert_eq!(characters(fen).unwrap_err().reason, reason, "{fen}");
        }
    }

    #[test]
    fn there_are_1968_sorted_actions() {
        assert_eq!(actions().len(), N_ACTIONS);
        assert!(actions().is_sorted());
        assert_eq!((actions()[0].as_str(), actions()[N_ACTIONS - 1].as_str()), ("a1a2", "h8h7"));
        for (idx, text) in actions().iter().enumerate() {
            assert_eq!(action_index(text), Some(idx as u16));
        }
        for bad in ["", "e2", "e2e9", "a1b4", "e7e8k", "e2e4q", "e2e4qq", "\u{e9}2e4"] {
            assert_eq!(action_index(bad), None, "{bad}");
        }
        assert!(action_index("e1g1").is_some() && action_index("b2a1n").is_some());
    }
}
