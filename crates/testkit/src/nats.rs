//! NATS servers with JetStream on loopback.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server in a folder of its own; killed and forgotten when it is dropped.
#[derive(Debug)]
pub struct NatsServer {
    child: Child,
    port: u16,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl NatsServer {
    /// One server, with further lines of configuration (users, TLS).
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::launch(folder, "", free_port(), more)
    }

    /// A cluster of `n` servers.
    ///
    /// # Panics
    /// When one does not start.
    #[must_use]
    pub fn cluster(n: usize) -> Vec<Self> {
        let routes: Vec<u16> = (0..n).map(|_| free_port()).collect();
        let list: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let start = |(number, route): (usize, &u16)| {
            let folder = tempfile::tempdir().expect("a folder");
            let more = format!(
                "cluster {{ name: mavis, listen: \"127.0.0.1:{route}\", routes: [{}] }}",
                list.join(", ")
            );
            Self::launch(folder, &format!("server_name: node-{number}"), free_port(), &more)
        };
        routes.iter().enumerate().map(start).collect()
    }

    fn launch(folder: tempfile::TempDir, name: &str, port: u16, more: &str) -> Self {
        let store = folder.path().join("store");
        let text = format!(
            "{name}\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\n{more}\n",
            store.display()
        );
        let config = folder.path().join("server.conf");
        std::fs::write(&config, text).expect("the file is written");
        let child = spawn(&config, folder.path());
        let server = Self { child, port, config, _folder: folder };
        server.await_port();
        server
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its process number.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        // Dead already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`Self::kill`], with what it has on disk.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        let folder = self.config.parent().expect("the file is in a folder").to_owned();
        self.child = spawn(&self.config, &folder);
        self.await_port();
    }

    fn await_port(&self) {
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = self.config.with_file_name("log");
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the server does not answer: {}",
                std::fs::read_to_string(log).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(config: &Path, folder: &Path) -> Child {
    Command::new(crate::nats_server())
        .arg("-c")
        .arg(config)
        .arg("-l")
        .arg(folder.join("log"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts")
}

/// A port that nobody listens on at this moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}
