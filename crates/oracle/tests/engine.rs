//! The real Stockfish, and small engines that misbehave.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use mavis_game::{CastlingMode, Chess, Game, Position, Rules};
use mavis_oracle::engine::{EngineSettings, Limit, UciOracle};
use mavis_oracle::pool::evaluate_all;
use mavis_oracle::process::{EngineError, find_engine};
use mavis_oracle::{Oracle, OracleError, Ranking, Score};
use mavis_testkit::install_script;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn stockfish(limit: Limit) -> EngineSettings {
    let program = find_engine("stockfish", Some(&mavis_testkit::engine_path())).expect("the path holds it");
    EngineSettings::new(program, limit)
}

/// Positions along two games.
fn positions() -> Vec<Position> {
    let games = [
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8",
        "d2d4 d7d5 c2c4 d5c4 e2e4 b8c6 g1f3 c8g4 d4d5 c6e5 f1c4 e5c4 d1a4 c7c6 a4c4 g4f3",
    ];
    let mut positions = Vec::new();
    for game in games {
        let mut position = Position::start(Rules::Chess);
        for mv in game.split(' ') {
            position.play_text(mv).unwrap();
            positions.push(position.clone());
        }
    }
    positions
}

fn rank_all(oracles: &mut [UciOracle], positions: &[Position]) -> Vec<Ranking> {
    let mut rankings = vec![None; positions.len()];
    evaluate_all(oracles, positions.iter().cloned(), |judged| {
        rankings[judged.number] = Some(judged.result.unwrap());
        true
    });
    rankings.into_iter().map(Option::unwrap).collect()
}

#[test]
fn every_legal_move_has_a_score_and_the_best_comes_first() {
    let mut oracle = UciOracle::start(stockfish(Limit::Depth(6))).unwrap();
    // Mate in one for White, beside much else.
    let position = Position::parse(Rules::Chess, "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1").unwrap();
    let ranking = oracle.evaluate(&position).unwrap();
    assert_eq!(ranking.moves.len(), position.legal_moves().len());
    assert_eq!(position.move_text(ranking.best().unwrap()), "a1a8");
    assert_eq!((ranking.moves[0].score, ranking.moves[0].win_probability), (Score::Mate(1), 1.0));
    assert_eq!(oracle.identity().name, "Stockfish");
    assert!(oracle.identity().settings.starts_with("depth=6 Threads=1 Hash="), "{}", oracle.identity());
    assert!(matches!(
        oracle.evaluate(&Position::start(Rules::Connect4)),
        Err(OracleError::WrongGame { rules: Rules::Connect4, .. })
    ));
    let mated = Position::parse(Rules::Chess, "R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1").unwrap();
    assert!(matches!(oracle.evaluate(&mated), Err(OracleError::GameOver { .. })));
}

#[test]
fn answers_do_not_depend_on_order_engine_or_neighbors() {
    let positions = positions();
    let mut alone = [UciOracle::start(stockfish(Limit::Nodes(3000))).unwrap()];
    let forwards = rank_all(&mut alone, &positions);
    let reversed: Vec<_> = positions.iter().rev().cloned().collect();
    let mut pair = [0; 2].map(|_| UciOracle::start(stockfish(Limit::Nodes(3000))).unwrap());
    let mut backwards = rank_all(&mut pair, &reversed);
    backwards.reverse();
    assert_eq!(forwards, backwards);
}

/// Far from enough nodes for a look at each of the moves: those without a score are searched by themselves.
#[test]
fn every_move_has_a_score_however_few_the_nodes() {
    let fen = "2b1nbk1/rP3p1p/nq4pB/p1N5/4p3/7P/PP1K1PP1/1NR2B1R w - - 2 24";
    let position = Position::parse(Rules::Chess, fen).unwrap();
    for nodes in [50, 500, 5000] {
        let mut oracle = UciOracle::start(stockfish(Limit::Nodes(nodes))).unwrap();
        let ranking = oracle.evaluate(&position).unwrap();
        assert_eq!(ranking.moves.len(), position.legal_moves().len());
        assert_eq!((oracle.evaluate(&position).unwrap(), oracle.n_restarts()), (ranking, 0));
    }
}

