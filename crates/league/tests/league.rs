//! Whole leagues in a fresh folder: complete, resumed, with players that misbehave.

#[path = "league/players.rs"]
mod players;

use mavis_game::{Game, Outcome, Position, Rules, Side};
use mavis_league::wire::{EndKind, LeagueConfig, LeagueStore, StoreError, StoredGame, pgn, results_of};
use mavis_league::{Event, ExactJudge, RunError, RunOptions, Stop, Summary, Verdict, openings, rate, run};
use players::registry;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn config(text: &str) -> LeagueConfig {
    LeagueConfig::from_toml(text).expect("a valid configuration")
}

fn options() -> RunOptions {
    RunOptions { cores: 2, patience: Duration::from_millis(300), ..RunOptions::default() }
}

fn run_in(folder: &Path, config: &LeagueConfig, options: &RunOptions) -> Result<Summary, RunError> {
    run(config, folder, folder, &registry(), options, &mut |_| {})
}

fn games(folder: &Path) -> Vec<StoredGame> {
    let mut games = LeagueStore::read(folder).expect("readable").1;
    games.sort_by_key(|game| game.game);
    games
}

/// Leaves out what no two runs share.
fn timeless(mut games: Vec<StoredGame>) -> Vec<StoredGame> {
    for game in &mut games {
        game.finished = 0;
        game.moves.iter_mut().for_each(|made| made.seconds = 0.0);
    }
    games
}

const FOUR: &str = "
    name = 'four'
    game = 'connect4'
    seed = 11
    openings.random_plies = 2
    schedule.pairs = 6
    [[players]]
    player = 'random'
    [[players]]
    player = 'lookahead:1'
    [[players]]
    player = 'lookahead:2'
    [[players]]
    player = { player = 'mcts', sims = 30 }
    name = 'tree'
";

#[test]
fn a_stopped_league_ends_with_exactly_the_planned_games() {
    let (whole, broken) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let summary = run_in(whole.path(), &config(FOUR), &options()).expect("runs");
    assert_eq!((summary.played, summary.planned, summary.stop), (72, 72, Stop::Complete));

    // Stopped at once and drained at several moments, with half a line at the end of the log as a kill leaves it.
    let mut total = 0;
    for stop_after in [5, 3, 11, 1] {
        let options = RunOptions { concurrency: Some(3), ..options() };
        let mut seen = 0;
        let summary = run(&config(FOUR), broken.path(), broken.path(), &registry(), &options, &mut |event| {
            if let Event::Finished { .. } = event {
                seen += 1;
                if seen == stop_after {
                    if stop_after % 2 == 0 { options.cancel.cancel() } else { options.drain.cancel() }
                }
            }
        })
        .expect("runs");
        assert_eq!(summary.stop, Stop::Stopped);
        assert!(summary.played >= stop_after);
        total += summary.played;
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .open(broken.path().join("games.jsonl"))
            .expect("the log is there");
        log.write_all(b"{\"game\":99,\"pair\":4").unwrap();
    }
    let mut dropped = 0;
    let summary = run(&config(FOUR), broken.path(), broken.path(), &registry(), &options(), &mut |event| {
        if let Event::Begin { dropped_bytes, .. } = event {
            dropped = dropped_bytes;
        }
    })
    .expect("runs");
    assert_eq!((summary.played + total, summary.finished, dropped), (72, 72, 19));
    let numbers: Vec<u64> = games(broken.path()).iter().map(|game| game.game).collect();
    assert_eq!(numbers, (0..72).collect::<Vec<_>>());
    // Games do not depend on who else played, in which order or on how many threads.
    assert_eq!(timeless(games(broken.path())), timeless(games(whole.path())));
    // Running a finished league plays nothing.
    assert_eq!(run_in(whole.path(), &config(FOUR), &options()).expect("runs").played, 0);
}

#[test]
fn pairs_share_an_opening_and_swap_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let games = games(folder.path());
    for pair in games.chunks(2) {
        assert_eq!(pair[0].opening, pair[1].opening);
        assert_eq!((&pair[0].first, &pair[0].second), (&pair[1].second, &pair[1].first));
        assert_eq!(pair[0].opening.len(), 2);
    }
    let distinct: std::collections::BTreeSet<_> = games.iter().map(|game| &game.opening).collect();
    assert!(distinct.len() > 20, "{}", distinct.len());
}

