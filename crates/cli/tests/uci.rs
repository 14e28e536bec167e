//! The real binary as a UCI engine.
#![allow(clippy::unwrap_used, reason = "a panic in a test is the failure we want to see")]

use crate::support::nonsense;

use nonsense::Nonsense;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// A running engine; a line that does not come within a minute is a failure.
struct Engine {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Engine {
    fn start(player: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mavis"))
            .args(["uci", "--player", player])
            .env("PATH", mavis_testkit::engine_path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    /// Every line up to the one that begins so.
    fn until(&mut self, start: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| {
                panic!("no {start}; lines {lines:?}");
            });
            let last = line.starts_with(start);
            lines.push(line);
            if last {
                return lines;
            }
        }
    }

    fn ask(&mut self, text: &str, start: &str) -> Vec<String> {
        self.say(text);
        self.until(start)
    }

    fn end(mut self) {
        self.stdin.take();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_session_as_a_gui_holds_it() {
    let mut engine = Engine::start("mcts:c=1.2");
    let hello = engine.ask("uci", "uciok");
    for part in
        ["id name Mavis", "name MultiPV type spin", "name Move Overhead", "name UCI_Chess960", "name Sims"]
    {
        assert!(hello.iter().any(|line| line.contains(part)), "{part} in {hello:?}");
    }
    engine.ask("isready", "readyok");
    engine.say("ucinewgame");
    engine.say("position startpos moves e2e4 e7e5");
    let lines = engine.ask("go nodes 200", "bestmove");
    let info = lines.iter().find(|line| line.contains(" pv ")).unwrap();
    for word in [" depth ", " score cp ", " nodes 200", " nps ", " time "] {
        assert!(info.contains(word), "{word} in {info}");
    }
    engine.say("setoption name MultiPV value 3");
    let lines = engine.ask("go nodes 200", "bestmove");
    let ranks = lines.iter().filter_map(|line| line.split_once(" multipv ")?.1.split(' ').next());
    let ranks: Vec<&str> = ranks.collect();
    assert!(ranks.ends_with(&["1", "2", "3"]), "{lines:?}");
    let lines = engine.ask("go nodes 100 searchmoves a2a3", "bestmove");
    assert_eq!(lines.last().map(String::as_str), Some("bestmove a2a3"));
    assert!(!lines.iter().any(|line| line.contains(" wdl ")), "{lines:?}");
    engine.say("setoption name UCI_ShowWDL value true");
    engine.say("setoption name Move Overhead value 20");
    let lines = engine.ask("go nodes 100", "bestmove");
    let info = lines.iter().find(|line| line.contains(" wdl ")).unwrap();
    let chances: Vec<u32> =
        info.split(" wdl ").nth(1).unwrap().split(' ').take(3).flat_map(str::parse).collect();
    assert_eq!(chances.iter().sum::<u32>(), 1000, "{info}");
    engine.ask("go movetime 30", "bestmove");
    engine.ask("go wtime 1000 btime 1000 winc 10 binc 10 movestogo 1", "bestmove");
    engine.ask("go wtime 9223372036854775807 btime -5 nodes 10", "bestmove");
}

#[test]
fn internal_search_plays_and_reports_its_tree() {
    let mut engine = Engine::start("mav-is:breadth=2,depth=1");
    let options = engine.ask("uci", "uciok");
    assert!(
        options.iter().any(|line| line.starts_with("option name Breadth type spin default 2")),
        "{options:?}"
    );
    engine.say("position startpos moves e2e4");
    let lines = engine.ask("go", "bestmove");
    assert!(lines.iter().any(|line| line.starts_with("info ") && line.contains(" pv ")), "{lines:?}");
    engine.end();
}

#[test]
fn mpc_reports_every_root_move_with_its_reply_and_value() {
    let mut engine = Engine::start("mpc:evaluator={uci:stockfish,Hash=1,patience=60000},nodes=200,threads=2");
    let hello = engine.ask("uci", "uciok");
    let steps = "option name Steps type combo default 1 var half var 1 var 2";
    assert!(hello.iter().any(|line| line == steps), "{hello:?}");
    // What the line of the player says is what a GUI shows.
    for option in
        ["Evaluator type string default uci:stockfish,Hash=1,patience=60000", "Nodes type string default 200"]
    {
        assert!(hello.iter().any(|line| *line == format!("option name {option}")), "{hello:?}");
    }
    engine.say("setoption name Fortified value true");
    engine.say("position startpos moves e2e4");
    // Time enough for forty-one calls of two hundred nodes on a busy machine.
    let lines = engine.ask("go wtime 600000 btime 600000", "bestmove");
    let reported: Vec<&String> = lines.iter().filter(|line| line.contains(" reply ")).collect();
    assert_eq!(reported.len(), 20, "{lines:?}");
    assert!(
        reported.iter().all(|line| line.contains(" value cp ") || line.contains(" value mate ")),
        "{reported:?}"
    );
    let last = lines.iter().rfind(|line| line.contains(" pv ")).unwrap();
    let best = lines.last().unwrap().strip_prefix("bestmove ").unwrap();
    // The chosen move and the reply it expects, which a GUI may ponder on.
    let (mv, reply) = best.split_once(" ponder ").unwrap();
    assert!(last.contains(&format!(" pv {mv} {reply}")) && last.contains(" score "), "{last} {best}");
    // Short on time, there is still a move.
    engine.ask("go movetime 20", "bestmove");
    engine.ask("go wtime 300 btime 300", "bestmove");
    engine.say("go infinite");
    engine.ask("stop", "bestmove");
    engine.say("quit");
    engine.end();
}

#[test]
fn searches_wait_are_stopped_and_replaced() {
    let mut engine = Engine::start("mcts");
    engine.say("go infinite");
    // A second `go` ends the first; each has its own answer.
    engine.say("go infinite");
    engine.ask("isready", "readyok");
    engine.ask("stop", "bestmove");
    engine.say("position startpos moves d2d4");
    engine.say("go ponder wtime 1000 btime 1000");
    let lines = engine.ask("isready", "readyok");
    assert!(lines.iter().filter(|line| line.starts_with("bestmove")).count() <= 1);
    engine.ask("ponderhit", "bestmove");
    engine.say("go infinite");
    engine.say("quit");
    engine.end();
}

#[test]
fn bad_lines_get_one_clear_line_and_change_nothing() {
    let mut engine = Engine::start("mcts");
    engine.say("position startpos moves e2e4");
    for (line, part) in [
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "bad chess position"),
        ("position startpos moves e2e5", "illegal move"),
        ("setoption name Sims value many", "bad value 'many'"),
        ("setoption name Nothing value 1", "no such option"),
        ("setoption name MultiPV value 0", "expected 1 to 256"),
    ] {
        let lines = engine.ask(line, "info string");
        assert!(lines.last().unwrap().contains(part), "{line}: {lines:?}");
    }
    let lines = engine.ask("go nodes 100 searchmoves e7e5", "bestmove");
    assert_eq!(lines.last().map(String::as_str), Some("bestmove e7e5"));
    engine.say("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1");
    assert_eq!(engine.ask("go", "bestmove").last().map(String::as_str), Some("bestmove (none)"));
    engine.end();
}

#[test]
fn chess960_castles_in_its_own_words() {
    let mut engine = Engine::start("mcts");
    engine.say("setoption name UCI_Chess960 value true");
    engine.say("position fen k7/8/8/8/8/8/8/1R3KR1 w GB - 0 1");
    let lines = engine.ask("go nodes 10 searchmoves f1g1", "bestmove");
    assert!(lines.last().unwrap().starts_with("bestmove f1g1"), "{lines:?}");
}

const HEADS: &[&str] = &[
    "go",
    "position",
    "setoption",
    "stop",
    "ponderhit",
    "isready",
    "debug",
    "ucinewgame",
    "uci",
    "xyzzy",
    "",
    "position startpos moves",
];
const WORDS: &[&str] = &[
    "startpos",
    "fen",
    "moves",
    "e2e4",
    "e7e5",
    "a1a1",
    "name",
    "value",
    "MultiPV",
    "MoveOverhead",
    "Sims",
    "C",
    "UCI_Chess960",
    "true",
    "false",
    "wtime",
    "btime",
    "movetime",
    "nodes",
    "depth",
    "mate",
    "infinite",
    "ponder",
    "searchmoves",
    "-1",
    "7",
    "99999999999999999999",
    "8/8/8/8/8/8/8/8",
    "w",
    "\u{1F600}\u{7}",
];

/// `Hash` bounds the tree, as GUIs expect of the option they all set.
#[test]
fn hash_bounds_the_memory_of_the_tree() {
    let mut engine = Engine::start("scripted-mcts:sims=2000000");
    let hello = engine.ask("uci", "uciok");
    assert!(hello.iter().any(|line| line.contains("option name Hash type spin")), "{hello:?}");
    let mut nodes = |hash: u32| -> u64 {
        engine.say(&format!("setoption name Hash value {hash}"));
        engine.say("position startpos");
        let lines = engine.ask("go movetime 60000", "bestmove");
        let info = lines.iter().rev().find(|line| line.contains(" nodes ")).unwrap();
        info.split(" nodes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    let (one, two) = (nodes(1), nodes(2));
    assert!(one < two && two < 1_000_000, "{one} nodes in 1 MiB, {two} in 2 MiB");
}

#[test]
fn a_player_of_another_game_is_refused_at_the_start() {
    let mavis = mavis_testkit::Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis.check_bad("uci --player probs", "no bundled net plays chess");
    mavis.check_bad("uci --player probs:othello", "does not play chess");
}

#[test]
fn ten_thousand_random_lines_do_not_stop_it() {
    let mut engine = Engine::start("mcts:sims=20");
    let mut nonsense = Nonsense::new(7, HEADS, WORDS, 6);
    for _ in 0..10_000 {
        let line = nonsense.line();
        engine.say(&line);
    }
    engine.say("stop");
    engine.say("setoption name UCI_Chess960 value false");
    engine.say("setoption name Sims value 20");
    engine.say("position startpos moves e2e4 e7e5 g1f3");
    engine.ask("debug on", "");
    engine.say("the end is near");
    engine.until("info string unknown command: the end is near");
    let lines = engine.ask("go nodes 20 searchmoves b8c6", "bestmove");
    assert_eq!(lines.last().map(String::as_str), Some("bestmove b8c6"));
    engine.say("quit");
    engine.end();
}
