//! `mavis serve`: the page and the HTTP interface; also the job of `mavis` alone at a terminal.

use super::{answer, note};
use crate::{
    bundled,
    input::{BadInput, OrBadInput, time},
    registry, stop,
};
use anyhow::Context as _;
use clap::Args;
use mavis_play::{PlayerSpec, Registry};
use mavis_web::{Limits, Policy, QueueSource, WebSettings};
use rand::{TryRngCore as _, rngs::OsRng};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
};

/// The port where nothing else is asked for; where it is taken, a free one is used.
const USUAL_PORT: u16 = 7117;

/// Serves the page: play all six games, and see what the players think.
///
/// The page and the bundled model are inside the program; nothing is loaded from elsewhere. GET /api/openapi.json describes
/// the HTTP interface, and /v1/completions serves the bundled model in OpenAI's form.
/// Example: mavis serve --allow uci:stockfish
#[derive(Args)]
pub(crate) struct Serve {
    /// Address to listen on; any other than loopback needs a token, which is printed
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// Port to listen on (default 7117, or a free one where that is taken)
    #[arg(long)]
    port: Option<u16>,
    /// A player that clients may name although it starts a program, reads a file or calls a server; may be repeated
    #[arg(long, value_name = "PLAYER")]
    allow: Vec<String>,
    /// A folder below which leagues and training runs are shown; may be repeated (default: runs and league, where they exist)
    #[arg(long, value_name = "FOLDER")]
    show: Vec<PathBuf>,
    /// A name under which clients may address the server, besides localhost and IP addresses; may be repeated
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::ClusterArgs,
    /// The secret that every request must carry (default: none on loopback, a random one elsewhere)
    #[arg(long)]
    token: Option<String>,
    /// The most seconds a player may think about one request
    #[arg(long, default_value_t = 60.0)]
    max_seconds: f64,
    /// Searches, analyses and completions that one client may have under way
    #[arg(long, default_value_t = Limits::default().per_client)]
    max_searches: usize,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let registry = registry::players();
        let allowed = allowed_players(&registry, &self.allow)?;
        let limits = Limits {
            thinking: time("--max-seconds", self.max_seconds)?,
            per_client: self.max_searches,
            in_all: Limits::default().in_all.max(self.max_searches),
            ..Limits::default()
        };
        if limits.thinking.is_zero() || limits.per_client == 0 {
            return Err(BadInput::new("--max-seconds and --max-searches must be above 0").into());
        }
        if self.token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            return Err(BadInput::new("--token: expected letters and digits only").into());
        }
        let queue = self.queue()?;
        // The connection has a runtime of its own, which must not end inside that of the server: it is dropped after it.
        let _connection = queue.clone();
        let token = match self.token {
            None if !self.address.is_loopback() => Some(secret()?),
            token => token,
        };
        let listener = listen(self.address, self.port)?;
        let address = listener.local_addr()?;
        let mut hosts = vec!["localhost".to_owned()];
        hosts.extend(self.name);
        let settings = WebSettings {
            registry,
            model: bundled::model,
            policy: Policy::new(allowed, bundled::NETS.iter().map(|net| net.name)),
            limits,
            hosts,
            folders: if self.show.is_empty() { usual_folders() } else { self.show },
            queue,
            token: token.clone(),
        };
        // Before anybody can know that it is there: whoever reads the address may end it.
        let stop = stop::end();
        answer(&format!("Mavis is at {}", link(address, token.as_deref())))?;
        note("Open it in a browser. Ctrl-C ends the server.");
        mavis_web::run(settings, listener, &stop).context("the server stopped")
    }

    /// The queue whose jobs the page shows.
    #[cfg(feature = "cluster")]
    fn queue(&self) -> anyhow::Result<Option<QueueSource>> {
        use super::cluster::needs;
        let Some(queue) = self.cluster.connect(needs())? else { return Ok(None) };
        Ok(Some(std::sync::Arc::new(move || {
            let status = queue.status().map_err(|error| error.to_string())?;
            serde_json::to_value(status).map_err(|error| error.to_string())
        })))
    }

    #[cfg(not(feature = "cluster"))]
    fn queue(&self) -> anyhow::Result<Option<QueueSource>> {
        Ok(None)
    }

    /// The page on loopback, for a person who typed nothing but the program's name.
    pub(crate) fn usual() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: None,
            allow: Vec::new(),
            show: Vec::new(),
            name: Vec::new(),
            #[cfg(feature = "cluster")]
            cluster: Default::default(),
            token: None,
            max_seconds: 60.0,
            max_searches: Limits::default().per_client,
        }
    }
}

/// The players of `--allow`.
pub(super) fn allowed_players(registry: &Registry, lines: &[String]) -> Result<Vec<PlayerSpec>, BadInput> {
    let read = |line: &String| {
        let spec: PlayerSpec = line.parse().or_bad_input()?;
        registry.check(&spec).or_bad_input()?;
        Ok(spec)
    };
    lines.iter().map(read).collect()
}

fn listen(address: IpAddr, port: Option<u16>) -> anyhow::Result<TcpListener> {
    let bind = |port| TcpListener::bind(SocketAddr::new(address, port));
    match port {
        Some(port) => bind(port).map_err(|error| {
            BadInput::new(format!("cannot listen on {address} port {port}: {error}")).into()
        }),
        None => bind(USUAL_PORT)
            .or_else(|_| bind(0))
            .map_err(|error| BadInput::new(format!("cannot listen on {address}: {error}")).into()),
    }
}

/// Where the examples of the documentation put runs and leagues.
fn usual_folders() -> Vec<PathBuf> {
    ["runs", "league"].into_iter().map(PathBuf::from).filter(|folder| folder.is_dir()).collect()
}

/// 128 random bits from the system.
fn secret() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    OsRng.try_fill_bytes(&mut bytes).context("the system gives no random numbers")?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

fn link(address: SocketAddr, token: Option<&str>) -> String {
    let query = token.map(|token| format!("?token={token}")).unwrap_or_default();
    format!("http://{address}/{query}")
}