#[test]
fn a_changed_configuration_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let mut changed = config(FOUR);
    changed.seed = 12;
    changed.players[3].player = "mcts:sims=40".to_owned();
    match run_in(folder.path(), &changed, &options()) {
        Err(RunError::Store(error @ StoreError::Changed { .. })) => {
            let text = error.to_string();
            assert!(text.contains("seed: 11 -> 12"), "{text}");
            assert!(text.contains("players.4.player: \"mcts:sims=30\" -> \"mcts:sims=40\""), "{text}");
            assert_eq!(text.lines().count(), 3, "{text}");
        }
        other => panic!("{other:?}"),
    }
    // More pairs, another concurrency and other ratings are the same league.
    let mut extended = config(FOUR);
    extended.schedule.pairs = 7;
    extended.concurrency = Some(1);
    extended.ratings.half_wins = true;
    extended.players[0].external = Some(1000.0);
    let summary = run_in(folder.path(), &extended, &options()).expect("runs");
    assert_eq!((summary.played, summary.finished), (12, 84));
    // Fewer are not.
    match run_in(folder.path(), &config(FOUR), &options()) {
        Err(RunError::Store(StoreError::Changed { differences, .. })) => {
            assert_eq!(differences[0].to_string(), "schedule.pairs: 7 -> 6");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_processes_cannot_run_one_league() {
    let folder = tempfile::tempdir().expect("a folder");
    let _held = LeagueStore::open(folder.path(), &config(FOUR)).expect("free");
    assert!(matches!(
        run_in(folder.path(), &config(FOUR), &options()),
        Err(RunError::Store(StoreError::Busy(_)))
    ));
}

#[test]
fn a_damaged_line_inside_the_log_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &config(FOUR), &options()).expect("runs");
    let path = folder.path().join("games.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = "{}";
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = LeagueStore::read(folder.path()).expect_err("damaged").to_string();
    assert!(error.contains("games.jsonl line 5"), "{error}");
    lines[4] = lines[3];
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = LeagueStore::read(folder.path()).expect_err("twice").to_string();
    assert!(error.contains("line 5: this game is in the log twice"), "{error}");
}

#[test]
fn players_that_misbehave_lose_with_a_reason_and_the_league_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'faults'
        game = 'connect4'
        schedule = { kind = 'gauntlet', pairs = 1 }
        limits.time = 0.05
        tolerance = 5.0
        players = [{ player = 'random' }, { player = 'crash:from=3' }, { player = 'panic' }, { player = 'illegal' },
                   { player = 'hang:from=2' }, { player = 'deaf' }]
    ";
    // Longer than a panic takes to print its trace on a busy machine.
    let options = RunOptions { patience: Duration::from_secs(2), ..options() };
    let summary = run_in(folder.path(), &config(text), &options).expect("runs");
    assert_eq!((summary.finished, summary.stop), (10, Stop::Complete));
    let games = games(folder.path());
    let by = |name: &str| {
        games.iter().filter(|game| game.first == name || game.second == name).collect::<Vec<_>>()
    };
    for (name, kind, reason) in [
        ("crash:from=3", EndKind::Failure, "the engine died"),
        ("panic", EndKind::Failure, "panicked"),
        ("illegal", EndKind::Illegal, "illegal move"),
        ("hang:from=2", EndKind::Time, "did not answer"),
        ("deaf", EndKind::Time, "did not answer"),
    ] {
        assert_eq!(by(name).len(), 2);
        for game in by(name) {
            // Random play may win by chance before a late fault, but not in these few plies.
            let winner = if game.first == name { Side::Second } else { Side::First };
            assert_eq!(Outcome::from(game.result), Outcome::Win(winner), "{game:?}");
            assert_eq!(game.end.by, kind, "{game:?}");
            assert!(game.end.reason.contains(reason), "{game:?}");
        }
    }
    assert!(by("hang:from=2").iter().all(|game| game.moves.len() >= 2), "moves before the fault are kept");
    assert!(games.iter().all(|game| game.end.by.is_fault()));
}

#[test]
fn timed_players_do_not_share_cores_unless_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'timed'
        game = 'connect4'
        concurrency = 4
        limits.time = 0.05
        schedule.pairs = 1
        players = [{ player = 'random' }, { player = 'lookahead:1' }]
    ";
    assert!(matches!(
        run_in(folder.path(), &config(text), &options()),
        Err(RunError::Oversubscribed { games: 4, cores_each: 1, cores: 2 })
    ));
    let asked = RunOptions { oversubscribe: true, ..options() };
    assert_eq!(run_in(folder.path(), &config(text), &asked).expect("runs").finished, 2);
}

