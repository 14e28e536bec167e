//! Games as other programs read them.

use super::{config, games, options, run_in};
use mavis_game::{Game, Position, Rules};
use mavis_league::wire::pgn;

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

#[test]
fn games_of_all_six_games_become_tables() {
    use mavis_data::{
        TableReader, TableWriter,
        import::{ImportCounts, Importer},
        wire::{GameRow, PositionRow},
    };
    for game in ["chess", "chess960", "connect4", "hex:size=4", "hex:size=5,swap", "othello", "togyz"] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "name = 'tables'\ngame = '{game}'\nopenings.random_plies = 3\nschedule.pairs = 2\n\
             adjudication.max_plies = 40\nplayers = [{{ player = 'evaluates:35', name = 'a' }}, {{ player = 'random' }}]"
        );
        run_in(folder.path(), &config(&text), &options()).expect("runs");
        let rules: Rules = game.parse().expect("a game");
        let stored = games(folder.path());
        let written: String =
            stored.iter().map(|game| pgn(&config(&text), rules, game).expect("replays")).collect();
        let path = folder.path().join("games.pgn");
        std::fs::write(&path, written).expect("writes");
        let [positions, table] =
            ["positions", "table"].map(|name| folder.path().join(name).with_extension("parquet"));
        let mut importer = Importer {
            positions: Some(TableWriter::<PositionRow>::create(&positions).expect("a table")),
            games: Some(TableWriter::<GameRow>::create(&table).expect("a table")),
            annotations: None,
            rules: None,
            min_rating: None,
            oracle: None,
            counts: ImportCounts::default(),
            progress: None,
        };
        importer.import(&path, None).expect("imports");
        let counts = importer.finish().expect("finishes");
        assert_eq!((counts.n_games, counts.n_refused), (4, 0), "{game}: {:?}", counts.refused);
        let rows: Vec<GameRow> =
            TableReader::open(&[&table]).expect("opens").collect::<Result<_, _>>().expect("reads");
        for (row, game) in rows.iter().zip(&stored) {
            assert_eq!((row.first.as_ref(), row.second.as_ref()), (Some(&game.first), Some(&game.second)));
            let replay = game.positions::<Position>(rules).expect("replays");
            let moves: Vec<String> = replay.iter().map(|(position, mv)| position.move_text(*mv)).collect();
            assert_eq!((&row.moves, row.game.as_str()), (&moves, rules.to_string().as_str()));
        }
    }
}
