//! Games as other programs read them.

use super::{config, games, options, run_in};
use mavis_data::import::Importer;
use mavis_data::wire::{GameRow, PositionRow, termination_of_pgn, termination_to_pgn};
use mavis_data::{TableReader, TableWriter};
use mavis_game::{Game, Position, Rules};
use mavis_league::wire::{import_league, pgn};
use std::collections::BTreeSet;

#[test]
fn pgn_reads_back_with_evaluations() {
    use pgn_reader::{Reader, SanPlus, Visitor, shakmaty};
    use shakmaty::{Chess, Position as _};
    use std::ops::ControlFlow;
    struct Replay(Vec<String>);
    impl Visitor for Replay {
        type Tags = ();
        type Movetext = (Chess, usize);
        type Output = (Chess, usize);
        fn begin_tags(&mut self) -> ControlFlow<Self::Output, ()> {
            ControlFlow::Continue(())
        }
        fn begin_movetext(&mut self, (): ()) -> ControlFlow<Self::Output, Self::Movetext> {
            ControlFlow::Continue((Chess::default(), 0))
        }
        fn san(&mut self, (position, n): &mut Self::Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
            position.play_unchecked(san.san.to_move(position).expect("legal"));
            *n += 1;
            ControlFlow::Continue(())
        }
        fn comment(
            &mut self,
            _: &mut Self::Movetext,
            comment: pgn_reader::RawComment<'_>,
        ) -> ControlFlow<Self::Output> {
            self.0.push(String::from_utf8_lossy(comment.as_bytes()).into_owned());
            ControlFlow::Continue(())
        }
        fn end_game(&mut self, movetext: Self::Movetext) -> Self::Output {
            movetext
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'pgn \"quoted\"'
        game = 'chess'
        openings.random_plies = 4
        schedule.pairs = 1
        adjudication.max_plies = 31
        players = [{ player = 'evaluates:35', name = 'a' }, { player = 'random' }]
    ";
    run_in(folder.path(), &config(text), &options()).expect("runs");
    for game in games(folder.path()) {
        let text = pgn(&config(text), Rules::Chess, &game).expect("replays");
        assert!(text.contains("[Event \"pgn \\\"quoted\\\"\"]"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let mut replay = Replay(Vec::new());
        let (position, n) = Reader::new(std::io::Cursor::new(&text)).read_game(&mut replay).unwrap().unwrap();
        assert_eq!(n, 4 + game.moves.len());
        let (last, mv) = game.positions::<Position>(Rules::Chess).expect("replays").pop().expect("moves");
        let mut end = last;
        end.play_unchecked(mv);
        assert_eq!(
            shakmaty::fen::Fen::from_position(&position, shakmaty::EnPassantMode::Legal).to_string(),
            end.to_string()
        );
        let sign = if game.first == "a" { "" } else { "-" };
        assert!(
            replay.0.iter().any(|comment| comment.starts_with(&format!("[%eval {sign}0.35,3] [%emt "))),
            "{text}"
        );
        assert_eq!(replay.0[0], "book");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.ends_with("{maximum length} 1/2-1/2"), "{text}");
    }
}

/// Every game of a source as rows of the two tables.
fn imported(read: impl FnOnce(&mut Importer)) -> (Vec<GameRow>, Vec<PositionRow>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [positions, games] = ["p.parquet", "g.parquet"].map(|name| folder.path().join(name));
    let mut importer = Importer {
        positions: Some(TableWriter::create(&positions).expect("a table")),
        games: Some(TableWriter::create(&games).expect("a table")),
        ..Importer::default()
    };
    read(&mut importer);
    let counts = importer.finish().expect("finishes");
    assert_eq!(counts.n_refused, 0, "{:?}", counts.refused);
    let games = TableReader::open(&[&games]).expect("opens").collect::<Result<_, _>>().expect("reads");
    let positions =
        TableReader::open(&[&positions]).expect("opens").collect::<Result<_, _>>().expect("reads");
    (games, positions)
}

/// Leagues of real players, with ends by the rules, by length and by a fault, come into tables from their folders and from
/// their PGN, and every game replays from its row to its result.
#[test]
fn leagues_of_all_six_games_become_tables() {
    for game in ["chess", "chess960", "connect4", "hex:size=4", "hex:size=5,swap", "othello", "togyz"] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "name = 'tables'\ngame = '{game}'\nseed = 3\nopenings.random_plies = 3\nschedule.pairs = 2\n\
             adjudication.max_plies = 40\nplayers = [{{ player = 'lookahead:1', name = 'a' }}, {{ player = 'random' }},\
             {{ player = 'crash:from=6' }}, {{ player = 'evaluates:35' }}]"
        );
        run_in(folder.path(), &config(&text), &options()).expect("runs");
        let rules: Rules = game.parse().expect("a game");
        let stored = games(folder.path());
        let (rows, positions) =
            imported(|importer| import_league(importer, folder.path()).expect("a league"));
        assert_eq!((rows.len(), stored.len()), (24, 24));
        assert_eq!(positions.len(), rows.iter().map(|row| row.moves.len() + 1).sum::<usize>());
        let mut ends = BTreeSet::new();
        for (row, game) in rows.iter().zip(&stored) {
            assert_eq!(row.game_id, format!("tables#{}", game.game + 1));
            assert_eq!((row.first.as_ref(), row.second.as_ref()), (Some(&game.first), Some(&game.second)));
            assert_eq!(row.moves.len(), 3 + game.moves.len());
            let mut position = Position::parse(rules, &row.start).expect("a position");
            for text in &row.moves {
                position.play_text(text).expect("legal");
            }
            match position.outcome() {
                Some(outcome) => {
                    assert_eq!(row.result.as_deref(), Some(outcome.as_str()));
                    assert_eq!(row.termination.as_deref(), Some("rules"));
                }
                None => assert_ne!(row.termination.as_deref(), Some("rules")),
            }
            let crashed = row.termination.as_deref() == Some("failure");
            if crashed {
                let lost = [&game.first, &game.second][usize::from(row.result.as_deref() == Some("1-0"))];
                assert_eq!(lost, "crash:from=6");
            }
            let knows = game.moves.iter().any(|made| made.value.is_some());
            assert_eq!(row.values.len(), if knows { row.moves.len() } else { 0 });
            ends.insert(row.termination.clone());
        }
        assert!(ends.contains(&Some("failure".to_owned())) && ends.len() > 1, "{game}: {ends:?}");
        let written: String =
            stored.iter().map(|game| pgn(&config(&text), rules, game).expect("replays")).collect();
        let path = folder.path().join("games.pgn");
        std::fs::write(&path, written).expect("writes");
        let (mut from_pgn, same) = imported(|importer| importer.import(&path, None).expect("imports"));
        assert_eq!(same, positions);
        for (read, row) in from_pgn.iter_mut().zip(&rows) {
            // PGN has fewer words for ends, and evaluations are comments there.
            let word = termination_to_pgn(row.termination.as_deref().expect("known"));
            assert_eq!(read.termination, Some(termination_of_pgn(&word)));
            (read.termination, read.values) = (row.termination.clone(), row.values.clone());
            assert_eq!(read.source.replace("tables".to_owned()).as_deref(), Some("games.pgn"));
        }
        assert_eq!(from_pgn, rows);
    }
}