/// An engine that always has the next position waiting gives the same rankings, also around positions that cannot be judged.
#[test]
fn a_queue_of_positions_changes_nothing() {
    let parse = |rules, text| Position::parse(rules, text).unwrap();
    let mut positions = positions();
    positions.truncate(20);
    positions.insert(3, parse(Rules::Chess960, "1r2k2r/8/8/8/8/8/8/1R2K2R w HBhb - 0 1"));
    positions.insert(8, parse(Rules::Chess, "2b1nbk1/rP3p1p/nq4pB/p1N5/4p3/7P/PP1K1PP1/1NR2B1R w - - 2 24"));
    positions.insert(15, parse(Rules::Chess, "R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"));
    positions.insert(18, Position::start(Rules::Connect4));
    let settings = stockfish(Limit::Nodes(5000));
    let [mut one, mut queue] = [0; 2].map(|_| UciOracle::start(settings.clone()).unwrap());
    let expected: Vec<_> = positions.iter().map(|position| one.evaluate(position).ok()).collect();
    let rankings = |queue: &mut UciOracle, positions: &[Position]| -> Vec<_> {
        queue.evaluate_all(positions).into_iter().map(Result::ok).collect()
    };
    assert_eq!(expected.iter().filter(|entry| entry.is_none()).count(), 2);
    assert_eq!(rankings(&mut queue, &positions), expected);
    assert_eq!(rankings(&mut queue, &positions[..1]), expected[..1]);
    assert_eq!(queue.n_restarts(), 0);
    // An engine that is gone is replaced, and the queue goes on.
    let engine = queue.process_id().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &engine]).status().unwrap().success());
    assert_eq!(rankings(&mut queue, &positions), expected);
    assert_eq!(queue.n_restarts(), 1);
}

#[test]
fn chess960_castles_by_taking_the_rook() {
    let mut oracle = UciOracle::start(stockfish(Limit::Nodes(2000))).unwrap();
    let fen = "1r2k2r/8/8/8/8/8/8/1R2K2R w HBhb - 0 1";
    let position = Position::Chess(Chess::parse(CastlingMode::Chess960, fen).unwrap());
    let ranking = oracle.evaluate(&position).unwrap();
    let moves: Vec<_> = ranking.moves.iter().map(|judged| position.move_text(judged.mv)).collect();
    assert!(moves.contains(&"e1h1".to_owned()) && moves.contains(&"e1b1".to_owned()), "{moves:?}");
    // Back to chess with the same engine.
    oracle.evaluate(&Position::start(Rules::Chess)).unwrap();
}

#[test]
fn a_killed_engine_is_replaced_and_nothing_is_lost() {
    let positions = positions();
    let undisturbed = rank_all(&mut [UciOracle::start(stockfish(Limit::Nodes(20_000))).unwrap()], &positions);
    let mut oracles = [0; 2].map(|_| UciOracle::start(stockfish(Limit::Nodes(20_000))).unwrap());
    let victims: Vec<_> = oracles.iter().filter_map(UciOracle::process_id).collect();
    let mut rankings = vec![None; positions.len()];
    let mut n_done = 0;
    evaluate_all(&mut oracles, positions.iter().cloned(), |judged| {
        n_done += 1;
        if n_done == 3 {
            for victim in &victims {
                assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());
            }
        }
        rankings[judged.number] = Some(judged.result.unwrap());
        true
    });
    assert_eq!(rankings.into_iter().map(Option::unwrap).collect::<Vec<_>>(), undisturbed);
    assert_eq!(oracles.iter().map(UciOracle::n_restarts).sum::<u32>(), 2);
}

/// A script that says `uciok` and then does `body` for every other line it reads.
fn script(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("engine.sh");
    let text = format!(
        "while read -r line; do case \"$line\" in\n\
         uci) echo 'id name Script 1'; echo 'option name MultiPV type spin default 1 min 1 max 500'; echo uciok;;\n\
         isready) echo readyok;;\n{body}\nesac; done"
    );
    install_script(&path, &text);
    path
}