fn evaluating(rules: &str, first: i32, second: i32) -> Vec<StoredGame> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "
        name = 'adjudicated'
        game = 'chess'
        schedule.pairs = 1
        adjudication = {rules}
        players = [{{ player = 'evaluates:{first}', name = 'a' }}, {{ player = 'evaluates:{second}', name = 'b' }}]
    "
    );
    run_in(folder.path(), &config(&text), &options()).expect("runs");
    games(folder.path())
}

#[test]
fn adjudication_ends_games_and_says_why() {
    let draw = "{ draw = { from_move = 5, moves = 3, centipawns = 10 } }";
    for game in evaluating(draw, 4, -9) {
        assert_eq!((game.moves.len(), Outcome::from(game.result)), (10, Outcome::Draw));
        assert_eq!(game.end.reason, "adjudicated: 3 moves of each side within 10 centipawns");
    }
    let resign = "{ resign = { moves = 2, centipawns = 600 } }";
    for game in evaluating(resign, 900, -900) {
        let winner = if game.first == "a" { Side::First } else { Side::Second };
        assert_eq!(Outcome::from(game.result), Outcome::Win(winner));
        assert_eq!(game.end.by, EndKind::Adjudication);
        assert_eq!(game.moves.len(), if game.first == "a" { 4 } else { 3 });
    }
    // Both must see it: here the other side thinks it is even.
    let both = "{ resign = { moves = 2, centipawns = 600, both = true }, max_plies = 12 }";
    for game in evaluating(both, 0, -900) {
        assert_eq!((game.end.by, game.moves.len()), (EndKind::Length, 12));
    }
    let early = "{ early = {} , max_plies = 12 }";
    for game in evaluating(early, 1300, -1250) {
        assert_eq!((game.end.by, game.moves.len()), (EndKind::Adjudication, 2));
        assert!(game.end.reason.contains("1200"), "{}", game.end.reason);
    }
    for game in evaluating(early, 1300, -1150) {
        assert_eq!(game.end.by, EndKind::Length);
    }
    // A judge of its own: always happy with the side to move, so the first move ends the game for the mover.
    let judge = "{ early = { judge = 'evaluates:-2000' } }";
    for game in evaluating(judge, 0, 0) {
        assert_eq!((Outcome::from(game.result), game.moves.len()), (Outcome::Win(Side::First), 1));
    }
    // Nothing is on by default.
    for game in evaluating("{ max_plies = 20 }", 3000, -3000) {
        assert_eq!(game.moves.len(), 20);
    }
}

struct Threatened;

impl ExactJudge for Threatened {
    fn outcome(&self, position: &Position) -> Option<Outcome> {
        // Knows one thing: whoever can connect four at once wins.
        let side = position.side_to_move();
        let wins = position.legal_moves().into_iter().any(|mv| {
            let mut next = position.clone();
            next.play_unchecked(mv);
            next.outcome() == Some(Outcome::Win(side))
        });
        wins.then_some(Outcome::Win(side))
    }
}

#[test]
fn an_exact_judge_ends_games_and_an_unknown_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'exact'
        game = 'connect4'
        schedule.pairs = 5
        adjudication.exact = { judge = 'solver', from_ply = 8 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }]
    ";
    assert!(matches!(run_in(folder.path(), &config(text), &options()), Err(RunError::UnknownJudge { .. })));
    let mut options = options();
    options.judges.insert("solver".to_owned(), Arc::new(Threatened));
    run_in(folder.path(), &config(text), &options).expect("runs");
    let games = games(folder.path());
    assert!(games.iter().all(|game| game.moves.len() >= 7));
    let judged = games.iter().filter(|game| game.end.by == EndKind::Adjudication).count();
    assert!(judged >= 5, "{judged}");
    assert!(games.iter().any(|game| game.end.reason.contains("solver")));
}

#[test]
fn the_solver_judges_as_the_game_would_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'solved'
        game = 'connect4'
        openings.random_plies = 20
        schedule.pairs = 10
        adjudication.exact = { judge = 'solver', from_ply = 21 }
        players = [{ player = 'lookahead:3' }, { player = 'lookahead:2' }]
    ";
    let options = RunOptions { judges: mavis_league::standard_judges(), ..options() };
    run_in(folder.path(), &config(text), &options).expect("runs");
    for game in games(folder.path()) {
        assert!(game.moves.len() <= 1, "judged after the first move: {game:?}");
        assert!(game.end.reason.contains("with best play") || game.end.by == EndKind::Rules, "{game:?}");
    }
}

