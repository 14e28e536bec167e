//! Positions, moves, names of games and players, configurations, PGN, the language.

use crate::assert_reason;
use mavis_data::pgn::PgnReader;
use mavis_game::{Game as _, Position, Rules};
use mavis_lang::{
    Token, check_trace, parse_answer, parse_example, parse_example_text, parse_request, read_trace,
};
use mavis_league::wire::LeagueConfig;
use mavis_play::{PlayerSpec, Registry};

pub(crate) fn chess(input: &[u8]) {
    board(Rules::Chess, input);
}

pub(crate) fn chess960(input: &[u8]) {
    board(Rules::Chess960, input);
}

pub(crate) fn connect4(input: &[u8]) {
    board(Rules::Connect4, input);
}

pub(crate) fn hex(input: &[u8]) {
    // The first byte chooses the size and whether swaps are allowed.
    let (head, rest) = input.split_first().map_or((0, input), |(head, rest)| (*head, rest));
    board(Rules::Hex { size: 3 + head % 17, swap: head >= 128 }, rest);
}

pub(crate) fn othello(input: &[u8]) {
    board(Rules::Othello, input);
}

pub(crate) fn togyz(input: &[u8]) {
    board(Rules::Togyz, input);
}

/// A position text, and below it a move text in that position.
fn board(rules: Rules, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (place, mv) = text.split_once('\n').unwrap_or((&text, ""));
    let position = match Position::parse(rules, place) {
        Ok(position) => position,
        Err(error) => return assert_reason(&error.to_string()),
    };
    let printed = position.to_string();
    assert_eq!(Position::parse(rules, &printed).as_ref(), Ok(&position), "{place:?} printed as {printed:?}");
    // Whatever was accepted can be played on.
    let legal = position.legal_moves();
    assert_eq!(legal.is_empty(), position.outcome().is_some(), "{printed:?}");
    for &mv in &legal {
        let mut next = position.clone();
        assert!(next.play(mv).is_ok(), "listed moves are legal: {printed:?}");
        assert_eq!(position.parse_move(&position.move_text(mv)), Ok(mv), "{printed:?}");
    }
    match position.parse_move(mv) {
        Ok(mv) => assert!(legal.contains(&mv), "{printed:?}"),
        Err(error) => assert_reason(&error.to_string()),
    }
}

pub(crate) fn rules(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match text.parse::<Rules>() {
        Ok(rules) => assert_eq!(rules.to_string().parse(), Ok(rules), "{text:?}"),
        Err(error) => assert_reason(&error.to_string()),
    }
}

/// A line that names a player prints and reads back; options are checked without building the player.
pub(crate) fn spec(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match text.parse::<PlayerSpec>() {
        Ok(spec) => {
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()), "{text:?} printed as '{spec}'");
            if let Err(error) = Registry::basic().check(&spec) {
                assert_reason(&error.to_string());
            }
        }
        Err(error) => assert_reason(&error.to_string()),
    }
}

pub(crate) fn league_config(input: &[u8]) {
    match LeagueConfig::from_toml(&String::from_utf8_lossy(input)) {
        Ok(config) => {
            let written = config.to_toml().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(LeagueConfig::from_toml(&written).as_ref().ok(), Some(&config), "{written}");
        }
        Err(error) => assert_reason(&error.to_string()),
    }
}

pub(crate) fn pgn(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for game in PgnReader::new(&text) {
        match game {
            Ok(game) => {
                let written = game.to_string();
                let again: Vec<_> = PgnReader::new(&written).collect();
                assert_eq!(again.len(), 1, "{written:?}");
                let rewritten = again.into_iter().flatten().map(|game| game.to_string()).collect::<String>();
                assert_eq!(rewritten, written, "{text:?}");
            }
            Err(error) => assert_reason(&error.to_string()),
        }
    }
}

pub(crate) fn mav(input: &[u8]) {
    if let Err(error) = parse_example_text(&String::from_utf8_lossy(input)) {
        assert_reason(&error.to_string());
    }
}

/// Two bytes a token, as a model might write them.
pub(crate) fn mav_tokens(input: &[u8]) {
    let tokens: Vec<Token> = input.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    if let Err(error) = parse_example(&tokens) {
        assert_reason(&error.to_string());
    }
    if let Ok((request, n_read)) = parse_request(&tokens)
        && let Err(error) = parse_answer(&request, tokens.get(n_read..).unwrap_or_default())
    {
        assert_reason(&error.to_string());
    }
    if let Ok(trace) = read_trace(&tokens) {
        drop(check_trace(&trace, None));
    }
}

pub(crate) fn trace(input: &[u8]) {
    match mavis_lang::trace::read_trace_text(&String::from_utf8_lossy(input)) {
        Ok(trace) => {
            if let Err(error) = check_trace(&trace, None) {
                assert_reason(&error.to_string());
            }
        }
        Err(error) => assert_reason(&error.to_string()),
    }
}
