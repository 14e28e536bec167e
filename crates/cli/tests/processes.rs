//! Engines end with the real binary, whatever ends it.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_testkit::Program;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// An engine with a child of its own that never answers `go`, ignores signals, and does not notice that its input ends.
const HANGS: &str = "trap '' HUP INT TERM
sleep 1000 &
while read -r line; do case \"$line\" in
uci) echo 'id name Hangs 1'; echo uciok;;
isready) echo readyok;;
go*) echo $$ >> groups; sleep 1000; sleep 1000;;
esac; done
";

fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_mavis"));
    mavis_testkit::install_script(&program.folder().join("engine.sh"), HANGS);
    program.write(
        "league.toml",
        "name = 'l'\ngame = 'chess'\nconcurrency = 2\nschedule.pairs = 2\n\
         players = [{ player = 'uci:./engine.sh', cores = 0 }, { player = 'random' }]\n",
    );
    program
}

/// Waits until a number is as expected; the number in the end.
fn settled(expected: impl Fn(usize) -> bool, count: impl Fn() -> usize) -> usize {
    let began = Instant::now();
    while !expected(count()) && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    count()
}

/// The process groups of the engines that were told to think.
fn groups(program: &Program) -> Vec<String> {
    let text = fs::read_to_string(program.folder().join("groups")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Living processes in some groups.
fn n_alive(groups: &[String]) -> usize {
    let of_group = |stat: &String| {
        // The name of the program may hold anything; state, parent and group stand behind it.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or(vec![], |(_, rest)| rest.split(' ').collect());
        matches!(fields[..], [_, state, _, group, ..] if state != "Z" && groups.iter().any(|id| id == group))
    };
    let folders = fs::read_dir("/proc").unwrap().flatten();
    folders.filter_map(|folder| fs::read_to_string(folder.path().join("stat")).ok()).filter(of_group).count()
}

fn start(program: &Program, line: &str) -> Child {
    program.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[track_caller]
fn check_killed(line: &str, n_engines: usize) {
    let program = program();
    let mut mavis = start(&program, line);
    assert!(settled(|n| n >= n_engines, || groups(&program).len()) >= n_engines, "{line}: no engine thinks");
    let groups = groups(&program);
    // Each engine, the child it began with and the one that makes it hang.
    assert!(settled(|n| n >= 3 * n_engines, || n_alive(&groups)) >= 3 * n_engines);
    mavis.kill().unwrap();
    mavis.wait().unwrap();
    assert_eq!(settled(|n| n == 0, || n_alive(&groups)), 0, "{line}");
}

#[test]
fn engines_end_when_the_program_is_killed() {
    check_killed("play --game chess --first uci:./engine.sh --second random", 1);
    check_killed("play --game chess --first mpc:evaluator=uci:./engine.sh,threads=2 --second random", 2);
    check_killed("league run --config league.toml --out out", 2);
}

#[test]
fn engines_that_hang_end_with_the_program() {
    for line in [
        "analyze --game chess --player mpc:evaluator=uci:./engine.sh,threads=2 --movetime 0.3",
        "analyze --game chess --player uci:./engine.sh,patience=300 --movetime 0.1",
    ] {
        let program = program();
        start(&program, line).wait().unwrap();
        let groups = groups(&program);
        assert!(!groups.is_empty(), "{line}: no engine thinks");
        assert_eq!(settled(|n| n == 0, || n_alive(&groups)), 0, "{line}");
    }
}
