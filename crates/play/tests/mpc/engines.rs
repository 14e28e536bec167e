//! The real Stockfish as a component, also when it dies or hangs.

use super::{analyze, build};
use mavis_game::{Game as _, Position, Rules};
use mavis_oracle::process::{Patience, find_engine};
use mavis_play::{Limit, Maker, MpcPlayer, MpcSettings, Player, Referee, UciLimits, UciPlayer, UciSettings};
use std::{fs, path::Path, sync::Arc, time::Duration};

/// Stockfish behind a shell that does `fault` in place of search number `at`, counted over all its processes.
fn troubled(folder: &Path, at: u32, fault: &str) -> Maker {
    let stockfish = find_engine("stockfish", Some(&mavis_testkit::engine_path())).unwrap();
    let (script, count) = (folder.join("engine.sh"), folder.join("searches"));
    let text = format!(
        "while read -r line; do case \"$line\" in go*) echo x >> {count}; \
         if [ $(wc -l < {count}) -eq {at} ]; then {fault}; fi;; esac; echo \"$line\"; done | {stockfish}\n",
        count = count.display(),
        stockfish = stockfish.display(),
    );
    fs::write(&script, text).unwrap();
    let settings = UciSettings {
        program: "/bin/sh".into(),
        arguments: vec![script.display().to_string()],
        options: vec![("Hash".to_owned(), "1".to_owned())],
        limits: UciLimits { nodes: Some(50), ..UciLimits::default() },
        // A busy machine starts an engine slowly.
        patience: Patience::always(Duration::from_secs(60)),
        jitter: 0.0,
    };
    Arc::new(move |_| {
        let player = UciPlayer::start(settings.clone()).map_err(|error| error.to_string())?;
        Ok(Box::new(player) as Box<dyn Player>)
    })
}

fn over(engine: Maker) -> MpcPlayer {
    MpcPlayer::new(MpcSettings { threads: 3, ..MpcSettings::default() }, engine, None, 0).unwrap()
}

#[test]
fn an_engine_that_dies_in_the_middle_of_a_move_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mut player = over(troubled(folder.path(), 7, "exit 3"));
    let position = Position::start(Rules::Chess);
    let limit = Limit { time: Some(Duration::from_secs(30)), ..Limit::default() };
    let analysis = analyze(&mut player, &position, limit).unwrap();
    assert_eq!(analysis.moves.len(), 20, "no move went without its evaluation");
    assert_eq!(analysis.choice.thought.note, None);
    let searches = fs::read_to_string(folder.path().join("searches")).unwrap().lines().count();
    assert_eq!(searches, 41, "forty calls, one of them twice");
}

#[test]
fn an_engine_that_hangs_costs_no_more_than_its_move() {
    let folder = tempfile::tempdir().unwrap();
    // Far longer than the test may take.
    let mut player = over(troubled(folder.path(), 2, "sleep 600"));
    let position = Position::start(Rules::Chess);
    let limit = Limit { time: Some(Duration::from_secs(3)), ..Limit::default() };
    let analysis = analyze(&mut player, &position, limit).unwrap();
    assert!(position.is_legal(analysis.choice.mv));
    assert!(analysis.moves.len() < 20, "one move has no reply and so no value");
    assert!(analysis.choice.thought.note.unwrap().starts_with("time was up with "));
    // The next move is made with a new worker in its place.
    let analysis = analyze(&mut player, &position, Limit::default()).unwrap();
    assert_eq!((analysis.moves.len(), analysis.choice.thought.note), (20, None));
}

#[test]
fn an_engine_that_always_dies_is_an_error_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let engine = troubled(folder.path(), 1, "exit 3");
    fs::write(folder.path().join("engine.sh"), "echo uciok; read a; read b; echo readyok; exit 1\n").unwrap();
    let error = MpcPlayer::new(MpcSettings::default(), engine, None, 0).err().unwrap_or_default();
    assert!(error.starts_with("evaluator: "), "{error}");
}

#[test]
fn nothing_is_stored_between_calls() {
    let mut player = build("mpc:evaluator={uci:stockfish,nodes=300,Hash=1,patience=60000},steps=1,threads=2");
    let start = Position::start(Rules::Chess);
    let other =
        Position::parse(Rules::Chess, "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3");
    let first = analyze(&mut *player, &start, Limit::default()).unwrap();
    analyze(&mut *player, &other.unwrap(), Limit::default()).unwrap();
    assert_eq!(analyze(&mut *player, &start, Limit::default()).unwrap(), first);
}

#[test]
fn in_a_deterministic_match_every_reply_is_the_predicted_one() {
    let engine = "uci:stockfish,nodes=100,Hash=1,patience=60000";
    let mut mpc = build(&format!("mpc:evaluator={{{engine}}},threads=2"));
    let referee = Referee { max_plies: Some(10), ..Referee::default() };
    // An independent engine of the same limit in nodes, without a stored hash, replies as predicted too.
    for opponent in [format!("predicted:{{{engine},skill=0}}"), format!("fresh:{{{engine}}}")] {
        let mut other = build(&opponent);
        let record = referee.play(&Position::start(Rules::Chess), [&mut *mpc, &mut *other]);
        assert_eq!(record.moves.len(), 10);
        for pair in record.moves.chunks(2) {
            assert_eq!(pair[0].thought.line[1], pair[1].mv, "{opponent}");
        }
    }
    // One whose nodes vary does not always.
    let mut other = build(&format!("fresh:{{{engine},jitter=0.5}}"));
    let referee = Referee { max_plies: Some(40), ..Referee::default() };
    let record = referee.play(&Position::start(Rules::Chess), [&mut *mpc, &mut *other]);
    let as_predicted = record.moves.chunks_exact(2).filter(|pair| pair[0].thought.line[1] == pair[1].mv);
    assert!(as_predicted.count() < 20);
}
