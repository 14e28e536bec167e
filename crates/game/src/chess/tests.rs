use super::*;
use shakmaty::{EnPassantMode, fen::Fen};

fn chess(fen: &str) -> Chess {
    Chess::parse(CastlingMode::Standard, fen).unwrap()
}

fn chess960(fen: &str) -> Chess {
    Chess::parse(CastlingMode::Chess960, fen).unwrap()
}

fn play(position: &mut Chess, moves: &str) {
    for text in moves.split_whitespace() {
        let mv = position.parse_move(text).unwrap();
        position.play(mv).unwrap();
    }
}

#[track_caller]
fn check_end(fen: &str, outcome: Outcome, reason: EndReason) {
    let position = chess(fen);
    assert_eq!((position.outcome(), position.end_reason()), (Some(outcome), Some(reason)));
    let mut moves = Moves::new();
    position.legal_moves_into(&mut moves);
    assert!(moves.is_empty(), "a finished game has no moves");
}

#[test]
fn games_end_for_every_reason() {
    check_end(
        "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
        Outcome::Win(Side::Second),
        EndReason::Checkmate,
    );
    check_end("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Outcome::Draw, EndReason::Stalemate);
    check_end("7k/8/6K1/8/8/5N2/8/8 b - - 0 1", Outcome::Draw, EndReason::DeadMaterial);
    check_end("7k/8/6K1/8/8/5N2/8/R7 w - - 150 90", Outcome::Draw, EndReason::SeventyFiveMoves);
    // Mate on the last of the 150 plies counts.
    check_end("R6k/8/6K1/8/8/8/8/8 b - - 150 90", Outcome::Win(Side::First), EndReason::Checkmate);
}

#[test]
fn repetition_is_claimed_at_three_and_ends_at_five() {
    let mut position = Chess::default();
    let shuffle = "Ng1f3 Ng8f6 Nf3g1 Nf6g8";
    play(&mut position, shuffle);
    assert_eq!((position.repetitions(), position.claimable_draw()), (2, false));
    play(&mut position, shuffle);
    assert_eq!((position.repetitions(), position.claimable_draw()), (3, true));
    assert_eq!(position.outcome(), None);
    play(&mut position, shuffle);
    play(&mut position, shuffle);
    assert_eq!(position.end_reason(), Some(EndReason::FivefoldRepetition));
    assert!(position.parse_move("e2e4").is_err());
}

#[test]
fn losing_castling_rights_starts_repetition_afresh() {
    let mut position = chess("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
    play(&mut position, "Ra2 Ra7 Ra1 Ra8");
    assert_eq!(position.repetitions(), 1, "the first position had more rights");
    play(&mut position, "Ra2 Ra7 Ra1 Ra8");
    assert_eq!(position.repetitions(), 2);
}

#[test]
fn fifty_moves_are_claimable() {
    assert!(!chess("7k/8/6K1/8/8/8/8/R7 w - - 99 90").claimable_draw());
    assert!(chess("7k/8/6K1/8/8/8/8/R7 w - - 100 90").claimable_draw());
}

#[test]
fn castling_reads_in_every_spelling_and_prints_by_mode() {
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    for (position, text) in [(chess(fen), "e1g1"), (chess960(fen), "e1h1")] {
        let castle = position.parse_move("O-O").unwrap();
        assert_eq!(castle, Move(4 | 7 << 6));
        assert_eq!(position.move_text(castle), text);
        assert_eq!(position.san(castle).unwrap(), "O-O");
        for spelling in ["e1g1", "e1h1", "0-0"] {
            assert_eq!(position.parse_move(spelling), Ok(castle), "{spelling}");
        }
    }
    // The king stands beside its target, so only king takes rook castles.
    let position = chess960("1r3k1r/8/8/8/8/8/8/1R3K1R w KQkq - 0 1");
    assert_eq!(position.san(position.parse_move("f1g1").unwrap()).unwrap(), "Kg1");
    assert_eq!(position.san(position.parse_move("f1h1").unwrap()).unwrap(), "O-O+");
    assert_eq!(position.san(position.parse_move("f1c1").unwrap()).unwrap(), "O-O-O");
}

#[test]
fn moves_that_are_not_say_which_way() {
    let position = Chess::default();
    assert_eq!(position.parse_move("e2e5"), Err(MoveError::Illegal { text: "e2e5".to_owned() }));
    assert_eq!(position.parse_move("Qh5"), Err(MoveError::Illegal { text: "Qh5".to_owned() }));
    for text in ["", "e9e4", "hello", "0000", "--", "e2e4q", "Ω"] {
        assert!(position.parse_move(text).is_err(), "{text}");
    }
    assert!(position.san(Move(u16::MAX)).is_err());
}

#[test]
fn fen_flavors_agree() {
    // Rooks on f1 and h1, the inner one may castle: X-FEN writes its file, Shredder-FEN always does.
    let inner = chess960("4k3/8/8/8/8/8/8/4KR1R w F - 0 1");
    let outer = chess960("4k3/8/8/8/8/8/8/4KR1R w K - 0 1");
    assert_eq!(inner.to_string(), "4k3/8/8/8/8/8/8/4KR1R w F - 0 1");
    assert_eq!(outer, chess960("4k3/8/8/8/8/8/8/4KR1R w H - 0 1"));
    assert_ne!(inner, outer);
    assert_ne!(inner.key(), outer.key());
    assert_eq!(chess("4k3/8/8/8/8/8/8/4K2R w H - 0 1").to_string(), "4k3/8/8/8/8/8/8/4K2R w K - 0 1");
}

#[test]
fn en_passant_counts_only_where_legal() {
    let mut position = Chess::default();
    play(&mut position, "e4");
    assert_eq!(position.to_string(), "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    let with = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1";
    assert_eq!(position, chess(with));
    assert_eq!(position.key(), chess(with).key());
    // Pinned along the rank by the capture itself, so the square does not count.
    let pinned = chess("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1");
    assert_eq!(pinned, chess("8/8/8/8/k2Pp2Q/8/8/3K4 b - - 0 1"));
    let legal = chess("8/8/8/8/k2Pp3/8/8/3K4 b - d3 0 1");
    let gone = chess("8/8/8/8/k2Pp3/8/8/3K4 b - - 0 1");
    assert_ne!(legal, gone);
    assert_ne!(legal.key(), gone.key());
}

#[test]
fn the_key_is_the_same_by_either_way() {
    let mut position = Chess::default();
    play(&mut position, "e4 d5 exd5 c5 dxc6 Nf6 cxb7 Bd7 bxa8=N Qc7 Nf3 e6 Be2 Be7 O-O O-O");
    let text = Fen::from_position(position.position(), EnPassantMode::Always).to_string();
    assert_eq!(position.key(), chess(&text).key());
    assert_eq!(position.ply(), 16);
    assert_ne!(Chess::default().key(), Chess::start960(518).unwrap().key());
}

#[test]
fn start_positions_have_the_agreed_numbers() {
    for (number, rank) in [(0, "BBQNNRKR"), (518, "RNBQKBNR"), (534, "RNBKQBNR"), (959, "RKRNNQBB")] {
        let position = Chess::start960(number).unwrap();
        assert!(position.to_string().contains(&format!("/{rank} w KQkq - 0 1")), "{position}");
    }
    assert!(Chess::start960(960).is_none());
    let all: std::collections::HashSet<String> =
        (0..960).map(|number| Chess::start960(number).unwrap().to_string()).collect();
    assert_eq!(all.len(), 960);
}

#[test]
fn bad_positions_name_the_fault() {
    for (text, fault) in [
        ("", "fen"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN w KQkq - 0 1", "board"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1", "turn"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkz - 0 1", "castling"),
        ("8/8/8/8/8/8/8/K7 w - - 0 1", "king"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1", "variant"),
    ] {
        let error = Chess::parse(CastlingMode::Standard, text).unwrap_err();
        assert!(error.to_string().contains(fault), "{error}");
    }
}
