//! Hex against engine games that were played to the end.

use mavis_game::{Game, Hex, Outcome, Side};
use std::{env, fs, path::PathBuf};

const SAMPLE: &str = include_str!("data/hex_neurohex_sample.txt");

/// Replays games of 13x13, one per line, each of which must end with its last move and no sooner; the wins by side.
fn wins(games: &str) -> [u32; 2] {
    let mut wins = [0; 2];
    for record in games.lines() {
        let mut position = Hex::new(13, false);
        for text in record.split_whitespace() {
            assert_eq!(position.outcome(), None, "over before {text}: {record}");
            let mv = position.parse_move(text).expect("recorded moves are legal");
            position.play_unchecked(mv);
        }
        let Some(Outcome::Win(side)) = position.outcome() else { panic!("not over: {record}") };
        wins[side.index()] += 1;
        assert_eq!(Hex::parse(13, false, &position.to_string()), Ok(position));
        assert!(filled_board_is_won_by(position, side), "{record}");
    }
    wins
}

/// Gives all empty cells to the loser: the winner's connection must hold and the loser's never come about.
fn filled_board_is_won_by(position: Hex, winner: Side) -> bool {
    let loser = if winner == Side::First { "o" } else { "x" };
    let full = position.to_string().replace('.', loser);
    let board = full.split(' ').next().expect("a first part");
    // The side to move may not have won already, so that one text reads and the other does not.
    let winner_to_move = if winner == Side::First { "x" } else { "o" };
    Hex::parse(13, false, &format!("{board} {loser}"))
        .is_ok_and(|p| p.outcome() == Some(Outcome::Win(winner)))
        && Hex::parse(13, false, &format!("{board} {winner_to_move}")).is_err()
}

#[test]
fn engine_games_end_in_one_connection_at_the_last_move() {
    let wins = wins(SAMPLE);
    assert_eq!(wins.iter().sum::<u32>(), 300);
}

#[test]
#[ignore = "needs the full set: neurohex_13x13_games.txt in the folder MAVIS_GAMES names"]
fn all_engine_games_end_in_one_connection_at_the_last_move() {
    let folder = PathBuf::from(env::var("MAVIS_GAMES").expect("MAVIS_GAMES names a folder"));
    let games = fs::read_to_string(folder.join("neurohex_13x13_games.txt")).unwrap();
    assert_eq!(wins(&games), [5_963, 5_022]);
}
