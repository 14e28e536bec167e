//! `mavis data` with the real binary: from games to tables, killed in the middle, read by others.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_testkit::Program;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

/// A file among the samples of the rules' tests, copied into the folder.
fn sample(folder: &Path, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data").join(name);
    fs::copy(source, folder.join(name)).unwrap();
}

/// The children of a process, of all its threads.
fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let files = tasks.map(|task| task.unwrap().path().join("children"));
    files
        .filter_map(|file| fs::read_to_string(file).ok())
        .flat_map(|text| text.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>())
        .collect()
}

fn kill(process: u32) {
    signal("-9", process);
}

fn signal(number: &str, process: u32) {
    assert!(Command::new("kill").args([number, &process.to_string()]).status().unwrap().success());
}

/// Annotates `n` positions undisturbed, then again with an engine killed after one shard and the program after two, and resumed.
fn annotate_disturbed(n: u64, nodes: u64, shard_size: u64) {
    let mavis = program();
    let folder = mavis.folder();
    sample(folder, "tcec_standard_sample.pgn");
    sample(folder, "tcec_frc_dfrc_sample.pgn");
    mavis.run("data import tcec_standard_sample.pgn tcec_frc_dfrc_sample.pgn --out all.parquet");
    mavis.run(&format!("data sample all.parquet -n {n} --seed 5 --out some.parquet"));
    let annotate = |out: &str| {
        format!(
            "data annotate some.parquet --oracle stockfish:nodes={nodes} --jobs 2 --shard-size {shard_size} --json --out {out}"
        )
    };
    let done = mavis.stdout(&annotate("calm"));
    assert!(done.lines().last().unwrap().contains("\"aside\":0"), "{done}");

    let mut child = mavis.command(&annotate("stormy")).stdout(Stdio::piped()).spawn().unwrap();
    let mut n_shards = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if !line.contains("\"event\":\"shard\"") {
            continue;
        }
        n_shards += 1;
        match n_shards {
            1 => kill(children(child.id())[0]),
            2 => {
                kill(child.id());
                break;
            }
            _ => unreachable!("killed after two"),
        }
    }
    child.wait().unwrap();
    let manifest = fs::read_to_string(folder.join("stormy/manifest.json")).unwrap();
    let n_before = manifest.matches("\"number\"").count() as u64;
    assert!(1 <= n_before && n_before < n / shard_size, "stopped in the middle: {n_before} shards");
    mavis.check_bad(&annotate("stormy").replace("nodes=", "nodes=1"), "holds another job: oracle settings");
    mavis.run(&annotate("stormy"));

    let [calm, stormy] =
        ["calm", "stormy"].map(|table| mavis.stdout(&format!("data export {table} --format jsonl")));
    assert_eq!(calm.lines().count() as u64 + repeats(&done), n);
    assert_eq!(calm, stormy);
    // Shard by shard even the bytes are the same.
    for file in fs::read_dir(folder.join("calm")).unwrap().map(|entry| entry.unwrap().path()) {
        let other = folder.join("stormy").join(file.file_name().unwrap());
        assert_eq!(fs::read(&file).unwrap(), fs::read(&other).unwrap(), "{}", file.display());
    }
    // A run with nothing left to do asks nobody and changes nothing.
    let again = mavis.stdout(&annotate("stormy"));
    assert_eq!(again.lines().count(), 1, "{again}");
}

fn repeats(done: &str) -> u64 {
    let value: serde_json::Value = serde_json::from_str(done.lines().last().unwrap()).unwrap();
    value["repeats"].as_u64().unwrap()
}

#[test]
fn annotation_of_500_positions_survives_a_killed_engine_and_a_killed_program() {
    annotate_disturbed(500, 5_000, 40);
}

