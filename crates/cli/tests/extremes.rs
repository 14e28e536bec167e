//! Extreme values for every option of every command: each ends by itself with code 0, 1 or 2, or is still at work when the
//! test kills it; none panics, none is killed by a signal, and a refusal is one line.
//!
//! Commands and options come from the manual pages, which the program writes from its own parser: a new option is covered as
//! soon as it is there.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt as _, process::ExitStatusExt as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// Values at the ends of every range, and none of them. The last one is as long as the system lets an argument be.
fn values() -> Vec<String> {
    let mut values =
        ["0", "-1", "1e19", "NaN", "inf", "", "18446744073709551615", "-0.0", "99999999999", "x,y={"]
            .map(str::to_owned)
            .to_vec();
    values.push("9".repeat(100_000));
    values
}

/// A working line for commands whose example needs files that are not here, or takes long.
const LINES: &[(&str, &str)] = &[
    ("analyze", "analyze --game connect4 --player mav-mcts:sims=5"),
    ("bench data", "bench data --pgn games.pgn --positions 2 --rounds 1 --nodes 10"),
    ("bench league", "bench league --games 2 --nodes 50"),
    ("bench loader", "bench loader --config train.toml --seconds 0.1"),
    ("bench model", "bench model model.safetensors --game connect4 --positions 2 --batch 1 --seconds 0.01"),
    ("data annotate", "data annotate c4/annotations --oracle connect4 --out annotated"),
    ("data export", "data export c4/annotations --format tsv --out values.tsv"),
    ("data import", "data import games.pgn --out imported.parquet"),
    ("data ood", "data ood -n 10 --out ood.parquet"),
    ("data sample", "data sample positions.parquet -n 3 --out sample.parquet"),
    ("data selfplay", "data selfplay --game connect4 --n-games 2 --random-plies 20 --out selfplay"),
    ("data split", "data split c4/annotations --train train.parquet --valid valid.parquet"),
    ("data stats", "data stats c4/annotations"),
    ("data traces", "data traces c4/annotations --roots 2 --model bundled --out traces"),
    ("eval actions", "eval actions --input c4/annotations --limit 2 --player lookahead:1"),
    ("eval agreement", "eval agreement --input c4/annotations --limit 2"),
    ("eval calibration", "eval calibration --input c4/annotations --limit 2 --player lookahead:1"),
    ("eval internal", "eval internal --game connect4 --size 2,1 --positions 1"),
    ("eval legality", "eval legality --input samples/puzzles.csv --limit 2"),
    ("eval puzzles", "eval puzzles --input samples/puzzles.csv --limit 2 --player random"),
    ("eval scoring", "eval scoring --input c4/annotations --limit 2"),
    ("eval seen", "eval seen --league league --player random --input positions.parquet"),
    ("eval solver", "eval solver --player random --positions 2 --from-ply 20"),
    ("eval world", "eval world --game connect4 --games 1"),
    ("gtp", "gtp --game hex:size=5 --player random"),
    ("lang check", "lang check answers.txt"),
    ("lang tokenize", "lang tokenize answers.txt"),
    ("league run", "league run --config league.toml --out run"),
    ("league sprt", "league sprt --config league.toml --out sprt --elo0 0 --elo1 400"),
    ("manual", "manual man"),
    ("match", "match random lookahead:1 --game connect4 --games 2"),
    ("mcp", "mcp"),
    ("model export", "model export model.safetensors --to hf --out hf"),
    ("model info", "model info model.safetensors"),
    ("mpc table", "mpc table --config mpc.toml --out mpc"),
    ("perft", "perft --game chess --depth 2"),
    ("plan annotate", "plan annotate --positions 100 --game connect4 --rate 5"),
    ("plan league", "plan league --games 10 --plies 10 --game connect4 --player random --rate 5"),
    ("plan selfplay", "plan selfplay --games 10 --game connect4 --rate 5"),
    ("plan traces", "plan traces --roots 10 --rate 5 -- c4/annotations"),
    ("plan train", "plan train --config train.toml --steps 5 --rate 5"),
    ("play", "play connect4 --first random --second random"),
    ("probs train", "probs train --game connect4 --out probs --rounds 1"),
    ("serve", "serve --port 0"),
    ("train mav", "train mav --config train.toml --out run --max-minutes 0.01"),
    ("uci", "uci --player random"),
];

