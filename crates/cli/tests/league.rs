//! `mavis league` with the real binary: the same games each time, also after kills.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_testkit::Program;
use serde_json::Value;
use std::fs;
use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Two opening pairs for each of three pairings: twelve games.
const SMALL: &str = "
name = 'small'
game = 'connect4'
seed = 7
openings.random_plies = 2
schedule.pairs = 2
adjudication.exact = { judge = 'solver', from_ply = 30 }
players = [{ player = 'random' }, { player = 'lookahead:1' }, { player = 'lookahead:2' }]
";

/// Enough games that a kill finds some of them unfinished.
const LONGER: &str = "
name = 'longer'
game = 'connect4'
seed = 8
concurrency = 2
openings.random_plies = 2
schedule.pairs = 10
players = [{ player = 'random' }, { player = 'lookahead:2' }, { player = 'mcts:sims=300' }]
";

/// The program in a folder with a configuration.
fn league(config: &str) -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_mavis"));
    program.write("c.toml", config);
    program
}

fn lines(folder: &Path, out: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(out).join("games.jsonl")).unwrap_or_default();
    // A line that is being written is not a game yet.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Every game without what the clock says, in the order of the schedule.
fn games(folder: &Path, out: &str) -> Vec<String> {
    let mut list = lines(folder, out);
    list.sort_by_key(|game| game["game"].as_u64());
    let show = |game: &Value| {
        let moves: Vec<&Value> = game["moves"].as_array().unwrap().iter().map(|made| &made["m"]).collect();
        assert!(moves.iter().all(|mv| mv.is_string()), "{game}");
        let keys = ["game", "first", "second", "opening", "result"].map(|key| &game[key]);
        format!("{keys:?} {moves:?}")
    };
    list.iter().map(show).collect()
}

#[test]
fn the_same_league_plays_the_same_games() {
    let mavis = league(SMALL);
    let folder = mavis.folder();
    let table = mavis.stdout("league run --config c.toml --out a");
    assert!(table.contains("lookahead:2"), "{table}");
    mavis.run("league run --config c.toml --out b --concurrency 3");
    assert_eq!(games(folder, "a").len(), 12);
    assert_eq!(games(folder, "a"), games(folder, "b"));
    // A finished league plays nothing more and shows the same.
    assert_eq!(mavis.stdout("league run --config c.toml --out a"), table);
    assert_eq!(mavis.stdout("league table a"), table);
    let json: Value = serde_json::from_str(&mavis.stdout("league table a --json")).unwrap();
    assert_eq!((json["finished"].as_u64(), json["planned"].as_u64()), (Some(12), Some(12)));
    assert_eq!(json["players"].as_array().map(Vec::len), Some(3));
    let refits = mavis.stdout("league table a --bootstrap 200");
    assert_ne!(refits, table, "other intervals");
    assert_eq!(mavis.stdout("league table a --bootstrap 200"), refits);
    let pgn = mavis.stdout("league pgn a");
    assert_eq!(pgn.matches("[Event \"small\"]").count(), 12);
    assert_eq!(mavis.stdout("league report a --html page.html"), "page.html\n");
    assert!(fs::read_to_string(folder.join("page.html")).unwrap().contains("<svg"));
}

