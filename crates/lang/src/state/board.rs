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
    let rows: Vec<String> = cells.chunks(7).rev().map(|row| row.iter().collect()).collect();
    Ok(format!("{} {side}", rows.join("/")))
}

/// 64 cells and the side, in the letters of other Othello programs.
pub(super) fn othello_text(tokens: &[Token]) -> Result<String, usize> {
    let (side, cells) = letters(tokens)?;
    let upper = |letter: &char| if *letter == '.' { '-' } else { letter.to_ascii_uppercase() };
    Ok(format!("{} {}", cells.iter().map(upper).collect::<String>(), upper(&side)))
}

/// Rows from the top, joined by slashes, and the side.
pub(super) fn hex_text(tokens: &[Token], size: usize) -> Result<String, usize> {
    let (side, cells) = letters(tokens)?;
    let rows: Vec<String> = cells.chunks(size.max(1)).map(|row| row.iter().collect()).collect();
    Ok(format!("{} {side}", rows.join("/")))
}

/// Side and cells as letters, or the index of the first token that is none of them.
fn letters(tokens: &[Token]) -> Result<(char, Vec<char>), usize> {
    let letter = |at: usize, token: Token, allowed: &[u8]| {
        spaced_letter(token).filter(|letter| allowed.contains(letter)).map(char::from).ok_or(at)
    };
    let (&side, cells) = tokens.split_first().ok_or(0_usize)?;
    let side = letter(0, side, b"xo")?;
    let cells = (1..).zip(cells).map(|(at, &token)| letter(at, token, b"xo."));
    Ok((side, cells.collect::<Result<_, _>>()?))
}
