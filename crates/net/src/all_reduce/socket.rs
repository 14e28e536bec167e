//! Ranks as processes that meet at an address: rank 0 listens, the others connect, and sums go through rank 0.
//!
//! Meant for processors and for what GPUs have to agree on beside their gradients: each sum sends the whole buffer to
//! rank 0 and back. Nothing is encrypted and nobody is authenticated; the address belongs in a network one trusts.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod meeting;

use super::{AllReduce, AllReduceError};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A buffer to be summed, or its sum.
const SUM: u8 = b'S';
/// Bytes of rank 0 for everybody.
const SHARED: u8 = b'B';
/// A rank left; its number follows.
const LEFT: u8 = b'L';
/// Nobody sends a frame larger than this: the flat buffer of a network with four billion parameters.
const LARGEST: u64 = 1 << 34;

/// What a rank says of itself when it meets the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Which rank it is, from zero.
    pub rank: usize,
    /// How many it expects.
    pub n_ranks: usize,
    /// A hash of everything that must be the same on all ranks, such as settings and data.
    pub fingerprint: u64,
}

/// A rank in a process of its own.
pub struct SocketRank {
    hello: Hello,
    /// Rank 0: the others in order; another rank: rank 0 alone.
    links: Mutex<Vec<TcpStream>>,
}

impl SocketRank {
    /// Rank 0: waits for the others at `listener`. `go_on` is asked again and again while it waits, and may give up.
    ///
    /// # Errors
    /// When not all came within `patience`, or `go_on` gave up. Connections that do not belong to the group get an error,
    /// and do not count.
    pub fn lead(
        listener: &TcpListener,
        hello: Hello,
        patience: Duration,
        go_on: impl FnMut() -> Result<(), AllReduceError>,
    ) -> Result<Self, AllReduceError> {
        let links = Mutex::new(meeting::gather(listener, hello, patience, go_on)?);
        Ok(Self { hello, links })
    }

    /// Another rank: connects to rank 0, which may not be there yet.
    ///
    /// # Errors
    /// When rank 0 is not there within `patience`, or refuses this rank.
    pub fn join(meet: impl ToSocketAddrs, hello: Hello, patience: Duration) -> Result<Self, AllReduceError> {
        let links = Mutex::new(vec![meeting::join(meet, hello, patience)?]);
        Ok(Self { hello, links })
    }

    /// Replaces the bytes with those of rank 0.
    ///
    /// # Errors
    /// When another rank left.
    pub fn share(&self, bytes: &mut Vec<u8>) -> Result<(), AllReduceError> {
        let mut links = self.links();
        if self.hello.rank == 0 {
            return self.to_all(&mut links, SHARED, bytes);
        }
        let link = links.first_mut().ok_or(AllReduceError::RankLeft(0))?;
        *bytes = receive(link, SHARED).map_err(|fault| fault.at(0))?;
        Ok(())
    }

    /// Whether the other ranks are still there, as far as this one can see without waiting.
    ///
    /// # Errors
    /// When a rank left.
    pub fn check(&self) -> Result<(), AllReduceError> {
        let mut links = self.links();
        let fault = links.iter_mut().enumerate().find_map(|(at, link)| match next_kind(link) {
            Some(LEFT) => Some((at, receive(link, LEFT).err().unwrap_or(Fault::Closed))),
            Some(_) => None,
            None => Some((at, Fault::Closed)),
        });
        match fault {
            Some((at, fault)) => Err(self.end(&mut links, fault.at(self.rank_of(at)))),
            None => Ok(()),
        }
    }

