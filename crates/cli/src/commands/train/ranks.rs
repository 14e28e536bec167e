//! A training run that several processes share: who they are, and how they find each other.

use crate::input::BadInput;
use anyhow::Context as _;
use clap::Args;
use mavis_net::{AllReduceError, Hello, SocketRank};
use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long ranks wait for each other at the beginning: some read their data faster than others.
const PATIENCE: Duration = Duration::from_secs(600);
/// The same for a process that rank 0 has started: where nobody listens, rank 0 is gone.
const SHORT_PATIENCE: Duration = Duration::from_secs(10);
/// Most ranks of a run, and most that are started on one machine.
const MOST_RANKS: usize = 1024;
const MOST_HERE: usize = 64;
/// How long processes that were started here may take to end once the run has ended.
const GRACE: Duration = Duration::from_secs(10);

/// Which of the processes that share a run this is.
#[derive(Args)]
pub(super) struct Ranks {
    /// Processes that train together, each on its share of every batch. Without --rank this process starts the others on this machine
    #[arg(long, default_value_t = 1, value_name = "N")]
    ranks: usize,
    /// Which of them this is, from 0, for processes that are started one by one. Rank 0 alone reads and writes the folder of the run
    #[arg(long, requires = "meet", value_name = "I")]
    rank: Option<usize>,
    /// HOST:PORT where rank 0 listens and the others connect
    #[arg(long, requires = "rank", value_name = "HOST:PORT")]
    meet: Option<String>,
    /// Set by rank 0 for the processes that it starts
    #[arg(long, hide = true)]
    launched: bool,
}

impl Ranks {
    /// Whether this process keeps the folder of the run.
    pub(super) fn leads(&self) -> bool {
        self.rank.unwrap_or(0) == 0
    }

    /// Refuses numbers that name no rank, before any work is done.
    pub(super) fn check(&self) -> Result<(), BadInput> {
        let rank = self.rank.unwrap_or(0);
        match self.ranks {
            0 => Err(BadInput::new("--ranks: expected 1 or more, not 0")),
            n_ranks if n_ranks > if self.rank.is_some() { MOST_RANKS } else { MOST_HERE } => {
                Err(BadInput::new(format!(
                    "--ranks: expected at most {MOST_HERE} on one machine and {MOST_RANKS} in all, not {n_ranks}"
                )))
            }
            n_ranks if rank >= n_ranks => {
                Err(BadInput::new(format!("--rank: expected 0 to {}, not {rank}", n_ranks - 1)))
            }
            _ => self.meet.as_deref().map_or(Ok(()), |meet| places(meet).map(drop)),
        }
    }

    /// Meets the other ranks; `None` for a run of one process. `fingerprint` must be the same on all of them.
    pub(super) fn meet(&self, fingerprint: u64) -> anyhow::Result<Option<Company>> {
        let n_ranks = self.ranks;
        if n_ranks == 1 {
            return Ok(None);
        }
        let hello = Hello { rank: self.rank.unwrap_or(0), n_ranks, fingerprint };
        let Some(meet) = &self.meet else { return launch(hello).map(Some) };
        let places = places(meet)?;
        let met = if hello.rank == 0 {
            let listener = TcpListener::bind(&*places)
                .map_err(|error| BadInput::new(format!("--meet {meet}: cannot listen there: {error}")))?;
            SocketRank::lead(&listener, hello, PATIENCE, || Ok(()))?
        } else {
            SocketRank::join(&*places, hello, if self.launched { SHORT_PATIENCE } else { PATIENCE })?
        };
        Ok(Some(Company { met, started: Started(Vec::new()) }))
    }
}

/// The addresses that a text names.
fn places(meet: &str) -> Result<Vec<SocketAddr>, BadInput> {
    let places = meet.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
    match places {
        Ok(places) if !places.is_empty() => Ok(places),
        Ok(_) => Err(BadInput::new(format!("--meet {meet}: expected HOST:PORT"))),
        Err(error) => Err(BadInput::new(format!("--meet {meet}: expected HOST:PORT ({error})"))),
    }
}

/// Ranks that have met.
pub(super) struct Company {
    pub(super) met: SocketRank,
    /// The processes that were started here.
    pub(super) started: Started,
}

/// Starts the other ranks on this machine: the same command with the place where rank 0, which is this process, waits.
fn launch(hello: Hello) -> anyhow::Result<Company> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a place for ranks to meet")?;
    let place = listener.local_addr()?.to_string();
    let program = std::env::current_exe().context("the path of this program")?;
    let mut started = Started(Vec::new());
    for rank in 1..hello.n_ranks {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).args(["--rank", &rank.to_string(), "--meet", &place]);
        command.arg("--launched");
        // A group of their own: Ctrl-C reaches rank 0, which ends the run for all.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let child = command.spawn().with_context(|| format!("starting rank {rank}"))?;
        started.0.push(child);
    }
    let met = SocketRank::lead(&listener, hello, PATIENCE, || started.check())?;
    Ok(Company { met, started })
}

/// Processes of other ranks. They end by themselves when this one leaves them; dropping waits for that.
pub(super) struct Started(Vec<Child>);

impl Started {
    /// Whether all are still there.
    fn check(&mut self) -> Result<(), AllReduceError> {
        for (child, rank) in self.0.iter_mut().zip(1..) {
            if !matches!(child.try_wait(), Ok(None)) {
                return Err(AllReduceError::RankLeft(rank));
            }
        }
        Ok(())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let began = Instant::now();
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && began.elapsed() < GRACE {
                std::thread::sleep(Duration::from_millis(5));
            }
            // One that is stuck has nothing to lose: only rank 0 writes files. A failure means that it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
