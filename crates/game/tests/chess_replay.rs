//! TCEC games, replayed move by move from their SAN.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_game::{CastlingMode, Chess, EndReason, Game, Move};
use pgn_reader::{RawTag, Reader, SanPlus, Visitor};
use std::{env, fs, ops::ControlFlow, path::PathBuf};

/// Replays a game and stops at the first disagreement.
struct Replay {
    mode: CastlingMode,
}

#[derive(Default)]
struct Tags {
    fen: Option<String>,
    termination: String,
}

struct Movetext {
    position: Chess,
    termination: String,
    counts: Counts,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    n_games: u32,
    n_plies: u32,
    /// Moves the record spells in another way than we do: a check sign left out, a file that need not stand.
    n_respelled: u32,
}

type ReplayResult = Result<Counts, String>;

impl Visitor for Replay {
    type Tags = Tags;
    type Movetext = Movetext;
    type Output = ReplayResult;

    fn begin_tags(&mut self) -> ControlFlow<ReplayResult, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(&mut self, tags: &mut Tags, name: &[u8], value: RawTag<'_>) -> ControlFlow<ReplayResult> {
        let value = value.decode_utf8_lossy().into_owned();
        match name {
            b"FEN" => tags.fen = Some(value),
            b"TerminationDetails" => tags.termination = value.to_lowercase(),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<ReplayResult, Movetext> {
        // Two Chess960 games lie among the standard ones; their rooks give them away.
        let parse = |fen: String| {
            Chess::parse(self.mode, &fen).or_else(|_| Chess::parse(CastlingMode::Chess960, &fen))
        };
        match tags.fen.map_or_else(|| Ok(Chess::default()), parse) {
            Ok(position) => ControlFlow::Continue(Movetext {
                position,
                termination: tags.termination,
                counts: Counts { n_games: 1, ..Counts::default() },
            }),
            Err(error) => ControlFlow::Break(Err(error.to_string())),
        }
    }

    fn san(&mut self, movetext: &mut Movetext, san: SanPlus) -> ControlFlow<ReplayResult> {
        match step(&mut movetext.position, &san.to_string()) {
            Ok(respelled) => {
                movetext.counts.n_plies += 1;
                movetext.counts.n_respelled += u32::from(respelled);
                ControlFlow::Continue(())
            }
            Err(reason) => ControlFlow::Break(Err(format!("{reason} in {}", movetext.position))),
        }
    }

    fn end_game(&mut self, movetext: Movetext) -> ReplayResult {
        check_end(&movetext.position, &movetext.termination)?;
        Ok(movetext.counts)
    }
}

/// Plays one move; every notation must lead to the same code and back. Says whether our SAN differs from the record's.
fn step(position: &mut Chess, san: &str) -> Result<bool, String> {
    let mv: Move = position.parse_move(san).map_err(|error| error.to_string())?;
    let written = position.san(mv).map_err(|error| error.to_string())?;
    for text in [&written, &position.move_text(mv)] {
        if position.parse_move(text) != Ok(mv) {
            return Err(format!("{san} does not survive as {text}"));
        }
    }
    position.play(mv).map_err(|error| error.to_string())?;
    Ok(written != san)
}

/// The end the record states must be the end our rules see.
fn check_end(position: &Chess, termination: &str) -> Result<(), String> {
    let reason = position.end_reason();
    let agrees = match termination {
        "white mates" | "black mates" => reason == Some(EndReason::Checkmate),
        "stalemate" => reason == Some(EndReason::Stalemate),
        "insufficient material" => reason == Some(EndReason::DeadMaterial),
        "3-fold repetition" => position.repetitions() >= 3 && position.claimable_draw(),
        "fifty moves rule" => position.claimable_draw(),
        _ => true,
    };
    if agrees { Ok(()) } else { Err(format!("'{termination}' ended {position}, we say {reason:?}")) }
}

/// Replays a whole file.
fn replay(mode: CastlingMode, pgn: &[u8]) -> Counts {
    let mut reader = Reader::new(pgn);
    let mut failures = Vec::new();
    let mut total = Counts::default();
    while let Some(result) = reader.read_game(&mut Replay { mode }).unwrap() {
        match result {
            Ok(counts) => {
                total.n_games += 1;
                total.n_plies += counts.n_plies;
                total.n_respelled += counts.n_respelled;
            }
            Err(reason) => failures.push(reason),
        }
    }
    assert!(failures.is_empty(), "{} games fail:\n{}", failures.len(), failures.join("\n"));
    total
}

#[test]
fn tcec_sample_replays() {
    let games = include_bytes!("data/tcec_standard_sample.pgn");
    let expected = Counts { n_games: 106, n_plies: 14_820, n_respelled: 0 };
    assert_eq!(replay(CastlingMode::Standard, games), expected);
}

#[test]
fn tcec_chess960_sample_replays() {
    let games = include_bytes!("data/tcec_frc_dfrc_sample.pgn");
    let expected = Counts { n_games: 104, n_plies: 14_653, n_respelled: 0 };
    assert_eq!(replay(CastlingMode::Chess960, games), expected);
}

#[test]
#[ignore = "needs the full sets: tcec_standard.pgn and tcec_frc_dfrc.pgn in the folder MAVIS_GAMES names"]
fn all_of_tcec_replays() {
    let folder = PathBuf::from(env::var("MAVIS_GAMES").expect("MAVIS_GAMES names a folder"));
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let standard = replay(CastlingMode::Standard, &read("tcec_standard.pgn"));
    assert_eq!(standard, Counts { n_games: 10_837, n_plies: 1_480_785, n_respelled: 172 });
    let chess960 = replay(CastlingMode::Chess960, &read("tcec_frc_dfrc.pgn"));
    assert_eq!(chess960, Counts { n_games: 5_219, n_plies: 689_960, n_respelled: 0 });
}
