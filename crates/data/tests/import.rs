//! Real games in every format, compressed or not.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::{import, rows, sample};
use mavis_data::TableWriter;
use mavis_data::import::{Format, ImportCounts, Importer};
use mavis_data::wire::{GameRow, PositionRow};
use mavis_game::{Game, Position, Rules};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Imports a source and replays every game from its row: positions and moves must fit.
fn check(source: &Path, format: Option<Format>) -> (ImportCounts, Vec<GameRow>) {
    let folder = tempfile::tempdir().unwrap();
    let [positions, games] = ["p.parquet", "g.parquet"].map(|name| folder.path().join(name));
    let counts = import(source, format, &positions, &games);
    let (positions, games) = (rows::<PositionRow>(&positions), rows::<GameRow>(&games));
    assert_eq!((counts.n_positions, counts.n_games), (positions.len() as u64, games.len() as u64));
    let mut positions = positions.into_iter();
    for game in &games {
        let rules: Rules = game.game.parse().unwrap();
        let mut position = Position::parse(rules, &game.start).unwrap();
        for played in game.moves.iter().map(Some).chain([None]) {
            let row = positions.next().unwrap();
            assert_eq!((&row.place.position, row.place.ply), (&position.to_string(), position.ply()));
            assert_eq!((row.place.game_id.as_ref(), row.played.as_ref()), (Some(&game.game_id), played));
            if let Some(text) = played {
                position.play_text(text).unwrap();
            }
        }
    }
    assert_eq!(positions.next(), None);
    (counts, games)
}

#[test]
fn pgn_of_both_chesses_replays() {
    let (counts, games) = check(&sample("tcec_standard_sample.pgn"), None);
    assert_eq!(counts.n_refused, 0, "{:?}", counts.refused);
    assert!(counts.n_games > 20);
    assert!(games.iter().all(|game| game.game == "chess" && game.result.is_some() && game.first.is_some()));
    let (counts, games) = check(&sample("tcec_frc_dfrc_sample.pgn"), None);
    assert_eq!(counts.n_refused, 0, "{:?}", counts.refused);
    assert!(games.iter().all(|game| game.game == "chess960"));
}

#[test]
fn compressed_sources_hold_the_same_games() {
    let folder = tempfile::tempdir().unwrap();
    let plain = fs::read(sample("tcec_standard_sample.pgn")).unwrap();
    let (expected, games) = check(&sample("tcec_standard_sample.pgn"), None);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&plain).unwrap();
    let files = [
        ("tcec_standard_sample.pgn.gz", gzip.finish().unwrap()),
        ("tcec_standard_sample.pgn.bz2", bzip2.finish().unwrap()),
        ("tcec_standard_sample.pgn.zst", zstd::encode_all(&plain[..], 3).unwrap()),
    ];
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let (counts, same) = check(&path, None);
        assert_eq!(counts, expected);
        for (game, same) in games.iter().zip(same) {
            // The file's name is part of the source, not of the id.
            assert_eq!((&game.game_id, &game.moves), (&same.game_id, &same.moves));
        }
    }
}

/// Without the column every line would be a game without moves.
#[test]
fn lichess_lines_need_their_column_of_moves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lc.csv");
    fs::write(&path, "id,moves_san\n1,e4 e5\n").unwrap();
    let (_, games) = check(&path, None);
    assert_eq!(games[0].moves, ["e2e4", "e7e5"]);
    for bytes in [&b"id,Moves\n1,e4 e5\n"[..], b"\x93\x00\xfe,\n\xff\x01\n"] {
        fs::write(&path, bytes).unwrap();
        let mut importer = Importer {
            games: Some(TableWriter::create(&folder.path().join("g.parquet")).unwrap()),
            ..Importer::default()
        };
        let error = importer.import(&path, Some(Format::LichessCsv)).unwrap_err().to_string();
        assert!(error.ends_with("lc.csv: the header has no column 'moves_san'"), "{error}");
    }
}

#[test]
fn broken_games_are_counted_and_do_not_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.pgn");
    let text = "[Site \"https://lichess.org/abcd1234\"]\n[WhiteElo \"2100\"]\n[BlackElo \"1900\"]\n\n1. e4 e5 (1... c5 2. Nf3) 2. Nf3 { good } Nc6 $1 1/2-1/2\n\n\
                [Event \"illegal\"]\n\n1. e4 e5 2. Ke3 *\n\n\
                [Variant \"Atomic\"]\n\n1. e4 e5 *\n\n\
                [FEN \"nonsense\"]\n\n1. e4 *\n\n\
                [FEN \"4k3/8/8/8/8/8/8/4KR1R w F - 0 1\"]\n\n1. O-O *\n";
    fs::write(&path, text).unwrap();
    let (counts, games) = check(&path, None);
    assert_eq!((counts.n_games, counts.n_refused), (2, 3), "{:?}", counts.refused);
    assert!(
        counts.refused[0].contains("Ke3") && counts.refused[1].contains("atomic"),
        "{:?}",
        counts.refused
    );
    // A file that was cut off loses its last game.
    let cut = folder.path().join("cut.pgn");
    fs::write(&cut, format!("{text}\n[Event \"cu")).unwrap();
    let (counts, _) = check(&cut, None);
    assert_eq!((counts.n_games, counts.n_refused), (2, 4), "{:?}", counts.refused);
    assert_eq!(games[0].game_id, "abcd1234");
    assert_eq!(games[0].moves, ["e2e4", "e7e5", "g1f3", "b8c6"]);
    assert_eq!((games[0].first_rating, games[0].second_rating), (Some(2100), Some(1900)));
    // Rooks off their corners give Chess960 away.
    assert_eq!((games[1].game.as_str(), games[1].game_id.as_str()), ("chess960", "mixed.pgn#5"));
    assert_eq!(games[1].moves, ["e1f1"]);
    let mut importer = Importer {
        games: Some(TableWriter::create(&folder.path().join("g.parquet")).unwrap()),
        min_rating: Some(1950),
        ..Importer::default()
    };
    importer.import(&path, None).unwrap();
    assert_eq!(importer.finish().unwrap().n_games, 0);
}

