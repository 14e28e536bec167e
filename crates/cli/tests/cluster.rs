//! Jobs on real queue servers: the tables and leagues of one machine, whatever dies on the way.
#![allow(clippy::unwrap_used, reason = "a panic is the failure a test wants to show")]

use mavis_queue::cluster::{Access, QueueSettings, Status};
use mavis_queue::{Cluster, Needs};
use mavis_testkit::{NatsServer, Program};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const GAMES: &str = include_str!("../../../samples/games.pgn");

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_mavis"))
}

/// A program of a test, killed when the test ends.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Every file of a folder by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(100), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn annotations_of_a_cluster_are_those_of_one_machine() {
    let server = NatsServer::start("authorization { token: secret }");
    let mavis = program();
    let queue = server.url();
    mavis.write("games.pgn", GAMES);
    mavis.write("engines.toml", "token = 'secret'\n");
    mavis.run("data import games.pgn --out positions.parquet");
    let annotate = "data annotate positions.parquet --oracle stockfish:nodes=200 --shard-size 100";
    mavis.run(&format!("{annotate} --out here"));
    mavis.check_bad(&format!("queue status --queue {queue}"), "refused the credentials");
    let worker =
        mavis.command(&format!("worker --queue {queue} --queue-config engines.toml --name one -j 2"));
    let mut worker = Running::start(&mut { worker });
    let there = format!("{annotate} --out there --cluster {queue} --queue-config engines.toml --job-size 7");
    let answer = mavis.stdout(&there);
    assert_eq!(files(&mavis.folder().join("there")), files(&mavis.folder().join("here")), "{answer}");
    // A result is there a moment before its job is confirmed.
    wait_until("every job is confirmed", || {
        let status = mavis.stdout(&format!("queue status --queue {queue} --queue-config engines.toml"));
        status.contains("0 waiting, 0 in work, 0 set aside; 1 able workers")
    });
    let workers = mavis.stdout(&format!("queue workers --queue {queue} --queue-config engines.toml --json"));
    let workers: serde_json::Value = serde_json::from_str(&workers).unwrap();
    assert_eq!(workers[0]["name"], "one", "{workers}");
    assert!(workers[0]["offer"]["engines"]["stockfish"].as_str().unwrap().starts_with("Stockfish"));
    mavis.check_bad(
        &format!("data annotate positions.parquet --oracle uci:./stockfish --out x --cluster {queue} --queue-config engines.toml"),
        "stockfish",
    );
    worker.kill();
}

#[test]
fn what_goes_wrong_at_one_place_shows_and_the_rest_continues() {
    let server = NatsServer::start("");
    let mavis = program();
    let queue = server.url();
    mavis.write("games.pgn", GAMES);
    mavis.run("data import games.pgn --out positions.parquet");
    // Positions that the oracle cannot judge.
    mavis.write("hex.txt", "a1 b2 c3\na2 b1 c1\n");
    mavis.run("data import hex.txt --format hex --game hex:size=3 --out bad.parquet");
    let annotate =
        "data annotate positions.parquet bad.parquet --oracle stockfish:nodes=100 --shard-size 1000";
    mavis.run(&format!("{annotate} --out here"));
    // Another program under the name of the engine: its jobs wait, and the status says for what.
    let binary = env!("CARGO_BIN_EXE_mavis");
    let other = mavis.folder().join("other");
    mavis_testkit::install_script(&other, &format!("exec {binary} uci --player random"));
    let worker = format!("worker --queue {queue} --name odd --engine stockfish={}", other.display());
    let odd = Running::start(&mut mavis.command(&worker));
    let there = format!("{annotate} --out there --cluster {queue} --job-size 16");
    // The disk of the collector is full after eight kilobytes.
    let limited = format!("trap '' XFSZ; ulimit -f 16; exec {binary} {there}");
    let mut collector = Command::new("sh");
    collector.args(["-c", &limited]).current_dir(mavis.folder()).env("PATH", mavis_testkit::engine_path());
    let collector = collector.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = || mavis.stdout(&format!("queue status --queue {queue}"));
    wait_until("the status says why nobody can run it", || {
        let status = status();
        status.contains("nobody can run annotate") && status.contains("odd: stockfish = Mavis")
    });
    drop(odd);
    let _worker = Running::start(&mut mavis.command(&format!("worker --queue {queue} --name even")));
    let output = collector.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("too large"), "{message}");
    // With room again it continues, and what is done is not done again.
    let done = mavis.stdout(&there);
    assert!(done.contains("set aside") && !done.contains(" 0 set aside"), "{done}");
    assert_eq!(files(&mavis.folder().join("there")), files(&mavis.folder().join("here")));
}

