//! What every parser promises, for the fuzz targets and the random test alike.

// Public to the fuzz crate, private to the test.
#![allow(unreachable_pub)]

use mavis_game::{Game, Position, Rules};

/// Any text is refused with a reason, or is a position that prints and reads back.
pub fn position(rules: Rules, text: &str) {
    match Position::parse(rules, text) {
        Ok(position) => {
            let printed = position.to_string();
            let again = Position::parse(rules, &printed).expect("what we print we read");
            assert_eq!(again, position, "{text:?} printed as {printed:?}");
            assert_eq!(again.to_string(), printed);
            assert_eq!(again.key(), position.key());
            // Whatever was accepted can be played on.
            assert_eq!(position.legal_moves().is_empty(), position.outcome().is_some(), "{printed:?}");
            for mv in position.legal_moves() {
                let mut next = position.clone();
                next.play(mv).expect("listed moves are legal");
                assert!(!next.to_string().is_empty());
            }
        }
        Err(error) => assert_one_line(&error.to_string()),
    }
}

/// Any text is refused with a reason, or is a legal move that prints and reads back.
///
/// The position is reached by the moves that `path` chooses.
pub fn mv(rules: Rules, path: &[u8], text: &str) {
    let mut position = Position::start(rules);
    for &choice in path {
        // The upper bits decide, so that a byte is spread over the range.
        let Some(mv) = position.random_move(u32::from(choice) << 24) else { break };
        position.play_unchecked(mv);
    }
    match position.parse_move(text) {
        Ok(mv) => {
            assert!(position.is_legal(mv), "{text:?} in {position}");
            assert_eq!(position.parse_move(&position.move_text(mv)), Ok(mv), "{text:?} in {position}");
        }
        Err(error) => assert_one_line(&error.to_string()),
    }
}

/// Any text is refused with a reason, or names rules that print and read back.
pub fn rules(text: &str) {
    match text.parse::<Rules>() {
        Ok(rules) => assert_eq!(rules.to_string().parse(), Ok(rules), "{text:?}"),
        Err(error) => assert_one_line(&error.to_string()),
    }
}

/// An error has something to say, in one line whatever it quotes.
fn assert_one_line(error: &str) {
    assert!(!error.is_empty() && !error.contains(char::is_control), "{error:?}");
}