/// Ctrl-C finishes the positions in hand and keeps the shard in work; what was judged is not asked again.
#[test]
fn a_stopped_annotation_keeps_the_shard_in_work() {
    let mavis = program();
    let folder = mavis.folder();
    sample(folder, "tcec_standard_sample.pgn");
    mavis.run("data import tcec_standard_sample.pgn --out all.parquet");
    mavis.run("data sample all.parquet -n 400 --seed 5 --out some.parquet");
    let annotate = |out: &str| {
        format!("data annotate some.parquet --oracle stockfish:nodes=5000 --jobs 2 --json --out {out}")
    };
    let mut child = mavis.command(&annotate("stopped")).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains("\"event\":\"progress\"")).unwrap();
    signal("-INT", child.id());
    let last: serde_json::Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    child.wait().unwrap();
    let n_left = last["left"].as_u64().unwrap();
    assert!(last["event"] == "stopped" && n_left > 0, "{last}");
    let n_total = 400 - last["repeats"].as_u64().unwrap();
    let again = mavis.stdout(&annotate("stopped"));
    let first: serde_json::Value = serde_json::from_str(again.lines().next().unwrap()).unwrap();
    // The first line of the second run counts what the first run kept.
    assert!(first["done"].as_u64().unwrap() > n_total - n_left, "{first} after {last}");
    mavis.run(&annotate("calm"));
    let [calm, stopped] = ["calm", "stopped"].map(|out| folder.join(out).join("shard-000000.parquet"));
    assert_eq!(fs::read(calm).unwrap(), fs::read(stopped).unwrap());
    let left: Vec<_> =
        fs::read_dir(folder.join("stopped")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "the shard, the manifest and the lock: {left:?}");
}

/// Ctrl-C ends self-play in the middle of a shard that would take for ever, and the next run has its games.
#[test]
fn a_stopped_selfplay_keeps_the_finished_games() {
    let mavis = program();
    let line =
        "data selfplay --game connect4 --random-plies 30 -n 10000000 --shard-size 10000000 --json --out c4";
    let mut n_kept = 0;
    for _ in 0..2 {
        let mut child = mavis.command(line).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first: serde_json::Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert!(first["done"].as_u64().unwrap() > n_kept, "{first} after {n_kept} games");
        signal("-INT", child.id());
        let last: serde_json::Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(last["event"], "stopped", "{last}");
        n_kept = 10_000_000 - last["left"].as_u64().unwrap();
        assert!(n_kept > 0, "{last}");
    }
}

/// The folder stays free for the same command with the right oracle.
#[test]
fn an_oracle_of_another_game_is_refused_before_anything_is_written() {
    let mavis = program();
    mavis.write("one.pgn", "1. e4 e5 2. Nf3 *\n");
    mavis.run("data import one.pgn --out chess.parquet");
    mavis.write("late.txt", "......./x..x..o/oo.xo.o/xxooxox/oxxxoox/xooxxxo o\n");
    mavis.run("data import late.txt --format positions --game connect4 --out c4.parquet");
    for (line, part) in [
        ("data selfplay --game othello -n 2 --oracle net:hex7", "does not evaluate othello"),
        ("data annotate chess.parquet --oracle connect4", "connect4-solver does not evaluate chess"),
        ("data annotate chess.parquet --oracle player:probs:hex7", "does not evaluate chess"),
        ("data traces c4.parquet --oracle othello", "othello-alphabeta does not evaluate connect4"),
    ] {
        mavis.check_bad(&format!("{line} --out wrong"), part);
        assert!(!mavis.folder().join("wrong").exists(), "{line}");
    }
    // One row of its game is enough.
    mavis.run("data annotate chess.parquet c4.parquet --oracle connect4 --out mixed");
}

