//! Which pages of device memory belong to which KV cache.

use std::collections::HashMap;

use super::pack::TILE;
use crate::decoder::KvCacheId;
use crate::error::NetError;

/// KV caches and the pages they hold; a page has room for [`TILE`] tokens in all layers.
#[derive(Debug, Default)]
pub(super) struct Pages {
    free: Vec<u32>,
    caches: HashMap<KvCacheId, Held>,
    /// Ids are never used twice, so that a closed cache cannot be mistaken for a new one.
    next_id: u64,
}

/// What a cache holds.
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

    /// A new cache of `len` tokens, which its owner fills.
    pub(super) fn open(&mut self, len: usize) -> Result<KvCacheId, NetError> {
        let id = KvCacheId(self.next_id);
        let mut held = Held::default();
        grow(&mut self.free, &mut held, len)?;
        held.len = len;
        self.next_id += 1;
        self.caches.insert(id, held);
        Ok(id)
    }

    /// Frees a cache; one that is not open is no error.
    pub(super) fn close(&mut self, id: KvCacheId) {
        if let Some(held) = self.caches.remove(&id) {
            self.free.extend(held.pages);
        }
    }

    /// What a cache holds.
    pub(super) fn cache(&self, id: KvCacheId) -> Result<&Held, NetError> {
        self.caches.get(&id).ok_or(NetError::KvCache(id))
    }

    /// Sets the length of a cache, shorter or longer; on an error nothing is changed.
    pub(super) fn resize(&mut self, id: KvCacheId, len: usize) -> Result<(), NetError> {
        let held = self.caches.get_mut(&id).ok_or(NetError::KvCache(id))?;
        grow(&mut self.free, held, len)?;
        held.len = len;
        self.free.extend(held.pages.drain(len.div_ceil(TILE)..));
        Ok(())
    }
}

/// Gives a cache the free pages that it lacks for `len` tokens; on an error nothing is changed.
fn grow(free: &mut Vec<u32>, held: &mut Held, len: usize) -> Result<(), NetError> {
    let missing = len.div_ceil(TILE).saturating_sub(held.pages.len());
    if missing > free.len() {
        let free = free.len() * TILE;
        return Err(NetError::Device(format!(
            "the KV cache memory is full: {} tokens wanted, {free} free",
            missing * TILE
        )));
    }
    held.pages.extend(free.drain(free.len() - missing..).rev());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_and_come_back() {
        let mut pages = Pages::new(4);
        let a = pages.open(0).unwrap();
        let b = pages.open(65).unwrap();
        assert_eq!(pages.cache(b).unwrap().pages, [0, 1]);
        pages.resize(a, 64).unwrap();
        assert_eq!(pages.cache(a).unwrap().pages, [2]);
        assert!(pages.resize(a, 200).is_err());
        assert_eq!(pages.cache(a).unwrap().len, 64);
        pages.resize(b, 10).unwrap();
        assert_eq!(pages.cache(b).unwrap(), &Held { len: 10, pages: vec![0] });
        pages.resize(a, 190).unwrap();
        pages.close(a);
        pages.close(a);
        assert!(matches!(pages.cache(a), Err(NetError::KvCache(_))));
        assert_eq!(pages.free.len(), 3);
    }
}
