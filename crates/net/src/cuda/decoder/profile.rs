//! Where the time of a pass goes, on the processor and on the GPU.

use std::time::Instant;

use super::{CudaDecoder, Key, download};
use crate::cuda::gpu::by_name;
use crate::cuda::op::Op;
use crate::decoder::PassParts;
use crate::error::NetError;

/// When the steps of the last pass on the processor ended.
pub(super) struct Clock {
    begun: Instant,
    pub(super) packed: Instant,
    pub(super) started: Instant,
    pub(super) waited: Instant,
    pub(super) read: Instant,
}

impl Clock {
    pub(super) fn begin() -> Self {
        let begun = Instant::now();
        Self { begun, packed: begun, started: begun, waited: begun, read: begun }
    }

    /// Seconds of packing, starting, waiting and reading.
    fn seconds(&self) -> [f64; 4] {
        let Self { begun, packed, started, waited, read } = *self;
        [packed - begun, started - packed, waited - started, read - waited].map(|time| time.as_secs_f64())
    }
}

/// What it takes to run a pass again.
#[derive(Clone)]
pub(super) struct LastPass {
    pub(super) key: Key,
    /// Words of the batch.
    pub(super) n_words: usize,
    /// Words of logits and of rows in brief that came back.
    pub(super) n_read: [usize; 2],
}

impl CudaDecoder {
    /// Runs the last pass again in parts and times each; `None` when there is none to run.
    pub(super) fn profile_last_pass(&mut self) -> Result<Option<PassParts>, NetError> {
        let Some(LastPass { key, n_words, n_read }) = self.last.clone() else { return Ok(None) };
        self.net.device.bind()?;
        let ops = self.ops(&key)?;
        let Self { net, words, brief, results, graphs, .. } = self;
        let (device, logits) = (&net.device, &net.logits);
        let fits = n_read.iter().sum::<usize>() <= results.len();
        // The first part gives the processor time to start the others, many of which are over sooner than the next is started.
        let clear = Op::Clear { address: logits.address, bytes: logits.bytes };
        let lead = || (0..16).try_for_each(|_| device.run(&clear));
        let whole = device.times(4, |part| match (part, graphs.get(&key)) {
            (0, _) => lead(),
            (1, _) => device.upload_async(&device.stream, &net.block, words, n_words),
            (2, Some(graph)) => graph.launch(),
            (2, None) => device.run_all(&ops),
            // What does not fit into pinned memory comes another way, which is not measured.
            _ if fits => download(device, results, [logits, brief], n_read),
            _ => Ok(()),
        })?;
        let times = device.times(1 + ops.len(), |part| match part.checked_sub(1) {
            Some(op) => device.run(&ops[op]),
            None => lead(),
        })?;
        Ok(Some(PassParts {
            rounded: [key.extent.n_tokens, key.extent.n_rows],
            host: self.clock.seconds(),
            device: [whole[1], whole[2], whole[3]],
            operations: by_name(&ops, &times[1..]),
        }))
    }
}