#[test]
fn three_commands_lead_from_games_to_a_split_table() {
    let mavis = program();
    let folder = mavis.folder();
    sample(folder, "tcec_standard_sample.pgn");
    let games = fs::read_to_string(folder.join("tcec_standard_sample.pgn")).unwrap();
    // The shortest two games will do.
    let mut games: Vec<String> =
        games.split("[Event ").skip(1).map(|game| format!("[Event {game}")).collect();
    games.sort_by_key(String::len);
    mavis.write("games.pgn", games[..2].concat());
    let imported = mavis.stdout("data import games.pgn --out positions.parquet --json");
    assert!(imported.contains("\"games\":2"), "{imported}");
    mavis.run("data annotate positions.parquet --oracle stockfish:nodes=5000 --jobs 2 --out annotated");
    let split = mavis.stdout(
        "data split annotated --train train.parquet --valid valid.parquet --share 0.5 --seed 1 --json",
    );
    let split: serde_json::Value = serde_json::from_str(&split).unwrap();
    let n_rows =
        |table: &str| mavis.stdout(&format!("data export {table} --format jsonl")).lines().count() as u64;
    assert_eq!(split["train"].as_u64(), Some(n_rows("train.parquet")));
    assert_eq!(split["valid"].as_u64(), Some(n_rows("valid.parquet")));
    assert_eq!(
        n_rows("annotated"),
        n_rows("train.parquet") + n_rows("valid.parquet") + split["shared"].as_u64().unwrap()
    );
}

#[test]
fn a_league_becomes_a_table_and_pgn_again() {
    let mavis = program();
    mavis.write(
        "c.toml",
        "name = 'six'\ngame = 'othello'\nopenings.random_plies = 2\nschedule.pairs = 2\n\
         players = [{ player = 'random' }, { player = 'lookahead:1' }]",
    );
    mavis.run("league run --config c.toml --out league");
    let counts = mavis.stdout("data import league --out positions.parquet --games games.parquet --json");
    assert!(counts.contains("\"games\":4") && counts.contains("\"refused\":0"), "{counts}");
    let rows = mavis.stdout("data export games.parquet --format jsonl");
    assert_eq!(rows.matches("\"termination\":\"rules\"").count(), 4, "{rows}");
    mavis.run("data export games.parquet --format pgn --out games.pgn");
    mavis.run("data import games.pgn --games again.parquet");
    let moves = |text: &str| -> Vec<serde_json::Value> {
        let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.map(|row| serde_json::json!([row["game_id"], row["moves"], row["result"]])).collect()
    };
    assert_eq!(moves(&mavis.stdout("data export again.parquet --format jsonl")), moves(&rows));
    for (line, part) in [
        ("data import . --games x.parquet", "a folder without a league"),
        ("data export positions.parquet --format pgn", "expected a table of games, got positions"),
    ] {
        let output = mavis.command(line).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), error.contains(part)), (Some(2), true), "{error}");
    }
}

#[test]
fn games_come_from_standard_input_whole() {
    let mavis = program();
    sample(mavis.folder(), "tcec_standard_sample.pgn");
    let counts = mavis.stdout("data import tcec_standard_sample.pgn --out file.parquet --json");
    let output = mavis
        .command("data import - --out pipe.parquet --json")
        .stdin(fs::File::open(mavis.folder().join("tcec_standard_sample.pgn")).unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), counts);
}