#[track_caller]
fn failure(body: &str, patience: Duration) -> (EngineError, u32) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = EngineSettings::new(script(folder.path(), body), Limit::Nodes(1));
    settings.patience = patience;
    let mut oracle = UciOracle::start(settings).unwrap();
    match oracle.evaluate(&Position::start(Rules::Chess)) {
        Err(OracleError::Engine { source, .. }) => (source, oracle.n_restarts()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hanging_engine_is_given_up_after_two_more_tries() {
    let (error, n_restarts) = failure("go*) sleep 1000;;", Duration::from_secs(1));
    assert!(matches!(error, EngineError::Late { expected: "bestmove", .. }), "{error}");
    assert_eq!(n_restarts, 2);
}

#[test]
fn a_dying_engine_is_given_up_with_its_status() {
    let (error, n_restarts) = failure("go*) exit 3;;", Duration::from_secs(20));
    assert!(
        matches!(error, EngineError::Died { status: Some(status) } if status.code() == Some(3)),
        "{error}"
    );
    assert_eq!(n_restarts, 2);
}

#[test]
fn nonsense_is_named() {
    for (body, expected) in [
        ("go*) echo 'bestmove e2e4';;", "a score for every legal move"),
        (
            "go*) echo 'info depth 1 multipv 1 score cp 1 pv e2e5'; echo 'bestmove e2e5';;",
            "a line of legal moves",
        ),
        ("go*) head -c 2000000 /dev/zero;;", "lines"),
    ] {
        let (error, _) = failure(body, Duration::from_secs(20));
        assert!(matches!(error, EngineError::Nonsense { expected: got, .. } if got == expected), "{error}");
    }
}

#[test]
fn an_engine_that_recovers_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("failed-once");
    let real = stockfish(Limit::Nodes(500)).program;
    let path = folder.path().join("engine.sh");
    let text = format!(
        "if [ ! -e {0} ]; then touch {0}; echo 'option name MultiPV type spin default 1 min 1 max 9'; echo uciok; \
         read -r a; read -r b; read -r c; echo readyok; exit 1; fi\nexec {1}",
        marker.display(),
        real.display()
    );
    install_script(&path, &text);
    let mut oracle = UciOracle::start(EngineSettings::new(path, Limit::Nodes(500))).unwrap();
    assert_eq!(oracle.evaluate(&Position::start(Rules::Chess)).unwrap().moves.len(), 20);
    assert_eq!(oracle.n_restarts(), 1);
}

#[test]
fn engines_die_with_their_handle_and_take_their_children_along() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("child");
    let body = format!("ucinewgame) sleep 1000 & echo $! > {}; wait;;", pid_file.display());
    let mut settings = EngineSettings::new(script(folder.path(), &body), Limit::Nodes(1));
    settings.patience = Duration::from_secs(1);
    let mut oracle = UciOracle::start(settings).unwrap();
    assert!(oracle.evaluate(&Position::start(Rules::Chess)).is_err());
    let child = fs::read_to_string(&pid_file).unwrap();
    drop(oracle);
    let alive = || {
        let status = fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    let start = Instant::now();
    while alive() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!alive());
}

#[test]
fn what_is_missing_or_unknown_is_said_plainly() {
    let error = find_engine("no-such-engine", Some("/usr/bin".as_ref())).unwrap_err();
    assert!(error.to_string().contains("no-such-engine"), "{error}");
    let mut settings = stockfish(Limit::Depth(1));
    settings.options.push(("Sharpness".to_owned(), "9".to_owned()));
    let error = UciOracle::start(settings).unwrap_err();
    assert!(error.to_string().contains("Sharpness"), "{error}");
    let not_an_engine = EngineSettings::new(PathBuf::from("/bin/true"), Limit::Depth(1));
    assert!(matches!(UciOracle::start(not_an_engine), Err(EngineError::Died { .. })));
}

/// A small HTP engine that knows nothing but the center, and checks that it is told the position.
const HTP_ENGINE: &str = r#"n=0
while read -r name rest; do case "$name" in
name) printf '= Center\n\n';;
version) printf '= 1.5\n\n';;
play) n=$((n+1)); printf '= \n\n';;
rates) if [ "$n" = 2 ]; then printf '= b2 0.75\nc3 0.25\n\n'; else printf '? wrong position\n\n'; fi;;
winning) printf '=  b2 a1\n\n';;
broken) printf '= z99 b2\n\n';;
clear_board) n=0; printf '= \n\n';;
*) printf '= \n\n';;
esac; done
"#;

#[test]
fn an_htp_engine_is_an_oracle() {
    use mavis_oracle::htp::{HtpOracle, HtpQuestion, HtpSettings};
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("htp.sh");
    install_script(&program, HTP_ENGINE);
    let start = |question| {
        HtpOracle::start(HtpSettings {
            program: program.clone(),
            arguments: Vec::new(),
            preparation: vec!["param_x 1".to_owned()],
            question,
            patience: Duration::from_secs(20),
        })
        .unwrap()
    };
    let rules = Rules::Hex { size: 4, swap: false };
    let mut position = Position::start(rules);
    position.play_text("d1").unwrap();
    position.play_text("d2").unwrap();
    let mut rates = start(HtpQuestion::Rates("rates".to_owned()));
    assert_eq!((rates.identity().name.as_str(), rates.identity().version.as_str()), ("Center", "1.5"));
    for _ in 0..2 {
        let ranking = rates.evaluate(&position).unwrap();
        assert_eq!((ranking.moves.len(), ranking.moves[0].score), (14, Score::WinRate(0.75)));
        assert_eq!(position.move_text(ranking.best().unwrap()), "b2");
    }
    let mut winning = start(HtpQuestion::WinningMoves("winning".to_owned()));
    let ranking = winning.evaluate(&position).unwrap();
    assert_eq!(ranking.moves.iter().filter(|entry| entry.score == Score::Solved(1)).count(), 2);
    let mut broken = start(HtpQuestion::WinningMoves("broken".to_owned()));
    assert!(matches!(broken.evaluate(&position), Err(OracleError::Engine { .. })));
}
