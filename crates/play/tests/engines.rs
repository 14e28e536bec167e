//! The real Stockfish as a player, small engines that misbehave, and searches over oracles.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{CastlingMode, Chess, Game as _, Position, Rules};
use mavis_oracle::process::Patience;
use mavis_play::{
    Choice, Limit, Player, PlayerError, Referee, Registry, Termination, Thought, TimeControl, Turn,
    UciLimits, UciPlayer, UciSettings, add_engines, add_oracles,
};
use mavis_search::Cancel;
use std::{fs, path::Path, thread, time::Duration};

fn registry() -> Registry {
    let mut registry = Registry::basic();
    let path = Some(mavis_testkit::engine_path());
    add_oracles(&mut registry, path.clone());
    add_engines(&mut registry, path);
    registry
}

fn build(spec: &str) -> Box<dyn Player> {
    registry().build(&spec.parse().unwrap(), 1).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn choose(player: &mut dyn Player, position: &Position, limit: Limit) -> Result<Choice, PlayerError> {
    player.choose(&mut Turn::alone(position, limit, &mut |_: &Thought| {}))
}

/// An engine written in shell that plays `on_go`, in which `$n` is the number of its starts so far.
fn fake_engine(folder: &Path, on_go: &str) -> UciSettings {
    let program = folder.join("engine.sh");
    let script = format!(
        "echo start >> {starts}\nn=$(wc -l < {starts})\nwhile read line; do case \"$line\" in\n\
         uci) echo 'id name Fake 1'; echo 'option name Level type spin default 1 min 0 max 9'; echo uciok;;\n\
         isready) echo readyok;;\ngo*) {on_go};;\nquit) exit;;\nesac; done\n",
        starts = folder.join("starts").display()
    );
    fs::write(&program, script).unwrap();
    UciSettings {
        // The shell is the program: a script just written may still be open elsewhere for a moment.
        program: "/bin/sh".into(),
        arguments: vec![program.display().to_string()],
        options: Vec::new(),
        limits: UciLimits::default(),
        patience: Patience { answer: Duration::from_millis(2000), ..Patience::default() },
        jitter: 0.0,
    }
}

#[test]
fn stockfish_plays_with_options_clocks_and_chess960() {
    let mut strong = build("uci:stockfish,nodes=3000,Hash=2");
    let mut weak = build("uci:stockfish,skill=0,depth=1");
    let referee = Referee {
        time_control: Some(TimeControl { base: Duration::from_secs(600), increment: Duration::ZERO }),
        max_plies: Some(12),
        ..Referee::default()
    };
    let record = referee.play(&Position::start(Rules::Chess), [&mut *strong, &mut *weak]);
    assert_eq!(record.verdict.map(|verdict| verdict.termination), Some(Termination::MaxLength));
    assert!(record.moves.iter().all(|made| made.thought.centipawns.is_some() && made.thought.depth > 0));
    let start960 = Position::Chess(Chess::start960(100).unwrap());
    let record =
        Referee { max_plies: Some(10), ..Referee::default() }.play(&start960, [&mut *strong, &mut *weak]);
    assert_eq!(record.moves.len(), 10, "{:?}", record.verdict);
}

/// Engines load networks before they first answer, which takes longer than any later answer may.
#[test]
fn an_engine_may_start_slowly() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = fake_engine(folder.path(), "echo bestmove g2g4");
    let script = fs::read_to_string(folder.path().join("engine.sh")).unwrap();
    fs::write(folder.path().join("engine.sh"), format!("sleep 1.2\n{script}")).unwrap();
    settings.patience.answer = Duration::from_millis(1000);
    let mut slow = UciPlayer::start(settings).unwrap();
    assert!(choose(&mut slow, &Position::start(Rules::Chess), Limit::default()).is_ok());
}