#[test]
fn othello_games_replay_with_their_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wthor.tsv");
    let mut text = "year\tblack_discs\ttheoretical_black_discs\ttheory_empties\tmoves\n".to_owned();
    for line in fs::read_to_string(sample("othello_wthor_sample.tsv")).unwrap().lines() {
        let (discs, moves) = line.split_once('\t').unwrap();
        text.push_str(&format!("1999\t{discs}\t{discs}\t24\t{moves}\n"));
    }
    fs::write(&path, text).unwrap();
    let (counts, games) = check(&path, None);
    assert_eq!((counts.n_games, counts.n_refused), (1_000, 0));
    assert!(games.iter().any(|game| game.moves.iter().any(|mv| mv == "pass")));
    for game in &games {
        let mut position = Position::start(Rules::Othello);
        for text in &game.moves {
            position.play_text(text).unwrap();
        }
        assert_eq!(position.outcome().map(|outcome| outcome.as_str()), game.result.as_deref());
    }
}

#[test]
fn togyz_games_replay_from_playok_notation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.pgn");
    let mut text = String::new();
    for line in fs::read_to_string(sample("togyz_generated.txt")).unwrap().lines() {
        let (moves, result) = line.rsplit_once(' ').unwrap();
        text.push_str(&format!(
            "[Site \"PlayOK\"]\n[White \"a\"]\n[Result \"{result}\"]\n[WhiteElo \"1200\"]\n\n"
        ));
        for (idx, pair) in moves.split(' ').collect::<Vec<_>>().chunks(2).enumerate() {
            text.push_str(&format!(
                "{}. {}{}",
                idx + 1,
                pair.join(" "),
                if idx % 8 == 7 { "\n" } else { " " }
            ));
        }
        text.push_str(&format!("{result} {{an end of 12 words}}\n\n"));
    }
    fs::write(&path, text).unwrap();
    let (counts, games) = check(&path, None);
    assert_eq!((counts.n_games, counts.n_refused), (100, 0), "{:?}", counts.refused);
    for game in &games {
        let mut position = Position::start(Rules::Togyz);
        for text in &game.moves {
            position.play_text(text).unwrap();
        }
        assert_eq!(position.outcome().map(|outcome| outcome.as_str()), game.result.as_deref());
    }
}

#[test]
fn hex_games_replay_with_size_and_swap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("neurohex_13x13_games.txt");
    fs::copy(sample("hex_neurohex_sample.txt"), &path).unwrap();
    let (counts, games) = check(&path, None);
    assert_eq!((counts.n_games, counts.n_refused), (300, 0));
    assert!(games.iter().all(|game| game.game == "hex:size=13" && game.result.is_some()));
    let path = folder.path().join("olympiad.tsv");
    fs::write(
        &path,
        "file\tsize\tmoves\na.sgf\t11\tB:b4 W:SWAP W:f7 B:g6\nb.sgf\t11\tB:b4 W:c5 B:d6 W:resign\n",
    )
    .unwrap();
    let (_, games) = check(&path, None);
    assert_eq!((games[0].result.as_deref(), games[1].result.as_deref()), (None, Some("1-0")));
    assert_eq!(games[1].moves, ["b4", "c5", "d6"]);
    // The stone changes hands mirrored, and so does everything after it.
    assert_eq!(games[0].moves, ["b4", "swap", "g6", "f7"]);
}

#[test]
fn lists_of_positions_read_fen_epd_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.epd");
    let list = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4; id \"a\";\n\
                # a remark\n\
                r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3 ;D1 27\n\
                4k3/8/8/8/8/8/8/4KR1R w F - 0 1\n\
                not a position\n";
    fs::write(&path, list).unwrap();
    let out = folder.path().join("p.parquet");
    let counts = import(&path, None, &out, &folder.path().join("g.parquet"));
    assert_eq!((counts.n_positions, counts.n_refused), (3, 1));
    let positions = rows::<PositionRow>(&out);
    assert!(positions[0].place.position.ends_with(" w KQkq - 0 1"));
    assert!(positions[1].place.position.ends_with(" w KQkq - 2 3"));
    assert_eq!(
        positions.iter().map(|row| &*row.place.game).collect::<Vec<_>>(),
        ["chess", "chess", "chess960"]
    );
    fs::write(&path, "id,FEN,rating\n1,8/8/8/8/8/8/8/K1k5 w - - 0 1,5\n").unwrap();
    let counts = import(&path, None, &out, &folder.path().join("g.parquet"));
    assert_eq!((counts.n_positions, counts.n_refused), (1, 0), "{:?}", counts.refused);
}

#[test]
fn connect_four_lines_are_positions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, "32164625 11\n6146 18\n99 0\n").unwrap();
    let out = folder.path().join("p.parquet");
    let mut importer =
        Importer { positions: Some(TableWriter::create(&out).unwrap()), ..Importer::default() };
    importer.import(&path, None).unwrap();
    let counts = importer.finish().unwrap();
    assert_eq!((counts.n_positions, counts.n_refused), (2, 1));
    assert_eq!(rows::<PositionRow>(&out)[0].place.ply, 8);
}
