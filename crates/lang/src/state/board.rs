//! Boards with stones: the side to move, then every cell from a1, row by row (`x` first player, `o` second, `.` empty).

use crate::vocab::{Token, spaced, spaced_letter};
use mavis_game::{Connect4, Game, Hex, Othello, Side};

fn side_token(side: Side) -> Token {
    spaced(if side == Side::First { b'x' } else { b'o' })
}

/// Appends the side to move and a cell for each of `cells`, given as whether it is the mover's, the other's or nobody's.
fn write_cells(side: Side, cells: impl Iterator<Item = Option<bool>>, tokens: &mut Vec<Token>) {
    let (own, other) = (side_token(side), side_token(side.other()));
    tokens.push(own);
    tokens.extend(cells.map(|cell| match cell {
        None => spaced(b'.'),
        Some(true) => own,
        Some(false) => other,
    }));
}

/// Cell a1 is the lower left corner.
pub(super) fn write_connect4(game: Connect4, tokens: &mut Vec<Token>) {
    let (own, all) = (game.own(), game.occupied());
    let cells = (0..42).map(|cell| {
        let bit = 1 << (cell % 7 * 7 + cell / 7);
        (all & bit != 0).then_some(own & bit != 0)
    });
    write_cells(game.side_to_move(), cells, tokens);
}

/// Cell a1 is the upper left corner.
pub(super) fn write_othello(game: Othello, tokens: &mut Vec<Token>) {
    let (own, all) = (game.own(), game.own() | game.opponent());
    let cells = (0..64).map(|cell| (all >> cell & 1 != 0).then_some(own >> cell & 1 != 0));
    write_cells(game.side_to_move(), cells, tokens);
}

/// Cell a1 is the upper left corner.
pub(super) fn write_hex(game: &Hex, tokens: &mut Vec<Token>) {
    let side = game.side_to_move();
    let rows = game.stones(side).iter().zip(game.stones(side.other()));
    let cells = rows.flat_map(|(own, other)| {
        (0..game.size())
            .map(move |column| ((own | other) >> column & 1 != 0).then_some(own >> column & 1 != 0))
    });
    write_cells(side, cells, tokens);
}

/// Six rows from the top, joined by slashes, and the side.
pub(super) fn connect4_text(tokens: &[Token]) -> Result<String, usize> {
    let (side, cells) = letters(tokens)?;
    Ok(joined(cells.chunks(7).rev(), side))
}

/// 64 cells and the side, in the letters of other Othello programs.
pub(super) fn othello_text(tokens: &[Token]) -> Result<String, usize> {
    let (side, cells) = letters(tokens)?;
    let upper = |letter: char| if letter == '.' { '-' } else { letter.to_ascii_uppercase() };
    let cells: Vec<char> = cells.into_iter().map(upper).collect();
    Ok(joined([&cells[..]].into_iter(), upper(side)))
}

/// Rows from the top, joined by slashes, and the side.
pub(super) fn hex_text(tokens: &[Token], size: usize) -> Result<String, usize> {
    let (side, cells) = letters(tokens)?;
    Ok(joined(cells.chunks(size.max(1)), side))
}

/// Rows with slashes between them, and the side.
fn joined<'r>(rows: impl ExactSizeIterator<Item = &'r [char]>, side: char) -> String {
    let (mut text, n_rows) = (String::with_capacity(64), rows.len());
    for (row, cells) in (1..).zip(rows) {
        text.reserve(cells.len() + 2);
        text.extend(cells);
        text.push(if row < n_rows { '/' } else { ' ' });
    }
    text.push(side);
    text
}

/// Side and cells as letters, or the index of the first token that is none of them.
fn letters(tokens: &[Token]) -> Result<(char, Vec<char>), usize> {
    let letter = |at: usize, token: Token, allowed: &[u8]| {
        spaced_letter(token).filter(|letter| allowed.contains(letter)).map(char::from).ok_or(at)
    };
    let (&first, rest) = tokens.split_first().ok_or(0_usize)?;
    let side = letter(0, first, b"xo")?;
    // Collecting results would not know how many there are, and grow several times.
    let mut cells = Vec::with_capacity(rest.len());
    for (at, &token) in (1..).zip(rest) {
        cells.push(letter(at, token, b"xo.")?);
    }
    Ok((side, cells))
}