    fn links(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rank at the other end of a link.
    fn rank_of(&self, link: usize) -> usize {
        if self.hello.rank == 0 { link + 1 } else { 0 }
    }

    /// Sums what the others send into the buffer, in order of rank, so that the result does not depend on who came last.
    fn gather(&self, links: &mut [TcpStream], buffer: &mut [f32]) -> Result<(), AllReduceError> {
        let gathered = links.iter_mut().zip(1..).try_for_each(|(link, rank)| {
            let part = receive(link, SUM).map_err(|fault| fault.at(rank))?;
            if part.len() != size_of_val(buffer) {
                return Err(AllReduceError::Length { expected: buffer.len(), got: part.len() / 4 });
            }
            for (sum, bytes) in buffer.iter_mut().zip(part.as_chunks::<4>().0) {
                *sum += f32::from_le_bytes(*bytes);
            }
            Ok(())
        });
        gathered.map_err(|error| self.end(links, error))
    }

    /// Sends a frame to every other rank.
    fn to_all(&self, links: &mut [TcpStream], kind: u8, bytes: &[u8]) -> Result<(), AllReduceError> {
        match links.iter_mut().position(|link| send(link, kind, bytes).is_err()) {
            Some(at) => Err(self.leave(links, self.rank_of(at))),
            None => Ok(()),
        }
    }

    /// Tells everybody who left, so that all ranks end for the same reason.
    fn leave(&self, links: &mut [TcpStream], rank: usize) -> AllReduceError {
        self.end(links, AllReduceError::RankLeft(rank))
    }

    /// Ends the group with an error.
    fn end(&self, links: &mut [TcpStream], error: AllReduceError) -> AllReduceError {
        let gone = if let AllReduceError::RankLeft(rank) = error { rank } else { self.hello.rank };
        for link in links {
            // Whoever does not get this finds the connection closed, which says no less.
            let _ = send(link, LEFT, &(gone as u32).to_le_bytes());
            let _ = link.shutdown(std::net::Shutdown::Write);
        }
        error
    }
}

impl AllReduce for SocketRank {
    fn rank(&self) -> usize {
        self.hello.rank
    }

    fn n_ranks(&self) -> usize {
        self.hello.n_ranks
    }

    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError> {
        let mut links = self.links();
        if self.hello.rank == 0 {
            self.gather(&mut links, buffer)?;
            return self.to_all(&mut links, SUM, &bytes_of(buffer));
        }
        let link = links.first_mut().ok_or(AllReduceError::RankLeft(0))?;
        // Rank 0 may have said who left before it closed the connection, so a failed write is no reason yet.
        let sent = send(link, SUM, &bytes_of(buffer));
        let sum = receive(link, SUM).map_err(|fault| fault.at(0))?;
        if sent.is_err() || sum.len() != size_of_val(buffer) {
            return Err(AllReduceError::RankLeft(0));
        }
        for (value, bytes) in buffer.iter_mut().zip(sum.as_chunks::<4>().0) {
            *value = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Why no frame came.
enum Fault {
    /// The connection ended.
    Closed,
    /// The other side says that this rank left.
    Left(usize),
    /// Something that is no frame of this protocol.
    Odd(u8),
}

impl Fault {
    /// The error, if the frame was to come from `rank`.
    fn at(self, rank: usize) -> AllReduceError {
        match self {
            Self::Closed => AllReduceError::RankLeft(rank),
            Self::Left(gone) => AllReduceError::RankLeft(gone),
            Self::Odd(kind) => AllReduceError::Transport(format!(
                "rank {rank} sent a frame of kind {kind}; all ranks must be the same version of the program"
            )),
        }
    }
}

fn bytes_of(buffer: &[f32]) -> Vec<u8> {
    buffer.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Sends a frame: its kind, its length, its bytes.
fn send(link: &mut TcpStream, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut head = [kind; 9];
    head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    link.write_all(&head)?;
    link.write_all(bytes)
}

/// Receives a frame of the kind that is due.
fn receive(link: &mut TcpStream, due: u8) -> Result<Vec<u8>, Fault> {
    let closed = |_| Fault::Closed;
    let mut head = [0; 9];
    link.read_exact(&mut head).map_err(closed)?;
    let mut len = [0; 8];
    len.copy_from_slice(&head[1..]);
    let len = u64::from_le_bytes(len);
    if ![due, LEFT].contains(&head[0]) || len > LARGEST {
        return Err(Fault::Odd(head[0]));
    }
    // Grown as the bytes come: a length alone takes no memory.
    let mut bytes = Vec::new();
    link.take(len).read_to_end(&mut bytes).map_err(closed)?;
    match (bytes.len() as u64 == len, head[0]) {
        (false, _) => Err(Fault::Closed),
        (true, LEFT) => {
            let number = bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            Err(Fault::Left(number as usize))
        }
        (true, _) => Ok(bytes),
    }
}

/// What the other side sent next, seen without waiting: zero when nothing has come yet, `None` when the connection is closed.
fn next_kind(link: &TcpStream) -> Option<u8> {
    link.set_nonblocking(true).ok()?;
    let mut kind = [0];
    let peeked = link.peek(&mut kind);
    link.set_nonblocking(false).ok()?;
    match peeked {
        Ok(0) => None,
        Ok(_) => Some(kind[0]),
        Err(error) => (error.kind() == io::ErrorKind::WouldBlock).then_some(0),
    }
}

#[cfg(test)]
mod tests;
