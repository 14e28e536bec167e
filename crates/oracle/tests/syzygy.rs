//! The tablebase oracle against another prober, on the tables beside it.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{Chess, Game, Position, Rules};
use mavis_oracle::syzygy::{SyzygyError, SyzygyOracle};
use mavis_oracle::{Oracle, OracleError, Score};
use shakmaty::CastlingMode;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/syzygy")
}

fn chess(fen: &str) -> Chess {
    Chess::parse(CastlingMode::Standard, fen).unwrap()
}

/// What a distance to zeroing means with the clock at `halfmoves`: 1, 0 or -1 for the side to move.
fn result(distance: i32, halfmoves: i32) -> i32 {
    if distance == 0 || distance.abs() + halfmoves > 100 { 0 } else { distance.signum() }
}

#[test]
fn every_move_agrees_with_another_prober() {
    let mut oracle = SyzygyOracle::open(&[folder()]).unwrap();
    assert_eq!(oracle.max_pieces(), 4);
    let (mut n_moves, mut n_spoiled) = (0, 0);
    for line in include_str!("data/syzygy/expected.tsv").lines().skip(1) {
        let [fen, wdl, _, after] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let halfmoves: i32 = fen.split(' ').nth(4).unwrap().parse().unwrap();
        let position = Position::Chess(chess(fen));
        let ranking = oracle.evaluate(&position).unwrap();
        assert_eq!(ranking.moves.len(), position.n_legal_moves());
        let mut best = -1;
        for item in after.split(' ') {
            let (mv, distance) = item.split_once('=').unwrap();
            let mv = position.parse_move(mv).unwrap();
            let judged = ranking.of(mv).unwrap();
            let Score::Solved(score) = judged.score else { panic!("{judged:?}") };
            let zeroing = chess(fen).shakmaty_move(mv).unwrap().is_zeroing();
            let expected = match distance {
                "mate" => 1,
                distance => -result(distance.parse().unwrap(), if zeroing { 0 } else { halfmoves + 1 }),
            };
            assert_eq!(score.signum(), expected, "{fen} {item}");
            assert_eq!(judged.win_probability, [0.0, 0.5, 1.0][(expected + 1) as usize]);
            assert_eq!(judged.plies, (distance == "mate").then_some(1));
            best = best.max(expected);
            n_moves += 1;
        }
        let Score::Solved(first) = ranking.moves[0].score else { panic!() };
        assert_eq!(first.signum(), best, "{fen}");
        n_spoiled += usize::from(wdl == "2" && best == 0);
    }
    assert!(n_moves > 1000 && n_spoiled > 0, "{n_moves} moves, {n_spoiled} wins that come too late");
}

#[test]
fn the_best_moves_win_within_the_fifty_move_rule() {
    let mut oracle = SyzygyOracle::open(&[folder()]).unwrap();
    for fen in
        ["8/8/8/3k4/8/8/8/KR6 w - - 0 1", "8/8/8/3k4/8/8/8/KQ6 w - - 0 1", "8/8/8/8/1k6/8/3PK3/8 w - - 0 1"]
    {
        let mut position = Position::Chess(chess(fen));
        while position.outcome().is_none() {
            let ranking = oracle.evaluate(&position).unwrap();
            position.play(ranking.best().unwrap()).unwrap();
            assert!(position.ply() < 200, "{position}");
        }
        assert_eq!(position.outcome().unwrap().winner(), Some(mavis_game::Side::First), "{position}");
    }
}

#[test]
fn the_judge_of_a_game_asks_who_wins() {
    let oracle = SyzygyOracle::open(&[folder()]).unwrap();
    let winner = |fen| oracle.winner(&chess(fen)).unwrap();
    assert_eq!(winner("8/8/8/3k4/8/8/8/KR6 b - - 0 1"), Some(mavis_game::Side::First));
    // A win too far away for the clock.
    assert_eq!(winner("8/8/8/3k4/8/8/8/KR6 b - - 90 80"), None);
    assert_eq!(winner("8/8/8/3k1r2/8/8/8/KR6 w - - 0 1"), None);
    assert_eq!(winner("8/8/8/8/8/8/8/KNk5 w - - 0 1"), None);
}

#[test]
fn what_the_tables_do_not_cover_is_said() {
    let mut oracle = SyzygyOracle::open(&[folder()]).unwrap();
    let unknown = |oracle: &mut SyzygyOracle, fen: &str| {
        let Err(OracleError::NoAnswer { reason, .. }) = oracle.evaluate(&Position::Chess(chess(fen))) else {
            panic!("{fen}")
        };
        reason
    };
    let reason = unknown(&mut oracle, "8/8/8/3k1r2/8/8/8/KQ6 w - - 0 1");
    assert!(reason.contains("KQvKR"), "{reason}");
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(unknown(&mut oracle, start), "too many pieces");
    let castling = unknown(&mut oracle, "r3k3/8/8/8/8/8/8/4K3 w q - 0 1");
    assert!(castling.contains("castling"), "{castling}");
    let hex = Position::start(Rules::HEX);
    assert!(matches!(oracle.evaluate(&hex), Err(OracleError::WrongGame { .. })));
}

#[test]
fn folders_without_tables_are_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(SyzygyOracle::open(&[empty.path()]), Err(SyzygyError::Empty { .. })));
    let missing = empty.path().join("none");
    assert!(matches!(SyzygyOracle::open(&[missing]), Err(SyzygyError::Folder { .. })));
    // A file cut short.
    std::fs::write(empty.path().join("KRvK.rtbw"), [0; 10]).unwrap();
    assert!(matches!(SyzygyOracle::open(&[empty.path()]), Err(SyzygyError::Folder { .. })));
    // The right size but no table.
    std::fs::write(empty.path().join("KRvK.rtbw"), [0; 80]).unwrap();
    let mut broken = SyzygyOracle::open(&[empty.path()]).unwrap();
    let rook = Position::Chess(chess("8/8/8/3k4/8/8/8/KR6 w - - 0 1"));
    assert!(matches!(broken.evaluate(&rook), Err(OracleError::NoAnswer { .. })));
}
