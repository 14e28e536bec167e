//! The queue on a real server: results, deaths, failures, refusals.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_queue::cluster::{Access, QueueSettings, WorkerEvent, WorkerSettings, work};
use mavis_queue::{
    Beat, Cluster, JobKind, Local, Needs, Offer, PROTOCOL, Queue, QueueError, Runner, Stations, read_json,
    write_json,
};
use mavis_testkit::NatsServer;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Numbers in, lines of so many letters out.
enum Lines {}

impl JobKind for Lines {
    const NAME: &'static str = "lines";
    type Input = u64;
    type Output = String;

    fn write_input(input: &u64) -> Vec<u8> {
        write_json(input)
    }

    fn read_input(bytes: &[u8]) -> Result<u64, String> {
        read_json(bytes)
    }

    fn write_output(output: &String) -> Vec<u8> {
        output.clone().into_bytes()
    }

    fn read_output(bytes: &[u8]) -> Result<String, String> {
        String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
    }
}

/// What a runner does beside its work.
#[derive(Clone, Default)]
struct Writer {
    n_run: Arc<AtomicU64>,
    /// Raised to let jobs fail.
    broken: Arc<AtomicBool>,
    /// Raised to let jobs take their time.
    slow: Arc<AtomicBool>,
}

impl Runner<Lines> for Writer {
    fn run(&mut self, input: u64, beat: &Beat) -> Result<String, String> {
        self.n_run.fetch_add(1, Ordering::Relaxed);
        beat.progress();
        while self.slow.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        if input == 13 && self.broken.load(Ordering::Relaxed) {
            return Err("thirteen\nis broken".to_owned());
        }
        Ok(line(input))
    }
}

/// Some are long and hard to pack, so that they travel as objects.
fn line(input: u64) -> String {
    let n = if input.is_multiple_of(10) { 400_000 } else { 20 };
    let mut state = input;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 57) as u8 % 90)
    };
    (0..n).map(|_| letter()).collect()
}

fn settings() -> QueueSettings {
    QueueSettings { lease: Duration::from_secs(2), attempts: 3, window: 40, ..QueueSettings::default() }
}

fn connect(server: &NatsServer) -> Cluster {
    connect_to(&server.url())
}

fn connect_to(url: &str) -> Cluster {
    Cluster::connect(&Access::to(url), settings(), Needs::version("1.0")).unwrap()
}

/// A wire to a server that can be cut.
struct Wire {
    port: u16,
    cut: Arc<AtomicBool>,
}