#[test]
fn tablebases_end_games_that_they_cover() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("endings.epd"),
        "8/8/8/4k3/8/8/3Q1R2/4K3 w - -\n8/8/8/4k3/8/8/3Q4/4K3 w - -\n8/8/8/8/1kr5/8/4R3/4K3 b - -\n",
    )
    .expect("writes");
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../oracle/tests/data/syzygy");
    let league = |judge: &str| {
        config(&format!(
            "
            name = 'endings'
            game = 'chess'
            openings = {{ book = 'endings.epd', in_order = true }}
            schedule.pairs = 3
            adjudication = {{ exact = {{ judge = '{judge}' }}, max_plies = 60 }}
            players = [{{ player = 'random' }}, {{ player = 'lookahead:1' }}]
            "
        ))
    };
    let out = folder.path().join("out");
    run(&league(&format!("syzygy:{tables}")), &out, folder.path(), &registry(), &options(), &mut |_| {})
        .expect("runs");
    for game in games(&out) {
        // Queen and rook are in no table here: that game goes on until one of them is gone, or to its end.
        if game.pair > 0 {
            assert_eq!((game.moves.len(), game.end.by), (1, EndKind::Adjudication), "{game:?}");
            assert!(game.end.reason.contains("syzygy: "), "{game:?}");
        } else {
            assert!(game.moves.len() > 1, "{game:?}");
        }
    }
    let refused = |judge: &str| {
        let out = folder.path().join("refused");
        let error = run(&league(judge), &out, folder.path(), &registry(), &options(), &mut |_| {});
        error.expect_err("no such judge").to_string()
    };
    assert!(refused("syzygy:nowhere").contains("nowhere"));
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    assert!(refused("syzygy:empty").contains("no Syzygy tables"));
    assert!(refused("syzygy").contains("known: syzygy:DIR"));
}

#[test]
fn a_sequential_test_stops_by_itself_and_stays_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'test'
        game = 'connect4'
        seed = 2
        openings.random_plies = 4
        schedule.pairs = 5000
        sprt = { elo0 = 0.0, elo1 = 100.0 }
        players = [{ player = 'lookahead:2' }, { player = 'random' }]
    ";
    let summary = run_in(folder.path(), &config(text), &options()).expect("runs");
    let Stop::Decided(state) = summary.stop else { panic!("{summary:?}") };
    assert_eq!(state.verdict, Verdict::AcceptElo1);
    assert!(summary.finished < 200, "{summary:?}");
    let again = run_in(folder.path(), &config(text), &options()).expect("runs");
    assert_eq!((again.played, again.stop), (0, Stop::Decided(state)));
}

