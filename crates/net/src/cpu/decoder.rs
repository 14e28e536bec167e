//! [`Decoder`] on CPU.

use std::collections::HashMap;

use super::inference::{Inference, Memory};
use super::kv_cache::{CacheShape, KvCache};
use super::rotary::Rotary;
use crate::batch::Batch;
use crate::config::TransformerConfig;
use crate::decoder::{Decoder, KvCacheId, Logits, Precision, Want};
use crate::error::NetError;

/// Passes of so few tokens stay on the thread that asks.
const FEW_TOKENS: usize = 6;

/// A transformer with fixed parameters on CPU.
pub struct CpuDecoder {
    inference: Inference,
    rotary: Rotary,
    caches: HashMap<KvCacheId, KvCache>,
    /// Ids are never used twice, so that a closed cache cannot be mistaken for a new one.
    next_id: u64,
    /// Closed caches whose memory the next ones take over.
    spare: Vec<KvCache>,
    memory: Memory,
}

impl CpuDecoder {
    /// A decoder of a flat parameter buffer in the layout of the shape.
    ///
    /// # Errors
    /// When the shape is refused or the buffer has another length.
    pub fn new(
        config: TransformerConfig,
        parameters: &[f32],
        precision: Precision,
    ) -> Result<Self, NetError> {
        Ok(Self {
            rotary: Rotary::new(&config),
            inference: Inference::new(config, parameters, precision)?,
            caches: HashMap::new(),
            next_id: 0,
            spare: Vec::new(),
            memory: Memory::default(),
        })
    }

    /// Bytes of all matrices as stored: what is read for a single token.
    pub fn n_weight_bytes(&self) -> usize {
        self.inference.n_bytes()
    }

    fn fresh(&mut self) -> KvCache {
        let mut cache =
            self.spare.pop().unwrap_or_else(|| KvCache::new(CacheShape::new(self.inference.config())));
        cache.reserve(0);
        cache.set_len(0);
        cache
    }

    fn recycle(&mut self, cache: KvCache) {
        // More than a batch's worth of spare memory would never be used.
        if self.spare.len() < 256 {
            self.spare.push(cache);
        }
    }

    fn insert(&mut self, cache: KvCache) -> KvCacheId {
        let id = KvCacheId(self.next_id);
        self.next_id += 1;
        self.caches.insert(id, cache);
        id
    }

    fn cache(&self, id: KvCacheId) -> Result<&KvCache, NetError> {
        self.caches.get(&id).ok_or(NetError::KvCache(id))
    }

    /// Runs a validated batch; the caches grow by it.
    fn pass(&mut self, caches: &mut [KvCache], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        let columns = want.validate(batch.len(), self.config().n_outputs())?;
        self.rotary.reserve(&batch.positions);
        for (sequence_idx, cache) in caches.iter_mut().enumerate() {
            cache.reserve(cache.len() + batch.sequence(sequence_idx).len());
        }
        let Self { inference, rotary, memory, .. } = self;
        let pass = |caches: &mut [KvCache]| {
            inference.trunk(batch, &want.rows, rotary, caches, memory);
            inference.head(columns, memory)
        };
        // Inside the pool the threads hand pieces to each other without waking the one that asks.
        let mut logits = if batch.len() > FEW_TOKENS { rayon::scope(|_| pass(caches)) } else { pass(caches) };
        if let Some(brief) = &want.brief {
            logits = logits.in_brief(brief);
        }
        for (sequence_idx, cache) in caches.iter_mut().enumerate() {
            cache.set_len(cache.len() + batch.sequence(sequence_idx).len());
        }
        Ok(logits)
    }
}

impl Decoder for CpuDecoder {
    fn config(&self) -> &TransformerConfig {
        self.inference.config()
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        let cache = self.fresh();
        Ok(self.insert(cache))
    }

    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError> {
        let from = self.cache(cache)?;
        if len > from.len() {
            return Err(NetError::KvCacheUse { cache, reason: "a fork cannot be longer than its origin" });
        }
        let fork = from.fork(len);
        Ok(self.insert(fork))
    }

    fn close(&mut self, cache: KvCacheId) {
        if let Some(cache) = self.caches.remove(&cache) {
            self.recycle(cache);
        }
    }

    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
        self.cache(cache).map(KvCache::len)
    }

    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError> {
        let entry = self.caches.get_mut(&cache).ok_or(NetError::KvCache(cache))?;
        if len > entry.len() {
            return Err(NetError::KvCacheUse { cache, reason: "a truncation cannot lengthen it" });
        }
        entry.set_len(len);
        Ok(())
    }

    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        if caches.len() != batch.n_sequences() {
            let (expected, got) = (batch.n_sequences(), caches.len());
            return Err(NetError::Length { what: "caches", expected, got });
        }
        let mut lengths = Vec::with_capacity(caches.len());
        for (i, id) in caches.iter().enumerate() {
            lengths.push(self.cache(*id)?.len());
            if caches[..i].contains(id) {
                return Err(NetError::KvCacheUse { cache: *id, reason: "used twice in one batch" });
            }
        }
        batch.validate_for(self.config(), |sequence_idx| lengths[sequence_idx])?;
        want.validate(batch.len(), self.config().n_outputs())?;
        let mut taken: Vec<KvCache> = caches.iter().filter_map(|id| self.caches.remove(id)).collect();
        let logits = self.pass(&mut taken, batch, want);
        self.caches.extend(caches.iter().copied().zip(taken));
        logits
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        batch.validate_for(self.config(), |_| 0)?;
        let mut caches: Vec<KvCache> = (0..batch.n_sequences()).map(|_| self.fresh()).collect();
        let logits = self.pass(&mut caches, batch, want);
        caches.into_iter().for_each(|cache| self.recycle(cache));
        logits
    }
}