impl Wire {
    fn to(server: &NatsServer) -> Self {
        let target = server.url().trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (port, cut) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
        let state = Arc::clone(&cut);
        thread::spawn(move || {
            for inside in listener.incoming().map_while(Result::ok) {
                if state.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(outside) = TcpStream::connect(&target) else { continue };
                for (mut from, mut to) in
                    [(inside.try_clone().unwrap(), outside.try_clone().unwrap()), (outside, inside)]
                {
                    let state = Arc::clone(&state);
                    from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                    thread::spawn(move || pass(&mut from, &mut to, &state));
                }
            }
        });
        Self { port, cut }
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

/// Passes bytes on until the wire is cut.
fn pass(from: &mut TcpStream, to: &mut TcpStream, cut: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while !cut.load(Ordering::Relaxed) {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if to.write_all(&buffer[..n]).is_ok() => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    // The other side notices by itself if it is gone already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A worker on threads of this process.
struct TestWorker {
    drain: Arc<AtomicBool>,
    events: mpsc::Receiver<WorkerEvent>,
    thread: JoinHandle<u64>,
}

impl TestWorker {
    fn start(server: &NatsServer, name: &str, mavis: &str, writer: &Writer) -> Self {
        Self::start_at(&server.url(), name, mavis, writer)
    }

    fn start_at(url: &str, name: &str, mavis: &str, writer: &Writer) -> Self {
        let (cluster, writer) = (connect_to(url), writer.clone());
        let mut stations = Stations::default();
        stations.add::<Lines, Writer>(move || writer.clone());
        let offer = Offer {
            protocol: PROTOCOL,
            mavis: mavis.to_owned(),
            cores: 2,
            kinds: stations.kinds().map(str::to_owned).collect(),
            games: Default::default(),
            engines: Default::default(),
            models: Default::default(),
            gpu: None,
        };
        let drain = Arc::new(AtomicBool::new(false));
        let stall = Duration::from_secs(60);
        let settings = WorkerSettings { name: name.to_owned(), offer, stations, drain: drain.clone(), stall };
        let (sender, events) = mpsc::channel();
        let thread = thread::spawn(move || {
            let watch = |event| drop(sender.send(event));
            work(&cluster, settings, watch).unwrap().n_done
        });
        Self { drain, events, thread }
    }

    /// Lets it finish what it has; how many jobs it did.
    fn end(self) -> u64 {
        self.drain.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn collect(queue: &mut impl Queue<Lines>, n: u64) -> Result<Vec<(u64, String)>, QueueError> {
    let mut lines = Vec::new();
    let jobs = (0..n).map(|number| Ok((number, number)));
    queue.run(jobs, |number, line| {
        lines.push((number, line));
        Ok::<(), QueueError>(())
    })?;
    Ok(lines)
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_cluster_gives_what_one_process_gives_and_runs_no_job_twice() {
    let server = NatsServer::start("");
    let here = collect(&mut Local::new(vec![Writer::default(), Writer::default()]), 100).unwrap();
    assert_eq!(here.len(), 100);
    let writer = Writer::default();
    let workers = ["one", "two"].map(|name| TestWorker::start(&server, name, "1.0", &writer));
    let mut cluster = connect(&server);
    assert_eq!(collect(&mut cluster, 100).unwrap(), here);
    // Submitted again, by another collector and with more: only what is new is run.
    assert_eq!(collect(&mut connect(&server), 120).unwrap()[..100], here);
    assert_eq!(writer.n_run.load(Ordering::Relaxed), 120);
    let status = cluster.status().unwrap();
    assert_eq!((status.n_results, status.workers.len(), status.classes.len()), (120, 2, 1));
    assert_eq!(
        (status.classes[0].n_waiting, &status.classes[0].able),
        (0, &vec!["one".into(), "two".into()])
    );
    assert_eq!(workers.map(TestWorker::end).iter().sum::<u64>(), 120);
    // Workers that end say so.
    assert_eq!(cluster.status().unwrap().workers, []);
    // A purge forgets results, and what they were.
    cluster.purge(None, true).unwrap();
    let status = cluster.status().unwrap();
    assert_eq!((status.n_results, status.result_bytes, status.classes.len()), (0, 0, 0));
}

#[test]
fn two_workers_of_one_name_are_two_workers() {
    let server = NatsServer::start("");
    let writer = Writer::default();
    let [first, second] = [(); 2].map(|()| TestWorker::start(&server, "one", "1.0", &writer));
    let mut cluster = connect(&server);
    assert_eq!(collect(&mut cluster, 20).unwrap().len(), 20);
    let names = |cluster: &Cluster| -> Vec<String> {
        cluster.status().unwrap().workers.into_iter().map(|worker| worker.name).collect()
    };
    wait_until("both have declared themselves", || names(&cluster) == ["one", "one"]);
    // The one that ends takes only its own entry with it.
    first.end();
    assert_eq!(names(&cluster), ["one"]);
    second.end();
    assert_eq!(names(&cluster), Vec::<String>::new());
}

#[test]
fn a_job_that_fails_is_set_aside_with_its_error_and_the_rest_goes_on() {
    let server = NatsServer::start("");
    let writer = Writer::default();
    writer.broken.store(true, Ordering::Relaxed);
    let worker = TestWorker::start(&server, "one", "1.0", &writer);
    let mut cluster = connect(&server);
    let error = collect(&mut cluster, 60).unwrap_err();
    let QueueError::SetAside { n: 1, reason, .. } = &error else { panic!("{error}") };
    assert_eq!(reason, "thirteen is broken (attempt 3)");
    // Three attempts, and every other job that the window let through: all up to 13 + 40.
    assert_eq!(writer.n_run.load(Ordering::Relaxed), 3 + 52);
    let status = cluster.status().unwrap();
    assert_eq!((status.aside.len(), status.classes[0].n_aside), (1, 1));
    let failed = worker.events.try_iter().filter(|event| matches!(event, WorkerEvent::Failed { .. }));
    assert_eq!(failed.count(), 3);
    // Still aside until somebody says otherwise.
    assert!(matches!(collect(&mut cluster, 60), Err(QueueError::SetAside { .. })));
    writer.broken.store(false, Ordering::Relaxed);
    assert_eq!(cluster.retry(None).unwrap(), 1);
    assert_eq!(collect(&mut cluster, 60).unwrap().len(), 60);
    assert_eq!(writer.n_run.load(Ordering::Relaxed), 3 + 60);
    worker.end();
}

#[test]
fn what_nobody_can_run_shows_and_is_run_once_somebody_can() {
    let server = NatsServer::start("");
    let writer = Writer::default();
    let old = TestWorker::start(&server, "old", "0.9", &writer);
    let mut cluster = connect(&server);
    let watcher = cluster.clone();
    let lines = Arc::new(Mutex::new(None));
    let result = Arc::clone(&lines);
    let collector = thread::spawn(move || *result.lock().unwrap() = Some(collect(&mut cluster, 20)));
    wait_until("the jobs wait", || {
        let classes = watcher.status().unwrap().classes;
        classes.iter().any(|class| class.n_waiting == 20 && !class.unable.is_empty())
    });
    let class = watcher.status().unwrap().classes.remove(0);
    assert_eq!((class.able.len(), class.unable), (0, vec!["old: mavis 0.9, not 1.0".to_owned()]));
    let lacks = old.events.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(matches!(lacks, WorkerEvent::Lacks { .. }), "{lacks:?}");
    let new = TestWorker::start(&server, "new", "1.0", &writer);
    collector.join().unwrap();
    assert_eq!(lines.lock().unwrap().take().unwrap().unwrap().len(), 20);
    assert_eq!((old.end(), new.end()), (0, 20));
}

#[test]
fn a_worker_that_was_cut_off_comes_back_and_nothing_counts_twice() {
    cut_off(Duration::ZERO);
}

#[test]
fn a_worker_may_be_cut_off_for_half_a_minute() {
    cut_off(Duration::from_secs(30));
}

/// A worker is out of reach until its jobs are done elsewhere, and for so long at least.
fn cut_off(at_least: Duration) {
    let server = NatsServer::start("");
    let wire = Wire::to(&server);
    let (far, near) = (Writer::default(), Writer::default());
    far.slow.store(true, Ordering::Relaxed);
    let far_worker = TestWorker::start_at(&wire.url(), "far", "1.0", &far);
    let mut cluster = connect(&server);
    let watcher = cluster.clone();
    let collector = thread::spawn(move || collect(&mut cluster, 20).unwrap());
    wait_until("it has jobs", || far.n_run.load(Ordering::Relaxed) == 2);
    wire.cut.store(true, Ordering::Relaxed);
    let begin = Instant::now();
    // Its jobs are given to another worker, and the collector is served.
    let near_worker = TestWorker::start(&server, "near", "1.0", &near);
    let lines = collector.join().unwrap();
    assert_eq!(lines.iter().map(|(number, _)| *number).collect::<Vec<u64>>(), (0..20).collect::<Vec<u64>>());
    thread::sleep(at_least.saturating_sub(begin.elapsed()));
    // Back on the queue with results that nobody needs any more, and ready for the next jobs.
    far.slow.store(false, Ordering::Relaxed);
    wire.cut.store(false, Ordering::Relaxed);
    assert!(near_worker.end() >= 18);
    let more = collect(&mut connect(&server), 40).unwrap();
    assert_eq!((more.len(), &more[..20]), (40, &lines[..]));
    let status = watcher.status().unwrap();
    assert_eq!((status.n_results, status.aside.len()), (40, 0));
    far_worker.end();
    // Only the two jobs in its hand were run by both.
    assert_eq!(far.n_run.load(Ordering::Relaxed) + near.n_run.load(Ordering::Relaxed), 42);
}

#[test]
fn a_stop_withdraws_what_waits() {
    let server = NatsServer::start("");
    let stop = Arc::new(AtomicBool::new(false));
    let mut cluster = connect(&server).with_stop(Arc::clone(&stop));
    let watcher = connect(&server);
    let collector = thread::spawn(move || collect(&mut cluster, 1000).unwrap().len());
    let n_waiting = || watcher.status().unwrap().classes.iter().map(|class| class.n_waiting).sum::<u64>();
    wait_until("the window is full", || n_waiting() == 40);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(collector.join().unwrap(), 0);
    assert_eq!(n_waiting(), 0);
}

#[test]
fn bad_credentials_and_wrong_addresses_are_refused() {
    let server = NatsServer::start("authorization { user: mavis, password: right }");
    let try_as = |user: &str, password: &str| {
        let access = Access {
            user: Some(user.to_owned()),
            password: Some(password.to_owned()),
            ..Access::to(&server.url())
        };
        Cluster::connect(&access, settings(), Needs::version("1.0")).map(|_| ())
    };
    assert_eq!(try_as("mavis", "right"), Ok(()));
    assert!(matches!(try_as("mavis", "wrong"), Err(QueueError::Refused { .. })));
    let nobody = Cluster::connect(&Access::to("nats://127.0.0.1:1"), settings(), Needs::version("1.0"));
    assert!(matches!(nobody.map(|_| ()), Err(QueueError::Connect { .. })));
}

#[test]
fn jobs_that_somebody_removed_end_the_run_with_an_error() {
    let server = NatsServer::start("");
    let (mut cluster, operator) = (connect(&server), connect(&server));
    let collector = thread::spawn(move || collect(&mut cluster, 20));
    let n_waiting = || operator.status().unwrap().classes.iter().map(|class| class.n_waiting).sum::<u64>();
    wait_until("the jobs wait", || n_waiting() == 20);
    operator.purge(None, false).unwrap();
    let error = collector.join().unwrap().unwrap_err();
    assert_eq!(error, QueueError::Removed { n: 20, kind: "lines".to_owned() });
    // Submitted again they are run.
    let worker = TestWorker::start(&server, "one", "1.0", &Writer::default());
    assert_eq!(collect(&mut connect(&server), 20).unwrap().len(), 20);
    assert_eq!(worker.end(), 20);
}

#[test]
fn a_class_that_lost_its_consumer_gets_it_back() {
    let server = NatsServer::start("");
    let (mut cluster, watcher) = (connect(&server), connect(&server));
    let collector = thread::spawn(move || collect(&mut cluster, 20));
    wait_until("the jobs wait", || {
        watcher.status().unwrap().classes.iter().any(|class| class.n_waiting == 20)
    });
    let class = watcher.status().unwrap().classes.remove(0).class;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let jobs = async_nats::jetstream::new(client).get_stream("MAVIS_JOBS").await.unwrap();
        jobs.delete_consumer(&class).await.unwrap();
    });
    let worker = TestWorker::start(&server, "one", "1.0", &Writer::default());
    assert_eq!(collector.join().unwrap().unwrap().len(), 20);
    assert_eq!(worker.end(), 20);
}