/// Three servers that keep everything three times, and what a test does to them.
struct Storm {
    servers: Vec<NatsServer>,
    mavis: Program,
    watcher: Cluster,
    workers: Vec<Running>,
}

impl Storm {
    fn start() -> Self {
        let servers = NatsServer::cluster(3);
        let mavis = program();
        let urls: Vec<String> = servers.iter().map(NatsServer::url).collect();
        mavis.write("queue.toml", format!("servers = {urls:?}\nreplicas = 3\nlease = 3\nattempts = 20\n"));
        let settings = QueueSettings { replicas: Some(3), ..QueueSettings::default() };
        let watcher =
            Cluster::connect(&Access::to(&urls.join(",")), settings, Needs::version("none")).unwrap();
        let mut storm = Self { servers, mavis, watcher, workers: Vec::new() };
        storm.add_worker("one");
        storm.add_worker("two");
        storm
    }

    fn add_worker(&mut self, name: &str) {
        let line = format!("worker --queue-config queue.toml --jobs 1 --name {name}");
        self.workers.push(Running::start(&mut self.mavis.command(&line)));
    }

    fn status(&self) -> Status {
        self.watcher.status().unwrap()
    }

    /// Runs a command that collects, and kills a worker, a server and the collector while it does.
    fn collect(&mut self, line: &str) {
        let before = self.status().n_results;
        let mut collector = Running::start(&mut self.mavis.command(line));
        let results =
            |storm: &Self, n: u64| wait_until("results come", || storm.status().n_results >= before + n);
        results(self, 5);
        self.workers.remove(0).kill();
        self.add_worker("another");
        results(self, 10);
        self.servers[0].kill();
        assert!(collector.0.try_wait().unwrap().is_none(), "the collector is killed in the middle");
        collector.kill();
        // What was done is found, what is in work is waited for.
        let output = self.mavis.output(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        self.servers[0].restart();
        wait_until("nothing is left on the queue", || {
            let status = self.status();
            assert_eq!(status.aside, []);
            status.classes.iter().all(|class| class.n_waiting == 0 && class.n_in_work == 0)
        });
    }
}

#[test]
fn deaths_of_workers_servers_and_collectors_change_nothing_in_a_table() {
    let mut storm = Storm::start();
    let mavis = &storm.mavis;
    for name in ["tcec_standard_sample.pgn", "tcec_frc_dfrc_sample.pgn"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../game/tests/data").join(name);
        std::fs::copy(source, mavis.folder().join(name)).unwrap();
    }
    mavis.run("data import tcec_standard_sample.pgn tcec_frc_dfrc_sample.pgn --out all.parquet");
    mavis.run("data sample all.parquet -n 2000 --seed 5 --out some.parquet");
    let annotate = "data annotate some.parquet --oracle stockfish:nodes=4000 --shard-size 600";
    mavis.run(&format!("{annotate} --out here"));
    storm.collect(&format!("{annotate} --out there --queue-config queue.toml --job-size 8"));
    let folder = storm.mavis.folder();
    assert_eq!(files(&folder.join("there")), files(&folder.join("here")));
}

/// A league's games by number, without the times.
fn games(folder: &Path) -> BTreeMap<u64, serde_json::Value> {
    let text = std::fs::read_to_string(folder.join("games.jsonl")).unwrap();
    let mut games = BTreeMap::new();
    for line in text.lines() {
        let mut game: serde_json::Value = serde_json::from_str(line).unwrap();
        game.as_object_mut().unwrap().remove("finished");
        for made in game["moves"].as_array_mut().unwrap() {
            made.as_object_mut().unwrap().remove("t");
        }
        let number = game["game"].as_u64().unwrap();
        assert!(games.insert(number, game).is_none(), "game {number} is there twice");
    }
    games
}

#[test]
fn deaths_of_workers_servers_and_collectors_change_nothing_in_a_league() {
    let mut storm = Storm::start();
    storm.mavis.write(
        "league.toml",
        "name = 'storm'\ngame = 'connect4'\nseed = 3\n[schedule]\npairs = 10\n[openings]\nrandom_plies = 2\n\
         [[players]]\nplayer = 'mcts:sims=70000'\n[[players]]\nplayer = 'lookahead:3'\n\
         [[players]]\nplayer = 'mcts:sims=30000'\n",
    );
    storm.mavis.run("league run --config league.toml --out here");
    storm.collect("league run --config league.toml --out there --queue-config queue.toml");
    let folder = storm.mavis.folder();
    let here = games(&folder.join("here"));
    assert_eq!(here.len(), 60);
    assert_eq!(games(&folder.join("there")), here);
    let table = |out: &str| storm.mavis.stdout(&format!("league table {out}"));
    assert_eq!(table("there"), table("here"));
}

#[test]
fn a_worker_with_the_file_plays_for_a_player_with_weights_of_its_own() {
    let server = NatsServer::start("");
    let (mavis, queue) = (program(), server.url());
    mavis.run("probs train --game connect4 --rounds 1 --set games=8 --set expansions=4 --set evaluation.games=2 --out run");
    mavis.write(
        "league.toml",
        "name = 'weights'\ngame = 'connect4'\nseed = 3\n[schedule]\npairs = 2\n\
         [[players]]\nplayer = 'probs:run/model.safetensors'\n[[players]]\nplayer = 'lookahead:1'\n",
    );
    mavis.run("league run --config league.toml --out here");
    let without = Running::start(&mut mavis.command(&format!("worker --queue {queue} --name without")));
    let league = format!("league run --config league.toml --out there --cluster {queue}");
    let mut collector = mavis.command(&league);
    let collector = collector.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the status says what is missing", || {
        let status = mavis.stdout(&format!("queue status --queue {queue}"));
        status.contains("nobody can run game") && status.contains("without: no model")
    });
    // The same content under another name.
    std::fs::copy(mavis.folder().join("run/model.safetensors"), mavis.folder().join("other.safetensors"))
        .unwrap();
    let with = format!("worker --queue {queue} --name with --model other.safetensors");
    let _with = Running::start(&mut mavis.command(&with));
    let output = collector.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(without);
    let here = games(&mavis.folder().join("here"));
    assert_eq!(here.len(), 4);
    assert_eq!(games(&mavis.folder().join("there")), here);
}

#[test]
fn clocks_that_differ_by_an_hour_change_nothing() {
    let server = NatsServer::start("");
    let (mavis, queue) = (program(), server.url());
    mavis.write("games.pgn", GAMES);
    mavis.run("data import games.pgn --out positions.parquet");
    let annotate = "data annotate positions.parquet --oracle stockfish:nodes=100";
    mavis.run(&format!("{annotate} --out here"));
    let at = |offset: &str, line: &str| {
        let mut command = mavis.command(line);
        command.env("LD_PRELOAD", mavis_testkit::fake_time()).env("FAKETIME", offset);
        // Time that only runs forward is not what a wrong clock shows.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        command
    };
    let _late = Running::start(&mut at("-1h", &format!("worker --queue {queue} --name late -j 1")));
    let _early = Running::start(&mut at("+1h", &format!("worker --queue {queue} --name early -j 1")));
    wait_until("both are there", || {
        let status = mavis.stdout(&format!("queue status --queue {queue}"));
        status.contains("2 workers")
    });
    mavis.run(&format!("{annotate} --out there --cluster {queue} --job-size 4"));
    assert_eq!(files(&mavis.folder().join("there")), files(&mavis.folder().join("here")));
}
