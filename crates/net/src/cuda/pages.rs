//! Which pages of the cache belong to which session.

use std::collections::HashMap;

use super::pack::TILE;
use crate::decoder::SessionId;
use crate::error::NetError;

/// Sessions and the pages they hold; a page has room for [`TILE`] tokens in all layers.
#[derive(Debug, Default)]
pub(super) struct Pages {
    free: Vec<u32>,
    sessions: HashMap<SessionId, Held>,
    /// Ids are never used twice, so that a closed session cannot be mistaken for a new one.
    next_id: u64,
}

/// What a session holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Tokens in use.
    pub(super) len: usize,
    /// Pages in order.
    pub(super) pages: Vec<u32>,
}

impl Pages {
    /// All of `n` pages free.
    pub(super) fn new(n: usize) -> Self {
        Self { free: (0..n as u32).rev().collect(), ..Self::default() }
    }

    /// A new session of `len` tokens, which its owner fills.
    pub(super) fn open(&mut self, len: usize) -> Result<SessionId, NetError> {
        let id = SessionId(self.next_id);
        let mut held = Held::default();
        self.grow(&mut held, len)?;
        held.len = len;
        self.next_id += 1;
        self.sessions.insert(id, held);
        Ok(id)
    }

    /// Frees a session; one that is not open is no error.
    pub(super) fn close(&mut self, id: SessionId) {
        if let Some(held) = self.sessions.remove(&id) {
            self.free.extend(held.pages);
        }
    }

    /// What a session holds.
    pub(super) fn session(&self, id: SessionId) -> Result<&Held, NetError> {
        self.sessions.get(&id).ok_or(NetError::Session(id))
    }

    /// Sets the length of a session, shorter or longer; on an error nothing is changed.
    pub(super) fn resize(&mut self, id: SessionId, len: usize) -> Result<(), NetError> {
        let mut held = self.sessions.remove(&id).ok_or(NetError::Session(id))?;
        let grown = self.grow(&mut held, len);
        if grown.is_ok() {
            held.len = len;
            self.free.extend(held.pages.drain(len.div_ceil(TILE)..));
        }
        self.sessions.insert(id, held);
        grown
    }

    fn grow(&mut self, held: &mut Held, len: usize) -> Result<(), NetError> {
        let missing = len.div_ceil(TILE).saturating_sub(held.pages.len());
        if missing > self.free.len() {
            let free = self.free.len() * TILE;
            return Err(NetError::Device(format!(
                "the cache is full: {} tokens wanted, {free} free",
                missing * TILE
            )));
        }
        held.pages.extend(self.free.drain(self.free.len() - missing..).rev());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_and_come_back() {
        let mut pages = Pages::new(4);
        let a = pages.open(0).unwrap();
        let b = pages.open(65).unwrap();
        assert_eq!(pages.session(b).unwrap().pages, [0, 1]);
        pages.resize(a, 64).unwrap();
        assert_eq!(pages.session(a).unwrap().pages, [2]);
        assert!(pages.resize(a, 200).is_err());
        assert_eq!(pages.session(a).unwrap().len, 64);
        pages.resize(b, 10).unwrap();
        assert_eq!(pages.session(b).unwrap(), &Held { len: 10, pages: vec![0] });
        pages.resize(a, 190).unwrap();
        pages.close(a);
        pages.close(a);
        assert!(matches!(pages.session(a), Err(NetError::Session(_))));
        assert_eq!(pages.free.len(), 3);
    }
}
