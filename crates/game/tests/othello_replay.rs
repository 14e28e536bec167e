//! Othello against tournament games and problem positions.

use mavis_game::{Game, Moves, Othello, Side};
use std::{collections::BTreeSet, env, fs, path::PathBuf};

const SAMPLE: &str = include_str!("data/othello_wthor_sample.tsv");
const PROBLEMS: &str = include_str!("data/othello_fforum.obf");

/// Plays a record such as `f5d6c3...`, which leaves passes out.
fn replayed(record: &str) -> Result<Othello, String> {
    let mut position = Othello::default();
    for start in (0..record.len()).step_by(2) {
        let text = record.get(start..start + 2).ok_or("half a move")?;
        if position.is_legal(Othello::PASS) {
            position.play_unchecked(Othello::PASS);
        }
        let mv = position.parse_move(text).map_err(|error| format!("{record} at {start}: {error}"))?;
        position.play_unchecked(mv);
    }
    if position.is_legal(Othello::PASS) {
        position.play_unchecked(Othello::PASS);
    }
    Ok(position)
}

/// The first player's discs as tournaments write them, the empty squares given to the winner.
fn final_discs(position: Othello) -> i32 {
    (64 + position.final_score()) / 2
}

#[test]
fn finished_wthor_games_have_the_stated_disc_count() {
    let mut n_games = 0;
    for line in SAMPLE.lines() {
        let (discs, record) = line.split_once('\t').unwrap();
        let position = replayed(record).unwrap();
        assert!(position.outcome().is_some(), "{record}");
        assert_eq!(final_discs(position), discs.parse().unwrap(), "{record}");
        assert_eq!(
            position.final_score().signum(),
            match position.outcome().unwrap().winner() {
                Some(Side::First) => 1,
                Some(Side::Second) => -1,
                None => 0,
            }
        );
        n_games += 1;
    }
    assert_eq!(n_games, 1_000);
}

#[test]
#[ignore = "needs the full set: wthor_1977_2025.tsv in the folder MAVIS_GAMES names"]
fn all_wthor_games_are_legal_and_all_finished_ones_agree() {
    let folder = PathBuf::from(env::var("MAVIS_GAMES").expect("MAVIS_GAMES names a folder"));
    let text = fs::read_to_string(folder.join("wthor_1977_2025.tsv")).unwrap();
    let (mut n_games, mut n_unfinished, mut n_differ) = (0, 0, 0);
    for line in text.lines().skip(1) {
        let [_, discs, _, _, record] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let position = replayed(record).unwrap();
        n_games += 1;
        if position.outcome().is_none() {
            n_unfinished += 1;
        } else if final_discs(position) != discs.parse::<i32>().unwrap() {
            n_differ += 1;
            println!("{discs} stated, {} played: {record}", final_discs(position));
        }
    }
    println!("{n_games} games, {n_unfinished} unfinished, {n_differ} finished with another count");
    assert_eq!((n_games, n_unfinished, n_differ), (137_506, 413, 0));
}

/// Every problem lists all legal moves with their scores.
#[test]
fn problems_list_exactly_the_legal_moves() {
    let mut n_problems = 0;
    for line in PROBLEMS.lines() {
        let (text, moves) = line.split_once(';').unwrap();
        let position = Othello::parse(text).unwrap();
        assert_eq!(position.to_string(), text);
        let listed: BTreeSet<String> = moves
            .split(';')
            .filter_map(|part| part.split_once(':'))
            .map(|(mv, _)| mv.trim().to_lowercase())
            .collect();
        let mut legal = Moves::new();
        position.legal_moves_into(&mut legal);
        let legal: BTreeSet<String> = legal.iter().map(|&mv| position.move_text(mv)).collect();
        assert_eq!(listed, legal, "{text}");
        n_problems += 1;
    }
    assert_eq!(n_problems, 79);
}