/// Files that those lines name.
fn fixtures(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for name in ["samples", "recipes"] {
        symlink(root.join(name), folder.join(name)).unwrap();
    }
    symlink(root.join("models/mavis-9m.safetensors"), folder.join("model.safetensors")).unwrap();
    symlink(root.join("samples/games.pgn"), folder.join("games.pgn")).unwrap();
    let train = fs::read_to_string(root.join("samples/train.toml")).unwrap();
    let train = train.replace("runs/games", "c4").replace("runs/held_out", "c4");
    fs::write(folder.join("train.toml"), train).unwrap();
    let players = "[[players]]\nplayer = \"random\"\n[[players]]\nplayer = \"lookahead:1\"\n";
    let league = format!("name = \"two\"\ngame = \"connect4\"\n[schedule]\npairs = 1\n{players}");
    fs::write(folder.join("league.toml"), league).unwrap();
    let mpc = "name = \"one\"\ngame = \"connect4\"\nevaluator = \"lookahead:1\"\nlimits = { nodes = 2 }\np = 2\n\
               [[matches]]\nsteps = \"1\"\nagainst = \"stochastic\"\npairs = 1\n";
    fs::write(folder.join("mpc.toml"), mpc).unwrap();
    for line in [
        "data import games.pgn --out positions.parquet",
        "data selfplay --game connect4 --n-games 3 --random-plies 20 --epsilon 1 --out c4",
        "analyze --game connect4 --player mav-mcts:sims=5 --tree tree.json",
        "analyze --game connect4 --player mav-mcts:sims=5 --tree before.json",
        "analyze --game connect4 --player mav-mcts:sims=6 --tree after.json",
        "league run --config league.toml --out league",
        "manual pages",
    ] {
        let output = program(&split(line), folder).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let example = program(&split("lang example --game hex --seed 3"), folder).output().unwrap();
    fs::write(folder.join("answers.txt"), example.stdout).unwrap();
}

fn split(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// The program in a process group of its own, with 6 GiB of addresses and nothing on standard input.
fn program(words: &[String], folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; ulimit -v 6291456; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_mavis")]);
    command.args(words).current_dir(folder).stdin(Stdio::null()).process_group(0);
    command.env("PATH", mavis_testkit::engine_path()).env("XDG_DATA_HOME", folder).env("HOME", folder);
    command
}

/// A command that has no commands below it.
struct Leaf {
    name: String,
    line: Vec<String>,
    /// Options that take a value.
    options: Vec<String>,
}

/// Every such command, from the manual pages.
fn leaves(pages: &Path) -> Vec<Leaf> {
    let mut files: Vec<_> = fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().filter_map(|file| leaf(&fs::read_to_string(file).unwrap())).collect()
}

fn leaf(page: &str) -> Option<Leaf> {
    let page =
        ["\\fB", "\\fI", "\\fR"].iter().fold(page.replace("\\-", "-"), |page, mark| page.replace(mark, ""));
    if page.contains(".SH SUBCOMMANDS") {
        return None;
    }
    let usage = page.split(".SH SYNOPSIS\n").nth(1).unwrap().lines().next().unwrap();
    let words = usage.split(' ').skip(1).take_while(|word| !word.is_empty() && !word.starts_with(['[', '<']));
    let name = words.collect::<Vec<_>>().join(" ");
    let known = LINES.iter().find(|(known, _)| *known == name).map(|(_, line)| (*line).to_owned());
    let line = known.or_else(|| example(&page)).unwrap_or_else(|| name.clone());
    let takes_value = |line: &str| {
        let (option, value) = line.rsplit(", ").next()?.split_once(' ')?;
        (option.starts_with("--") && value.starts_with(['<', '['])).then(|| option.to_owned())
    };
    let options = page.lines().filter(|line| line.starts_with('-')).filter_map(takes_value).collect();
    Some(Leaf { name, line: split(&line), options })
}

/// The first example of a page.
fn example(page: &str) -> Option<String> {
    let (_, example) = page.split_once("Example")?.1.split_once("mavis ")?;
    example.split([';', '|', '>', '\n']).next().map(|line| line.trim().to_owned())
}

impl Leaf {
    /// The line with the option at this value.
    fn with(&self, option: &str, value: &str) -> Vec<String> {
        // `-n` is the one short form that examples use.
        let is_option = |word: &&String| *word == option || (option == "--n" && *word == "-n");
        let at = self.line.iter().position(|word| is_option(&word));
        let mut words = self.line.clone();
        if let Some(at) = at {
            words.drain(at..(at + 2).min(words.len()));
        }
        words.push(format!("{option}={value}"));
        words
    }
}

/// What is wrong with the way a run ended; `None` where it was still at work.
fn fault(status: Option<ExitStatus>, stderr: &str) -> Option<String> {
    let status = status?;
    let lines = stderr.lines().filter(|line| !line.trim().is_empty()).count();
    match (status.code(), status.signal()) {
        (_, Some(signal)) => Some(format!("killed by signal {signal}")),
        (Some(0..=2), _) if stderr.contains("panicked") => Some("a thread panicked".to_owned()),
        (Some(2), _) if lines != 1 => Some(format!("{lines} lines for bad input")),
        (Some(0..=2), _) => None,
        (code, _) => Some(format!("code {code:?}")),
    }
}

/// Runs one line in a folder of its own, for at most that long.
fn run(words: &[String], fixtures: &Path, most: Duration) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixtures).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let log = folder.path().join("stderr");
    let mut command = program(words, folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if began.elapsed() > most => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let stderr = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    match fault(status, &stderr) {
        None => Ok(()),
        Some(fault) => {
            let short = |word: &String| word.chars().take(60).collect::<String>();
            let line = words.iter().map(short).collect::<Vec<_>>().join(" ");
            Err(format!("mavis {line}: {fault}: {}", stderr.chars().take(300).collect::<String>()))
        }
    }
}

/// Tries values on every option: all of them, or `some` of them in turn.
fn sweep(some: usize, most: Duration) {
    let folder = tempfile::tempdir().unwrap();
    fixtures(folder.path());
    let leaves = leaves(&folder.path().join("pages"));
    assert!(leaves.iter().any(|leaf| leaf.name == "probs train"), "commands below commands are found");
    assert!(leaves.iter().any(|leaf| leaf.options.iter().any(|option| option == "--seed")));
    let values = values();
    let mut lines = Vec::new();
    for leaf in &leaves {
        for option in &leaf.options {
            let chosen = values.iter().cycle().skip(lines.len()).take(some);
            lines.extend(chosen.map(|value| leaf.with(option, value)));
        }
    }
    let (next, faults) = (Mutex::new(lines.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(line) = next.lock().unwrap().next() else { break };
                    if let Err(fault) = run(line, folder.path(), most) {
                        faults.lock().unwrap().push(fault);
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {} lines:\n{}", faults.len(), lines.len(), faults.join("\n"));
}

#[test]
fn some_extreme_values_of_every_option_are_refused_or_served() {
    sweep(2, Duration::from_millis(500));
}

#[test]
#[ignore = "takes minutes"]
fn every_extreme_value_of_every_option_is_refused_or_served() {
    sweep(values().len(), Duration::from_secs(5));
}
