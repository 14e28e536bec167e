//! Togyz Kumalak: side, the first player's pits 1 to 9, the second's, both kazans, both tuzdyks.

use crate::vocab::{COUNTS, Token, spaced, spaced_letter};
use mavis_game::{Game, Side, Togyz};

/// The number of fields.
pub(super) const WIDTH: usize = 1 + 18 + 2 + 2;
const KAZANS: usize = 19;
const TUZDYKS: usize = 21;

/// A tuzdyk is the number of the opponent's pit, or `-`.
pub(super) fn write(game: &Togyz, tokens: &mut Vec<Token>) {
    let sides = [Side::First, Side::Second];
    tokens.push(spaced(if game.side_to_move() == Side::First { b'w' } else { b'b' }));
    for side in sides {
        tokens.extend(game.pits(side).iter().map(|&stones| COUNTS.start + Token::from(stones)));
    }
    tokens.extend(sides.map(|side| COUNTS.start + Token::from(game.kazan(side))));
    tokens.extend(
        sides.map(|side| game.tuzdyk(side).map_or(spaced(b'-'), |pit| COUNTS.start + Token::from(pit))),
    );
}

/// The position text that the fields spell, or the index of the first field out of place.
pub(super) fn text(tokens: &[Token]) -> Result<String, usize> {
    let field = |at: usize| tokens.get(at).copied().ok_or(at);
    let number = |at: usize| COUNTS.place(field(at)?).ok_or(at);
    let side = spaced_letter(field(0)?).filter(|side| b"wb".contains(side)).map(char::from).ok_or(0_usize)?;
    let mut tuzdyks = [None; 2];
    for (place, tuzdyk) in tuzdyks.iter_mut().enumerate() {
        let at = TUZDYKS + place;
        if field(at)? != spaced(b'-') {
            *tuzdyk = Some(number(at)?).filter(|pit| (1..=9).contains(pit));
            if tuzdyk.is_none() {
                return Err(at);
            }
        }
    }
    let mut rows = [String::new(), String::new()];
    let [first, second] = tuzdyks;
    for ((side, row), tuzdyk) in rows.iter_mut().enumerate().zip([second, first]) {
        for pit in 0..9 {
            let stones = number(1 + 9 * side + pit)?;
            if pit > 0 {
                row.push(',');
            }
            // A tuzdyk lies among the opponent's pits and is always empty.
            if stones == 0 && tuzdyk == Some(pit as Token + 1) {
                row.push('X');
            } else {
                row.push_str(&stones.to_string());
            }
        }
    }
    let [first, second] = rows;
    Ok(format!("{first}/{second} {},{} {side}", number(KAZANS)?, number(KAZANS + 1)?))
}
