//! How ranks find each other: a greeting, and an answer once all have come.

use super::Hello;
use crate::all_reduce::AllReduceError;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Begins every greeting; the number is the version of the protocol.
const MAGIC: &[u8; 16] = b"mavis ranks 0001";
/// A greeting: the magic, rank, ranks, fingerprint.
const GREETING: usize = 16 + 4 + 4 + 8;
/// Everybody is there.
const WELCOME: u8 = b'W';
/// A connection that says nothing for so long is not one of ours.
const SILENCE: Duration = Duration::from_secs(10);
/// How often something that may not be there yet is tried.
const PAUSE: Duration = Duration::from_millis(20);
/// A rank whose machine is gone without a word is noticed after some two minutes.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(10))
    .with_retries(6);

fn failed(what: &str) -> impl Fn(io::Error) -> AllReduceError {
    move |error| AllReduceError::Meeting(format!("{what}: {error}"))
}

/// Rank 0: the connections of all other ranks, in their order.
pub(super) fn gather(
    listener: &TcpListener,
    hello: Hello,
    patience: Duration,
    mut go_on: impl FnMut() -> Result<(), AllReduceError>,
) -> Result<Vec<TcpStream>, AllReduceError> {
    let began = Instant::now();
    let mut links: Vec<Option<TcpStream>> = (1..hello.n_ranks).map(|_| None).collect();
    listener.set_nonblocking(true).map_err(failed("listening for ranks"))?;
    while links.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((link, _)) => admit(link, hello, &mut links),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            // A connection that went away before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(failed("listening for ranks")(error)),
        }
        go_on()?;
        if began.elapsed() > patience {
            let missing: Vec<String> = (links.iter().zip(1..))
                .filter(|(link, _)| link.is_none())
                .map(|(_, rank): (_, usize)| rank.to_string())
                .collect();
            return Err(AllReduceError::Meeting(format!(
                "missing after {} s: rank {}",
                patience.as_secs(),
                missing.join(", ")
            )));
        }
    }
    let mut links: Vec<TcpStream> = links.into_iter().flatten().collect();
    for (link, rank) in links.iter_mut().zip(1..) {
        link.write_all(&[WELCOME]).map_err(|_| AllReduceError::RankLeft(rank))?;
    }
    Ok(links)
}

/// Accepts a connection, or sends it the reason why not.
fn admit(mut link: TcpStream, hello: Hello, links: &mut [Option<TcpStream>]) {
    let Some(other) = greeted(&mut link) else { return };
    let place = other.rank.checked_sub(1).and_then(|at| links.get_mut(at));
    let refusal = match place {
        _ if other.n_ranks != hello.n_ranks => {
            format!("rank 0 expects {} ranks, this one {}", hello.n_ranks, other.n_ranks)
        }
        _ if other.fingerprint != hello.fingerprint => {
            "version, settings, device or data differ from those of rank 0".to_owned()
        }
        None => format!("rank {} is not one of 1 to {}", other.rank, hello.n_ranks.saturating_sub(1)),
        Some(Some(_)) => format!("rank {} is there already", other.rank),
        Some(place) => {
            *place = Some(link);
            return;
        }
    };
    // Whoever does not get it finds the connection closed.
    let _ = link.write_all(refusal.as_bytes());
}

/// What a connection says of itself; `None` when it is not one of ours.
fn greeted(link: &mut TcpStream) -> Option<Hello> {
    link.set_nonblocking(false).ok()?;
    link.set_read_timeout(Some(SILENCE)).ok()?;
    let mut greeting = [0; GREETING];
    link.read_exact(&mut greeting).ok()?;
    let rest = greeting.strip_prefix(MAGIC)?;
    let (rank, rest) = rest.split_first_chunk::<4>()?;
    let (n_ranks, rest) = rest.split_first_chunk::<4>()?;
    prepare(link).ok()?;
    Some(Hello {
        rank: u32::from_le_bytes(*rank) as usize,
        n_ranks: u32::from_le_bytes(*n_ranks) as usize,
        fingerprint: u64::from_le_bytes(*rest.first_chunk::<8>()?),
    })
}

/// A connection for the time of training: it waits as long as it takes, and notices when the other machine is gone.
fn prepare(link: &TcpStream) -> io::Result<()> {
    link.set_read_timeout(None)?;
    link.set_nodelay(true)?;
    SockRef::from(link).set_tcp_keepalive(&KEEPALIVE)
}

/// Another rank: the connection to rank 0, once everybody is there.
pub(super) fn join(
    meet: impl ToSocketAddrs,
    hello: Hello,
    patience: Duration,
) -> Result<TcpStream, AllReduceError> {
    let began = Instant::now();
    let mut link = loop {
        match TcpStream::connect(&meet) {
            Ok(link) => break link,
            Err(error) if began.elapsed() > patience => {
                let what = format!("rank 0 is not there after {} s", patience.as_secs());
                return Err(failed(&what)(error));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    };
    prepare(&link).map_err(failed("the connection to rank 0"))?;
    let mut greeting = MAGIC.to_vec();
    greeting.extend((hello.rank as u32).to_le_bytes());
    greeting.extend((hello.n_ranks as u32).to_le_bytes());
    greeting.extend(hello.fingerprint.to_le_bytes());
    link.write_all(&greeting).map_err(|_| AllReduceError::RankLeft(0))?;
    let mut answer = [0];
    link.read_exact(&mut answer).map_err(|_| AllReduceError::RankLeft(0))?;
    if answer[0] == WELCOME {
        return Ok(link);
    }
    let mut refusal = answer.to_vec();
    // What came before the connection ended is all there is to say.
    let _ = link.take(1000).read_to_end(&mut refusal);
    Err(AllReduceError::Meeting(format!("rank 0 refused: {}", String::from_utf8_lossy(&refusal))))
}