#[test]
fn connect_four_plays_itself_the_same_way_whatever_the_threads() {
    let mavis = program();
    // Late positions are solved in no time.
    let start = "......./x..x..o/oo.xo.o/xxooxox/oxxxoox/xooxxxo o";
    let play = |out: &str, jobs: u32| {
        let line = format!(
            "data selfplay --game connect4 --n-games 30 --seed 3 --shard-size 7 --jobs {jobs} --out {out} --position"
        );
        let output = mavis.command(&line).arg(start).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    play("one", 1);
    play("three", 3);
    for table in ["games", "annotations"] {
        let [one, three] =
            ["one", "three"].map(|job| mavis.stdout(&format!("data export {job}/{table} --format jsonl")));
        assert_eq!(one, three);
        assert!(one.lines().count() >= 30);
    }
    let games = mavis.stdout("data export one/games --format jsonl");
    let first: serde_json::Value = serde_json::from_str(games.lines().next().unwrap()).unwrap();
    assert!(first["result"].is_string());
    let unique = mavis.stdout("data unique one/annotations --out unique.parquet --json");
    assert!(unique.contains("\"kept\""), "{unique}");
}

/// Traces of positions and of games, killed after the first shard and resumed: byte for byte those of a run that was not.
#[test]
fn traces_survive_a_killed_program_and_are_the_same_for_a_seed() {
    let mavis = program();
    let folder = mavis.folder();
    mavis.run("data selfplay --game connect4 -n 200 --random-plies 20 --epsilon 0.9 --seed 3 --out c4");
    let traces = |out: &str| {
        format!(
            "data traces c4/annotations --roots 600 --oracle connect4 --jobs 2 --shard-size 8 --seed 5 --json --out {out}"
        )
    };
    let done = mavis.stdout(&traces("calm"));
    assert!(done.lines().last().unwrap().contains("\"event\":\"done\",\"left\":0"), "{done}");
    let mut child = mavis.command(&traces("stormy")).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // A shard is announced before the manifest names it, so the first is safe once the second is announced.
    assert_eq!(lines.by_ref().filter(|line| line.contains("\"event\":\"shard\"")).take(2).count(), 2);
    kill(child.id());
    child.wait().unwrap();
    let manifest = fs::read_to_string(folder.join("stormy/manifest.json")).unwrap();
    assert!((1..75).contains(&manifest.matches("\"number\"").count()), "stopped in the middle");
    mavis.check_bad(&traces("stormy").replace("--seed 5", "--seed 6"), "holds another job: seed");
    mavis.run(&traces("stormy"));
    for file in fs::read_dir(folder.join("calm")).unwrap().map(|entry| entry.unwrap().path()) {
        let other = folder.join("stormy").join(file.file_name().unwrap());
        assert_eq!(fs::read(&file).unwrap(), fs::read(&other).unwrap(), "{}", file.display());
    }
    let games = mavis.stdout("data traces c4/games --roots 5 --model bundled --sizes 2x1 --json --out games");
    assert!(games.lines().last().unwrap().contains("\"traces\":5"), "{games}");
    let counted = mavis.stdout("data stats games");
    assert!(counted.starts_with("5 rows of traces\n  game connect4: 5\n"), "{counted}");
    assert!(counted.contains("  size 2x1: 5\n") && counted.ends_with(" tokens\n"), "{counted}");
    mavis.check_bad("data export games --format jsonl", "got traces");
    let bad = |options: &str, reason: &str| {
        mavis.check_bad(&format!("data traces c4/annotations --out bad {options}"), reason);
    };
    bad(
        "--context 100",
        "a context of 100 tokens is too small: the smallest trace of connect4, breadth 2 and depth 1",
    );
    bad("--sizes 3", "bad size '3' (expected BREADTHxDEPTH");
    bad("--top 0", "bad --top '0'");
    bad("--roots 0", "invalid value '0' for '--roots <ROOTS>'");
    bad("--compact 2", "--compact must be between 0 and 1, not 2");
    bad("--model missing.safetensors", "missing.safetensors");
    mavis.check_bad("data traces missing.parquet --out bad", "missing.parquet");
    assert!(!folder.join("bad").exists());
}

#[test]
fn bad_tables_are_one_line_and_code_2() {
    let mavis = program();
    mavis.write("text.parquet", "no table");
    mavis.write("games.pgn", "1. e4 *\n");
    mavis.check_bad("data unique none.parquet --out x.parquet", "none.parquet");
    mavis.check_bad("data stats text.parquet", "text.parquet");
    // The Parquet library panics at both; the first, in the footer, does not get so far.
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/table/positions");
    for (at, byte) in [(901, 10), (757, 97)] {
        let mut bytes = fs::read(&table).unwrap();
        bytes[at] = byte;
        fs::write(mavis.folder().join("damaged.parquet"), bytes).unwrap();
        mavis.check_bad("data stats damaged.parquet", "is damaged");
    }
    mavis.check_bad("data import games.pgn", "--out");
    mavis.check_bad("data import none.pgn --out x.parquet", "none.pgn");
    mavis.write("lc.csv", "id,Moves\n1,e4 e5\n");
    let line = "data import lc.csv --format lichess-csv --out x.parquet";
    mavis.check_bad(line, "lc.csv: the header has no column 'moves_san'");
    mavis.check_bad("data annotate games.pgn --oracle nobody --out x", "unknown oracle 'nobody'");
    mavis.run("data import games.pgn --games games.parquet");
    mavis.check_bad("data unique games.parquet --out x.parquet", "got games");
    mavis.run("data import games.pgn --out positions.parquet");
    mavis.check_bad(
        "data annotate positions.parquet --oracle player:mcts:sims=5 --out games.pgn",
        "games.pgn: File exists",
    );
    mavis.check_bad("data split text.parquet --train a --valid b --share 2", "--share");
}

#[test]
fn an_export_that_fails_leaves_the_old_file() {
    let mavis = program();
    let line = "data selfplay --game connect4 --n-games 1 --seed 3 --out made --position";
    let start = "......./x..x..o/oo.xo.o/xxooxox/oxxxoox/xooxxxo o";
    assert!(mavis.command(line).arg(start).output().unwrap().status.success());
    mavis.write("old", "old");
    // A bag holds no Connect Four, and PGN no annotations.
    for format in ["bag", "pgn"] {
        for out in ["old", "new"] {
            let line = format!("data export made/annotations --format {format} --out {out}");
            assert!(!mavis.output(&line).status.success(), "{line}");
        }
        assert_eq!(fs::read_to_string(mavis.folder().join("old")).unwrap(), "old", "{format}");
        assert!(!mavis.folder().join("new").exists(), "{format}");
    }
    mavis.check_bad("data export made/annotations --format tsv --out none/new", "cannot write none/new");
    mavis.run("data export made/annotations --format tsv --out old");
    assert!(fs::read_to_string(mavis.folder().join("old")).unwrap().starts_with("game\t"));
    let mut left = fs::read_dir(mavis.folder()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.all(|name| !name.to_string_lossy().ends_with(".partial")));
}

#[test]
fn tablebases_annotate_endings_and_set_the_rest_aside() {
    let mavis = program();
    let endings =
        "8/8/8/3k4/8/8/8/KR6 w - - 0 1\n8/8/8/8/8/5k2/8/KQ4q1 w - - 0 1\n8/8/8/3k1r2/8/8/8/KQ6 w - - 0 1\n";
    mavis.write("endings.epd", endings);
    mavis.run("data import endings.epd --out endings.parquet");
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracle/tests/data/syzygy");
    let annotate =
        format!("data annotate endings.parquet --oracle syzygy:{} --out solved --json", tables.display());
    let done = mavis.stdout(&annotate);
    assert!(done.lines().last().unwrap().contains("\"aside\":1"), "{done}");
    let rows = mavis.stdout("data export solved --format jsonl");
    let values: Vec<f64> = rows
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64().unwrap())
        .collect();
    assert_eq!(values, [1.0, 1.0]);
    mavis.check_bad("data annotate endings.parquet --oracle syzygy:none --out x", "none");
    mavis.check_bad("data annotate endings.parquet --oracle syzygy --out x", "expected syzygy:DIR");
    mavis.check_bad("data annotate endings.parquet --oracle net --out x", "expected net:NAME or net:FILE");
    mavis.check_bad("data annotate endings.parquet --oracle net:none --out x", "none");
    mavis.check_bad(
        "data annotate endings.parquet --oracle net:none,sims=0 --out x",
        "bad value '0' for sims",
    );
}