#[test]
fn an_adaptive_league_is_the_same_however_often_it_stops() {
    let text = "
        name = 'adaptive'
        game = 'connect4'
        seed = 5
        openings.random_plies = 3
        schedule = { kind = 'adaptive', pairs = 60, round = 8 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }, { player = 'lookahead:3' }]
    ";
    let (whole, broken) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    run_in(whole.path(), &config(text), &options()).expect("runs");
    for stop_after in [7, 20, 41] {
        let options = options();
        let mut seen = 0;
        run(&config(text), broken.path(), broken.path(), &registry(), &options, &mut |event| {
            if let Event::Finished { .. } = event {
                seen += 1;
                if seen == stop_after {
                    options.drain.cancel();
                }
            }
        })
        .expect("runs");
    }
    run_in(broken.path(), &config(text), &options()).expect("runs");
    assert_eq!(timeless(games(broken.path())), timeless(games(whole.path())));
    assert_eq!(games(whole.path()).len(), 120);
    let played = results_of(&config(text).names(), &games(whole.path())).cross_table();
    let (close, far) = (played[2][3].n_games(), played[0][3].n_games());
    assert!(close > far, "games go where they tell more: {close} and {far}");
}

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
        let (last, mv) = game.positions(Rules::Chess).expect("replays").pop().expect("moves");
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
fn books_of_every_kind_give_openings() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("book.epd"),
        "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6 hmvc 0; fmvn 2;\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("book.pgn"),
        "[Event \"x\"]\n\n1. d4 d5 2. c4 (2. Nf3) e6 *\n\n1. c4 *\n",
    )
    .unwrap();
    let with = |openings_text: &str, game: &str| {
        let text = format!(
            "name='b'\ngame='{game}'\nopenings={openings_text}\nplayers=[{{player='random'}},{{player='lookahead:1'}}]"
        );
        openings(&config(&text), folder.path())
    };
    let position = |openings_text: &str, game: &str, number: u64| {
        let openings = with(openings_text, game).expect("a good book");
        openings.opening(number).expect("an opening").position(openings.rules()).expect("legal").to_string()
    };
    assert!(
        position("{book='book.epd'}", "chess", 0)
            .starts_with("rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2")
    );
    assert!(
        position("{book='book.pgn',in_order=true}", "chess", 2)
            .starts_with("rnbqkbnr/ppp2ppp/4p3/3p4/2PP4/8/PP2PPPP/RNBQKBNR w")
    );
    assert!(position("{book='book.pgn',in_order=true,plies=1}", "chess", 0).contains("/3P4/"));
    let table: std::collections::BTreeSet<String> =
        (0..586).map(|number| position("{book='table4'}", "chess", number)).collect();
    assert_eq!(table.len(), 586);
    assert_ne!(
        position("{book='table4'}", "chess", 0),
        position("{book='table4',in_order=true}", "chess", 0)
    );
    // Chess960 draws arrays, the same for the same number.
    let arrays: std::collections::BTreeSet<String> =
        (0..200).map(|number| position("{}", "chess960", number)).collect();
    assert!(arrays.len() > 150, "{}", arrays.len());
    assert_eq!(position("{}", "chess960", 3), position("{}", "chess960", 3));
    for game in ["chess", "chess960", "connect4", "hex:size=5", "othello", "togyz"] {
        assert_ne!(position("{random_plies=5}", game, 1), position("{random_plies=5}", game, 2), "{game}");
    }
    assert!(with("{book='book.pgn'}", "othello").is_err());
    assert!(with("{book='nowhere.epd'}", "chess").is_err());
}

#[test]
fn bad_configurations_are_refused_with_the_key() {
    let check = |text: &str, part: &str| {
        let error = LeagueConfig::from_toml(text).expect_err("a bad configuration").to_string();
        assert!(error.contains(part), "{error}");
    };
    let players = "players=[{player='random'},{player='lookahead:1'}]\n";
    check("name='x'\ngame='chess'\nplayers=[{player='random'}]", "at least two players");
    check(&format!("name='x'\ngame='ches'\n{players}"), "unknown game 'ches'");
    check(&format!("name='x'\ngame='chess'\nsede=3\n{players}"), "line 3: unknown field `sede`");
    check(&format!("name='x'\ngame='chess'\nclock='fast'\n{players}"), "bad value 'fast' for clock");
    check(&format!("name='x'\ngame='chess'\nlimits.time=-1.0\n{players}"), "limits.time");
    check(
        &format!("name='x'\ngame='chess'\nratings.zero={{player='z'}}\n{players}"),
        "ratings.zero names 'z'",
    );
    check(
        &format!("name='x'\ngame='chess'\nsprt={{elo0=5.0,elo1=0.0}}\n{players}"),
        "elo0 must be below elo1",
    );
    check(
        "name='x'\ngame='chess'\nplayers=[{player='random'},{player='random'}]",
        "two players are named 'random'",
    );
    let whole = config(&format!("name='x'\ngame='chess'\n{players}"));
    assert_eq!(config(&whole.to_toml().expect("writes")), whole, "the resolved configuration reads back");
    let lines = ["random", "lookahead:1"].map(mavis_league::wire::PlayerConfig::new).to_vec();
    assert_eq!(LeagueConfig::new("x", "chess", lines), whole, "defaults are the same in code and in TOML");
}

#[test]
fn the_agents_of_paper_004_have_its_ratings() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        name = 'lookahead agents'
        game = 'connect4'
        seed = 4
        schedule.pairs = 400
        ratings.zero = { player = 'random', rating = 1000.0 }
        players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }, { player = 'lookahead:3' }]
    ";
    run_in(folder.path(), &config(text), &options()).expect("runs");
    let config = config(text);
    let ratings =
        rate(&results_of(&config.names(), &games(folder.path())), &config.ratings.config()).expect("rates");
    for (rating, paper) in ratings.players.iter().zip([1000.0, 1183.0, 1501.0, 1603.0]) {
        assert!((rating.elo.value - paper).abs() < 40.0, "{} {:?}, paper {paper}", rating.name, rating.elo);
    }
}