#[test]
fn a_killed_league_ends_with_exactly_the_planned_games() {
    let mavis = league(LONGER);
    let folder = mavis.folder();
    let spawn = || -> Child {
        let mut command = mavis.command("league run --config c.toml --out killed");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    for target in [5, 20] {
        let mut child = spawn();
        while lines(folder, "killed").len() < target && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let n = lines(folder, "killed").len();
        assert!((target..60).contains(&n), "{n} games after {target}");
    }
    mavis.run("league run --config c.toml --out killed");
    mavis.run("league run --config c.toml --out whole");
    let numbers: Vec<u64> = {
        let mut list: Vec<u64> =
            lines(folder, "killed").iter().map(|game| game["game"].as_u64().unwrap()).collect();
        list.sort_unstable();
        list
    };
    assert_eq!(numbers, (0..60).collect::<Vec<_>>(), "each planned game once");
    assert_eq!(games(folder, "killed"), games(folder, "whole"), "the same as without a kill");
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_games_in_hand() {
    let mavis = league(&LONGER.replace("pairs = 10", "pairs = 200"));
    let folder = mavis.folder();
    let child = mavis
        .command("league run --config c.toml --out a")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while lines(folder, "a").len() < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(message.contains("of 1200 games; the same command resumes"), "{message}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("mcts:sims=300"), "the table so far");
}

/// Without a folder nothing is kept, so there is nothing to resume.
#[cfg(unix)]
#[test]
fn a_stopped_match_without_a_folder_does_not_promise_to_resume() {
    let mavis = league("");
    let mut child = mavis
        .command("match mcts:sims=300 mcts:sims=300,c=2 --game connect4 --games 2000 --concurrency 2")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("2 at once")));
    // The games are handed out right after that line.
    std::thread::sleep(Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let stopped = lines.find(|line| line.starts_with("stopped with")).unwrap();
    assert!(stopped.ends_with("of 2000 games"), "{stopped}");
    assert!(child.wait().unwrap().success());
}

/// The second signal is heard however soon it comes after the first, and stops players that think for minutes.
#[cfg(unix)]
#[test]
fn the_second_ctrl_c_stops_at_once() {
    let mavis = league(
        "
        name = 'slow'
        game = 'hex'
        concurrency = 2
        schedule.pairs = 2
        players = [{ player = 'mcts:sims=100000000' }, { player = 'mcts:sims=100000000,c=2' }]
        ",
    );
    for (idx, millis) in [150, 300, 500, 900, 1000].into_iter().enumerate() {
        let mut child = mavis
            .command(&format!("league run --config c.toml --out {idx}"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let interrupt = || Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(lines.by_ref().any(|line| line.contains("2 at once")));
        // The games are handed out right after that line; a signal before leaves nothing to finish.
        std::thread::sleep(Duration::from_secs(1));
        assert!(interrupt().success());
        assert!(lines.by_ref().any(|line| line.starts_with("finishing the games in hand; Ctrl-C again")));
        std::thread::sleep(Duration::from_millis(millis));
        assert!(interrupt().success());
        let began = std::time::Instant::now();
        assert_eq!(lines.next().as_deref(), Some("dropping the games in hand"));
        while child.try_wait().unwrap().is_none() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "still there after {millis} ms between signals"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_test_stops_at_its_decision() {
    let mavis = league(
        "
        name = 'test'
        game = 'connect4'
        openings.random_plies = 2
        schedule.pairs = 500
        players = [{ player = 'lookahead:3' }, { player = 'random' }]
        ",
    );
    let answer = mavis.stdout("league sprt --config c.toml --out t --elo0 0 --elo1 100");
    assert!(answer.contains("SPRT: "), "{answer}");
    let json: Value = serde_json::from_str(&mavis.stdout("league table t --json")).unwrap();
    assert!(json["finished"].as_u64().is_some_and(|n| n < 1000), "{json}");
    assert!(json["sprt"]["llr"].as_f64() >= json["sprt"]["upper"].as_f64(), "{json}");
    mavis.check_bad("league sprt --config c.toml --out t --elo0 5 --elo1 100", "another configuration");
    mavis.check_bad("league sprt --config c.toml --out u --elo0 5 --elo1 0", "");
}

#[test]
fn bad_leagues_are_refused_on_one_line() {
    let mavis = league(&SMALL.replace("seed = 7", "sead = 7"));
    let folder = mavis.folder();
    mavis.check_bad("league run --config c.toml --out a", "sead");
    mavis.check_bad("league run --config none.toml --out a", "cannot read none.toml");
    mavis.check_bad("league table a", "config.toml");
    mavis.write("c.toml", SMALL.replace("lookahead:2", "lookahed:2"));
    mavis.check_bad("league run --config c.toml --out b", "did you mean 'lookahead'");
    assert!(!folder.join("b").exists(), "nothing is written for a bad league");
    // Players that are good ones and cannot play here: an engine of another game, a server that is not there.
    let engine = format!("gtp:{},args={{gtp --game othello --player random}}", env!("CARGO_BIN_EXE_mavis"));
    for (player, part) in [
        (engine.as_str(), "Mavis does not play connect4"),
        ("openai:http://127.0.0.1:1,retries=0", "refused"),
        ("openai-mcts:http://127.0.0.1:1,retries=0", "refused"),
    ] {
        mavis.write("c.toml", SMALL.replace("lookahead:2", player));
        mavis.check_bad("league run --config c.toml --out b", part);
        assert!(!folder.join("b").exists(), "nothing is written for a bad league");
    }
    for (line, part) in [
        ("clock = '1e19'", "clock: bad time control '1e19'"),
        ("clock = '1+1e19'", "expected a number from 0 to 1000000000"),
        ("limits.time = 1e19", "limits.time: '10000000000000000000' is not a time"),
        ("tolerance = 1e19", "tolerance: '10000000000000000000' is not a time"),
        (
            "ratings.zero = { player = 'random', rating = nan }",
            "ratings.zero.rating: expected a finite number, not NaN",
        ),
    ] {
        mavis.write("c.toml", format!("{line}\n{SMALL}"));
        mavis.check_bad("league run --config c.toml --out b", part);
    }
    mavis.write("c.toml", SMALL.replace("{ player = 'random'", "{ player = 'random', external = inf"));
    mavis.check_bad("league run --config c.toml --out b", "external of player 'random': expected a finite");
    mavis.write("c.toml", SMALL.replace("'connect4'", "'othello'"));
    mavis.check_bad("league run --config c.toml --out b", "'solver' does not evaluate othello");
    mavis.write("c.toml", SMALL);
    mavis.check_bad("league sprt --config c.toml --out c", "two players");
    // Files where a folder is meant.
    mavis.check_bad("league table c.toml", "c.toml");
    mavis.check_bad("league pgn /dev/null", "/dev/null");
    mavis.check_bad("match random lookahead:1 --game connect4 --games 2 --out c.toml", "cannot use c.toml");
}