/// A student can be taught by a search over its own model.
#[test]
fn a_player_annotates_what_it_searches() {
    let mavis = program();
    mavis.write("games.txt", "44435\n");
    mavis.run("data import games.txt --format connect4 --out positions.parquet");
    for (oracle, out) in
        [("player:mav-mcts:sims=20", "a"), ("player:mav-mcts:sims=20", "b"), ("player:mav", "c")]
    {
        mavis.run(&format!("data annotate positions.parquet --oracle {oracle} --out {out}"));
    }
    let rows = |out: &str| mavis.stdout(&format!("data export {out} --format jsonl"));
    assert_eq!(rows("a"), rows("b"));
    assert_ne!(rows("a"), rows("c"));
    assert!(rows("a").contains("player mav-mcts:sims=20"));
    let annotate = "data annotate positions.parquet --out x --oracle";
    mavis.check_bad(&format!("{annotate} player"), "expected player:LINE");
    mavis.check_bad(&format!("{annotate} player:nobody"), "nobody");
    mavis.check_bad(&format!("{annotate} player:mav-mcts,sims=3"), "player:{LINE,sims=VALUE}");
    let refused = mavis.command(&format!("{annotate} player:random")).output().unwrap();
    let reason = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && reason.contains("has no value for the move"), "{reason}");
}