#[test]
fn every_move_is_analyzed_where_all_lines_are_asked_for() {
    let mut engine = build("uci:stockfish,nodes=20000");
    let position = Position::start(Rules::Chess);
    for (lines, expected) in [(u32::MAX, 20), (3, 3), (1, 1)] {
        let analysis = engine
            .analyze(&mut Turn::alone(&position, Limit { lines, ..Limit::default() }, &mut |_: &Thought| {}))
            .unwrap();
        let mut moves: Vec<_> = analysis.moves.iter().map(|row| row.mv).collect();
        assert_eq!(moves[0], analysis.choice.mv);
        assert!(analysis.moves.iter().all(|row| row.centipawns.is_some() && row.line[0] == row.mv));
        moves.sort_unstable();
        moves.dedup();
        assert_eq!(moves.len(), expected, "{lines} lines");
    }
}

#[test]
fn a_limit_of_nothing_ends_at_once_and_an_unsearched_line_has_no_value() {
    let mut engine = build("uci:stockfish");
    let position = Position::start(Rules::Chess);
    for limit in [
        Limit { nodes: Some(0), ..Limit::default() },
        Limit { depth: Some(0), ..Limit::default() },
        Limit { depth: Some(0), infinite: true, ..Limit::default() },
    ] {
        choose(&mut *engine, &position, limit).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let told = "echo info depth 1 seldepth 0 multipv 1 score cp 0 nodes 2 pv g2g4; echo bestmove g2g4";
    let mut stopped = UciPlayer::start(fake_engine(folder.path(), told)).unwrap();
    let choice = choose(&mut stopped, &position, Limit::default()).unwrap();
    assert_eq!((choice.thought.value, choice.thought.centipawns), (None, None));
    // The end of a search that was cut short: a bound, which knows more than the last whole iteration, and then a filler.
    let folder = tempfile::tempdir().unwrap();
    let told = "echo info depth 5 seldepth 5 score cp 63 nodes 200 pv g2g4 d7d5; \
                echo info depth 6 seldepth 6 score cp 12 upperbound nodes 500 pv g2g4; \
                echo info depth 1 seldepth 0 score cp 0 nodes 501 pv g2g4; echo bestmove g2g4";
    let mut stopped = UciPlayer::start(fake_engine(folder.path(), told)).unwrap();
    let thought = choose(&mut stopped, &position, Limit::default()).unwrap().thought;
    assert_eq!((thought.centipawns, thought.depth, thought.nodes), (Some(12), 6, 501));
}

#[test]
fn stockfish_sees_mate_and_obeys_restrictions() {
    let mut engine = build("uci:stockfish,nodes=5000");
    let mate = Position::parse(Rules::Chess, "6k1/5ppp/8/8/8/8/8/R6K w - - 0 1").unwrap();
    let choice = choose(&mut *engine, &mate, Limit::default()).unwrap();
    assert_eq!((mate.move_text(choice.mv).as_str(), choice.thought.mate), ("a1a8", Some(1)));
    let only = vec![mate.parse_move("h1g1").unwrap()];
    let limit = Limit { only: only.clone(), nodes: Some(100), ..Limit::default() };
    assert_eq!(choose(&mut *engine, &mate, limit).unwrap().mv, only[0]);
    // Only castling: the king takes his own rook in the text of Chess960.
    let castling = Chess::parse(CastlingMode::Chess960, "k7/8/8/8/8/8/8/1R3KR1 w GB - 0 1").unwrap();
    let castling = Position::Chess(castling);
    let limit = Limit { only: vec![castling.parse_move("f1g1").unwrap()], ..Limit::default() };
    assert!(castling.is_legal(choose(&mut *engine, &castling, limit).unwrap().mv));
}

#[test]
fn a_dead_engine_is_started_again_once() {
    let folder = tempfile::tempdir().unwrap();
    // The first process dies in its first search, the second one plays.
    let on_go =
        "if [ $n -eq 1 ]; then exit 3; fi; echo 'info depth 1 score cp 13 pv e2e4'; echo bestmove e2e4";
    let mut player = UciPlayer::start(fake_engine(folder.path(), on_go)).unwrap();
    let position = Position::start(Rules::Chess);
    let choice = choose(&mut player, &position, Limit::default()).unwrap();
    assert_eq!(position.move_text(choice.mv), "e2e4");
    assert_eq!((choice.thought.centipawns, player.n_restarts()), (Some(13), 1));
}

#[test]
fn an_engine_that_fails_twice_fails_with_a_reason() {
    for (on_go, part) in [
        ("exit 3", "the engine exited"),
        ("echo bestmove e2e5", "expected a legal best move, got 'e2e5'"),
        ("echo bestmove '(none)'", "a legal best move"),
        ("sleep 60", "no bestmove within"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut player = UciPlayer::start(fake_engine(folder.path(), on_go)).unwrap();
        let limit = Limit { time: Some(Duration::from_millis(50)), ..Limit::default() };
        let error = choose(&mut player, &Position::start(Rules::Chess), limit).unwrap_err();
        assert!(matches!(error, PlayerError::Failed(_)));
        assert!(error.to_string().contains(part), "{on_go}: {error}");
    }
}

#[test]
fn a_cancelled_search_is_stopped() {
    let mut engine = build("uci:stockfish");
    let position = Position::start(Rules::Chess);
    let cancel = Cancel::new();
    let remote = cancel.clone();
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        remote.cancel();
    });
    let limit = Limit { infinite: true, ..Limit::default() };
    let sink = &mut |_: &Thought| {};
    let choice = engine
        .choose(&mut Turn { start: &position, moves: &[], position: &position, limit, cancel, sink })
        .unwrap();
    stopper.join().unwrap();
    assert!(position.is_legal(choice.mv));
}

