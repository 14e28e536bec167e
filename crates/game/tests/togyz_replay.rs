//! Togyz Kumalak against recorded games: hole, kazan and tuzdyk after every move.
//!
//! A move is written `ab`: sow from pit a, last stone in pit b; `(n)` after a capture is the mover's kazan; `X` says
//! that a tuzdyk was made.

use mavis_game::{EndReason, Game, Outcome, Togyz};
use std::{env, fs, path::PathBuf};

const SAMPLE: &str = include_str!("data/togyz_generated.txt");

/// Plays one move and writes it as the records do.
fn play(position: &mut Togyz, pit: &str) -> Result<String, String> {
    let side = position.side_to_move();
    let tuzdyk = position.tuzdyk(side);
    let mv = position.parse_move(pit).map_err(|error| error.to_string())?;
    let (end, last) = position.last_pit(mv).ok_or("no stone")?;
    position.play_unchecked(mv);
    // The pit of the last stone is empty only after a capture, or because it was a tuzdyk already.
    let captured = end != side && position.pits(end)[usize::from(last) - 1] == 0;
    let note = match position.tuzdyk(side) {
        now if now != tuzdyk => "X".to_owned(),
        now if captured && now != Some(last) => format!("({})", position.kazan(side)),
        _ => String::new(),
    };
    Ok(format!("{pit}{last}{note}"))
}

fn replayed(moves: &[&str]) -> Result<Togyz, String> {
    let mut position = Togyz::default();
    for (ply, &written) in moves.iter().enumerate() {
        let pit = written.get(..1).ok_or("an empty move")?;
        let played = play(&mut position, pit).map_err(|error| format!("ply {ply} {written}: {error}"))?;
        if played != written {
            return Err(format!("ply {ply}: {written} in the record, {played} by the rules"));
        }
        if Togyz::parse(&position.to_string()) != Ok(position) {
            return Err(format!("ply {ply}: {position} does not read back"));
        }
    }
    Ok(position)
}

/// Lines of moves, the result at the end, from an implementation of its own.
#[test]
fn generated_games_replay_to_their_result() {
    let mut ends = [0; 4];
    for line in SAMPLE.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        let result = words.pop().unwrap();
        let position = replayed(&words).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(position.outcome().unwrap().as_str(), result, "{line}");
        let majority = position.end_reason() == Some(EndReason::Majority);
        ends[usize::from(majority)] += 1;
        ends[2] += usize::from(position.outcome() == Some(Outcome::Draw));
        ends[3] += usize::from(line.contains('X'));
    }
    assert!(ends.iter().all(|&n| n > 0), "stuck, majority, draw, tuzdyk: {ends:?}");
    assert_eq!(ends[0] + ends[1], 100);
}

#[test]
#[ignore = "needs the full set: playok_games.pgn in the folder MAVIS_GAMES names"]
fn all_played_games_replay_with_hole_kazan_and_tuzdyk() {
    let folder = PathBuf::from(env::var("MAVIS_GAMES").expect("MAVIS_GAMES names a folder"));
    let text = fs::read_to_string(folder.join("playok_games.pgn")).unwrap();
    let (mut n_games, mut n_plies, mut n_stuck, mut n_majority) = (0, 0, 0, 0);
    for game in text.split("[Event ").skip(1) {
        let body: Vec<&str> = game.lines().filter(|line| !line.contains('"')).collect();
        let body = body.join(" ");
        let moves: Vec<&str> = body
            .split_whitespace()
            .filter(|word| word.len() > 1 && word.as_bytes()[..2].iter().all(u8::is_ascii_digit))
            .filter(|word| !word.ends_with('.'))
            .collect();
        let position = replayed(&moves).unwrap_or_else(|error| panic!("{error}\n{game}"));
        let result = body.split_whitespace().find(|word| ["1-0", "0-1", "1/2-1/2"].contains(word)).unwrap();
        // Other games end by resignation, agreement or on time.
        if let Some(outcome) = position.outcome() {
            assert_eq!(outcome.as_str(), result, "{game}");
            match position.end_reason() {
                Some(EndReason::Majority) => n_majority += 1,
                _ => n_stuck += 1,
            }
        }
        assert_eq!(body.contains("{zero}"), position.end_reason() == Some(EndReason::NoMoves), "{game}");
        n_games += 1;
        n_plies += moves.len();
    }
    println!("{n_games} games, {n_plies} plies, {n_majority} by majority, {n_stuck} with an empty side");
    assert_eq!((n_games, n_plies), (2_398, 222_045));
}