#[test]
fn an_htp_engine_annotates_hex() {
    let mavis = program();
    mavis.write("games.txt", "a1 b2 c3 a2\n");
    mavis.run("data import games.txt --format hex --game hex:size=3 --out positions.parquet");
    let us = env!("CARGO_BIN_EXE_mavis");
    let annotate = |oracle: &str, out: &str| {
        let mut command = mavis.command(&format!("data annotate positions.parquet --out {out} --json"));
        let output = command.args(["--oracle", oracle]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        mavis.stdout(&format!("data export {out} --format jsonl"))
    };
    // Our own engine in another process gives the values it gives in this one.
    let htp = format!("htp:{us},args={{gtp --game hex --player oracle:nodes=500}},rates=mavis-values");
    let values = |rows: &str| -> Vec<f64> {
        let rows = rows.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.filter_map(|row| row["value"].as_f64()).map(|value| (100.0 * value).round()).collect()
    };
    let (child, here) = (annotate(&htp, "child"), annotate("hex:playouts=500", "here"));
    assert_eq!(values(&child), values(&here));
    assert!(values(&here).len() >= 4, "{here}");
    mavis.check_bad("data annotate positions.parquet --oracle htp:none,rates=x --out x", "'none' not found");
    mavis.check_bad(&format!("data annotate positions.parquet --oracle htp:{us} --out x"), "needs winning=");
}

#[test]
fn a_bench_of_data_measures_every_part() {
    let mavis = program();
    let text = mavis.stdout("bench data --positions 20 --rounds 1 --json");
    let bench: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(bench["pool"]["ratio"].as_f64().unwrap() > 0.0, "{text}");
    assert!(
        bench["import"]["games"] == 2000 && bench["import"]["positions"].as_u64() > Some(100_000),
        "{text}"
    );
    for set in bench["solver"].as_array().unwrap() {
        assert_eq!((&set["positions"], &set["wrong"]), (&1000.into(), &0.into()), "{set}");
        let nodes = |name: &str| set[name].as_f64().unwrap();
        assert!(nodes("nodes_per_position") < nodes("pons_nodes_per_position"), "{set}");
        // Of Pons' solver there is only what is the same on every machine, under its own name: no time.
        let given: Vec<&String> =
            set.as_object().unwrap().keys().filter(|key| key.contains("pons")).collect();
        assert_eq!(given, ["pons_nodes_per_position"], "{set}");
        assert_eq!(set.as_object().unwrap().keys().filter(|key| key.contains("seconds")).count(), 1, "{set}");
    }
    // Ten times the input needs no more memory, but for what is counted by the row group.
    for peak in bench["memory"].as_array().unwrap() {
        let mebibytes = |place: usize| peak["mebibytes"][place].as_f64().unwrap();
        assert!(mebibytes(1) < 1.5 * mebibytes(0), "{peak}");
    }
}

/// Bags as an independent reader of the published layout sees them.
#[test]
fn bags_are_read_back_by_an_independent_reader() {
    let mavis = program();
    let folder = mavis.folder();
    mavis.write("games.pgn", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O *\n");
    mavis.run("data import games.pgn --out positions.parquet");
    mavis.run("data annotate positions.parquet --oracle stockfish:nodes=5000 --jobs 1 --out annotated");
    let jsonl = mavis.stdout("data export annotated --format jsonl");
    let rows: Vec<serde_json::Value> =
        jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let number = |value: &serde_json::Value| value.as_f64().unwrap() as f32;
    let mut expected: [Vec<(String, String, f32)>; 3] = Default::default();
    for row in &rows {
        let fen = text(&row["position"]);
        expected[0].push((fen.clone(), String::new(), number(&row["value"])));
        expected[2].push((fen.clone(), text(&row["best"]), 0.0));
        for judged in row["moves"].as_array().unwrap() {
            expected[1].push((fen.clone(), text(&judged["move"]), number(&judged["win_probability"])));
        }
    }
    for (kind, expected) in ["state-value", "action-value", "behavioral-cloning"].into_iter().zip(expected) {
        for ending in ["bag", "bagz"] {
            let out = format!("{kind}.{ending}");
            mavis.run(&format!("data export annotated --format bag --kind {kind} --out {out}"));
            assert_eq!(independent_reader(&folder.join(&out), kind), expected, "{out}");
        }
        // What we wrote we can read as well.
        let imported = mavis.stdout(&format!("data import {kind}.bagz --out {kind}.parquet --json"));
        assert!(imported.contains("\"positions\":8,\"refused\":0"), "{imported}");
    }
    let again = mavis.stdout("data export action-value.parquet --format tsv");
    let first = mavis.stdout("data export annotated --format tsv");
    let moves = |tsv: &str| {
        let mut moves: Vec<String> = tsv
            .lines()
            .flat_map(|line| {
                line.split('\t').next_back().unwrap().split(' ').map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        moves.sort();
        moves
    };
    assert_eq!(moves(&again), moves(&first));
}

/// Written from the published layout alone: end offsets behind the records, varint strings, big-endian doubles.
fn independent_reader(path: &PathBuf, kind: &str) -> Vec<(String, String, f32)> {
    let bytes = fs::read(path).unwrap();
    let offset = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let index = offset(bytes.len() - 8);
    let mut start = 0;
    (index..bytes.len())
        .step_by(8)
        .map(|at| {
            let record = &bytes[std::mem::replace(&mut start, offset(at))..offset(at)];
            let record = match path.extension().unwrap().to_str() {
                Some("bagz") => zstd::decode_all(record).unwrap(),
                _ => record.to_vec(),
            };
            // FENs and moves are shorter than 128 bytes, so a length is one byte.
            let fen_end = 1 + usize::from(record[0]);
            let fen = String::from_utf8(record[1..fen_end].to_vec()).unwrap();
            let double = |bytes: &[u8]| f64::from_be_bytes(bytes.try_into().unwrap()) as f32;
            match kind {
                "state-value" => (fen, String::new(), double(&record[fen_end..])),
                "behavioral-cloning" => (fen, String::from_utf8(record[fen_end..].to_vec()).unwrap(), 0.0),
                _ => {
                    let move_end = fen_end + 1 + usize::from(record[fen_end]);
                    let mv = String::from_utf8(record[fen_end + 1..move_end].to_vec()).unwrap();
                    (fen, mv, double(&record[move_end..]))
                }
            }
        })
        .collect()
}