#[test]
fn specs_that_cannot_be_built_say_why() {
    for (spec, part) in [
        ("uci:no-such-engine", "not found on PATH"),
        (
            "uci:stockfish,Skil Level=3",
            "has no option 'Skil Level' (it offers Debug Log File, Threads, Hash,",
        ),
        (
            "uci:stockfish,skill=99",
            "does not take '99' for its option: name Skill Level type spin default 20 min 0 max 20",
        ),
        ("oracle:no-such-engine", "not found on PATH"),
        ("oracle:nodez=3", "did you mean 'nodes'"),
        ("oracle-mcts:simz=3", "did you mean 'sims'"),
        ("oracle-mcts:epsilon=3", "expected a number from 0 to 1"),
    ] {
        let error = registry().build(&spec.parse().unwrap(), 0).err().expect(spec).to_string();
        assert!(error.contains(part) && error.lines().count() == 1, "{spec}: {error}");
    }
    let mut stockfish = build("uci:stockfish");
    assert!(stockfish.ready_for(Rules::Chess960).is_ok());
    let error = stockfish.ready_for(Rules::Othello).unwrap_err().to_string();
    assert!(error.starts_with("Stockfish") && error.ends_with(" does not play othello"), "{error}");
}

#[test]
fn oracles_and_searches_over_them_play_their_games() {
    for (game, spec) in [
        (Rules::Hex { size: 5, swap: false }, "oracle:nodes=200"),
        (Rules::Othello, "oracle:nodes=500"),
        (Rules::Togyz, "oracle-mcts:sims=10,oracle_nodes=200"),
        (Rules::Chess, "oracle:nodes=3000"),
        (Rules::Chess960, "oracle-mcts:sims=5,oracle_nodes=3000"),
    ] {
        let (mut player, mut random) = (build(spec), build("random"));
        let referee = Referee { max_plies: Some(8), ..Referee::default() };
        let record = referee.play(&Position::start(game), [&mut *player, &mut *random]);
        let termination = record.verdict.unwrap().termination;
        let fine = matches!(termination, Termination::MaxLength | Termination::Rules(_));
        assert!(fine, "{game} {spec}: {termination}");
        assert!(record.moves[0].thought.value.is_some());
    }
    let mut player = build("oracle:nodes=200");
    let large = Position::start(Rules::Hex { size: 13, swap: false });
    choose(&mut *player, &large, Limit::default()).unwrap();
}
