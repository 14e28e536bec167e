//! [`Decoder`] on CUDA.

mod profile;

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use super::blas::{Shape, Tuning};
use super::gpu::{Gpu, Graph};
use super::in_flight::{Pass, PassSizes, Start, UnderWay};
use super::memory::{Buffer, Pinned, recording, turn};
use super::network::{DeviceWeights, Extent, FULL, HALF, MAX_POSITIONS, Network};
use super::op::Argument::{Address, Int};
use super::op::{Op, Operands};
use super::pack::{Fields, Job, PackedSizes, TILE};
use super::pages::Pages;
use super::rows::{BriefRows, MOST_BRIEF, Rows};
use crate::batch::{Batch, LossRows};
use crate::config::TransformerConfig;
use crate::decoder::{BriefLogits, Decoder, KvCacheId, Logits, PassParts, Room, Want};
use crate::error::NetError;
use profile::{Clock, LastPass};

/// Room and place of a decoder on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaDecoderOptions {
    /// Which GPU, from zero.
    pub device: usize,
    /// Most tokens of one pass.
    pub max_tokens: usize,
    /// Most rows of logits of one pass.
    pub max_rows: usize,
    /// Tokens all caches together can hold; each takes whole pages of 64.
    pub cache_tokens: usize,
    /// How passes are started.
    pub mode: PassMode,
    /// Whether algorithms of matrix products are timed and the fastest taken; otherwise the library's first choice is.
    pub timed: bool,
}

impl Default for CudaDecoderOptions {
    fn default() -> Self {
        Self {
            device: 0,
            max_tokens: 32_768,
            max_rows: 16_384,
            cache_tokens: 131_072,
            mode: PassMode::Recorded,
            timed: true,
        }
    }
}

/// How passes are started. All but the first are slow and serve to find the cause of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassMode {
    /// From a graph that is recorded the first time.
    Recorded,
    /// One operation after the other, without graphs.
    Operations,
    /// One operation after the other, each waited for, so that an error names the one that failed.
    Stepwise,
}

/// A transformer with fixed parameters on a GPU, in bf16 with f32 sums and f32 logits.
pub struct CudaDecoder {
    /// Its fields are those of the last pass.
    net: Network,
    /// All the room there is for the fields of a pass.
    room: Fields,
    full: Buffer,
    half: Buffer,
    pages: Pages,
    /// Keys and values, `[page][layer][2][TILE][d]`.
    pool: Buffer,
    words: Pinned,
    /// What rows come to that are read in part only, `[row][1 + columns]`: the likeliest column, then the first ones.
    brief: Buffer,
    /// Logits on their way back; more than fit here take the slower way through memory that is not pinned.
    results: Pinned,
    graphs: HashMap<Key, Graph>,
    mode: PassMode,
    /// Passes that were finished, for errors.
    n_passes: u64,
    clock: Clock,
    /// The last pass, if it was finished.
    last: Option<LastPass>,
}

/// Recorded passes that are kept.
const MOST_GRAPHS: usize = 1_024;

/// Logits that come back through pinned memory: 16 MB, enough for 1,400 whole rows.
const RESULTS: usize = 1 << 22;

/// What a recorded pass depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// It also decides where the fields of the pass lie.
    extent: Extent,
    paged: bool,
    columns: Range<usize>,
    /// Columns of rows in brief, if there are any.
    n_brief: Option<usize>,
}

impl CudaDecoder {
    /// A decoder of a flat parameter buffer in the layout of the shape.
    ///
    /// # Errors
    /// When a library or the GPU is missing, the shape is not served on the GPU, the buffer has another length, or memory
    /// runs out.
    pub fn new(
        config: &TransformerConfig,
        parameters: &[f32],
        options: &CudaDecoderOptions,
    ) -> Result<Self, NetError> {
        let max_tokens = options.max_tokens.next_multiple_of(512);
        let n_pages = options.cache_tokens.div_ceil(TILE);
        // The list of pages takes the place of the targets.
        let learned = config.variant.learned_table().map(|(by, _)| by);
        let fields = Fields::new(max_tokens, options.max_rows.max(64), n_pages.max(64), learned);
        let mut net = Network::new(options.device, config, fields, false)?;
        if !options.timed {
            net.device.blas.tuning = Tuning::FIRST;
        }
        if parameters.len() != net.layout.len() {
            return Err(NetError::Length {
                what: "parameters",
                expected: net.layout.len(),
                got: parameters.len(),
            });
        }
        let full = net.device.upload(parameters)?;
        let half = net.device.zeroed(parameters.len() * HALF)?;
        let groups = parameters.len() / 4;
        let arguments = vec![Address(full.address), Address(half.address), Int(groups as i32)];
        net.device.run(&Op::kernel("to_bf16", groups, 256, 256, arguments))?;
        let pool = net.device.zeroed(n_pages * config.n_layers * 2 * TILE * config.d_model * HALF)?;
        let words = net.device.pinned(net.fields.words)?;
        let brief = net.device.zeroed(net.fields.max_rows * (1 + MOST_BRIEF) * FULL)?;
        let (results, room) = (net.device.pinned(RESULTS)?, net.fields.clone());
        Ok(Self {
            net,
            room,
            full,
            half,
            pages: Pages::new(n_pages),
            pool,
            words,
            brief,
            results,
            graphs: HashMap::new(),
            mode: options.mode,
            n_passes: 0,
            clock: Clock::begin(),
            last: None,
        })
    }

    /// The GPU, its libraries and what the compiler said, for people.
    pub fn description(&self) -> &str {
        &self.net.device.description
    }

    fn weights(&self) -> DeviceWeights {
        DeviceWeights { full: self.full.address, half: self.half.address }
    }

    /// How a batch is packed, after its fields are laid out: more tokens than there is room for stay as many, and are refused there.
    fn job(&mut self, batch: &Batch, rows: &[u32]) -> Job<'static> {
        let n_tokens = rounded(batch.len(), self.room.max_tokens);
        let n_rows = rounded(rows.len(), self.room.max_rows);
        self.net.fields = self.room.of_pass(n_tokens, n_rows, batch.n_sequences());
        Job { n_tokens, learning_rate: 0.0, max_positions: MAX_POSITIONS, gradient: false, classes: &[] }
    }

    /// Sizes to run a batch at.
    fn extent(&self, packed: PackedSizes) -> Extent {
        Extent {
            // What the fields were laid out for.
            n_tokens: self.net.fields.max_tokens,
            n_rows: rounded(packed.n_rows, self.room.max_rows),
            // As many as the fields have room for: tiles that are not there cost nothing, and every other number of them is another
            // kind of pass to record.
            n_tiles: self.net.fields.max_tiles,
            n_walked: self.net.fields.max_tiles,
            n_spans: Default::default(),
        }
    }

    /// Runs the packed batch and reads the logits.
    fn run(
        &mut self,
        packed: PackedSizes,
        sizes: PassSizes,
        paged: bool,
        columns: Range<usize>,
        brief: Option<BriefRows>,
    ) -> Result<Logits, NetError> {
        let n_brief = brief.as_ref().map(|brief| brief.n_columns);
        let key = Key { extent: self.extent(packed), paged, columns, n_brief };
        let (extent, n_columns) = (key.extent, key.columns.len());
        let start = if self.graphs.contains_key(&key) { Start::Graph } else { Start::Operations };
        let pass = UnderWay::begin(Pass { sizes, extent, n_columns, paged, start, n_before: self.n_passes });
        let n_read = match &brief {
            None => [packed.n_rows * n_columns, 0],
            // What whole rows come to in brief is not needed, but would be in the way.
            Some(brief) => [brief.n_whole * n_columns, packed.n_rows * (1 + brief.n_columns)],
        };
        let last = LastPass { key: key.clone(), n_words: packed.words, n_read };
        self.clock.packed = Instant::now();
        let run = || {
            let device = &self.net.device;
            device.upload_async(&device.stream, &self.net.block, &self.words, packed.words)?;
            self.start(key)?;
            self.clock.started = Instant::now();
            self.read(n_read, n_columns, brief)
        };
        let logits = run().map_err(|error| {
            let sizes = [extent.n_tokens, extent.n_rows];
            pass.explain(error, || self.net.device.blas.explain_plans(|shape| sizes.contains(&shape.n)))
        })?;
        self.n_passes += 1;
        self.clock.read = Instant::now();
        self.last = Some(last);
        Ok(logits)
    }

    /// Starts the operations of a pass.
    fn start(&mut self, key: Key) -> Result<(), NetError> {
        if let Some(graph) = self.graphs.get(&key) {
            return graph.launch();
        }
        let recording = recording();
        let ops = self.ops(&key)?;
        let device = &self.net.device;
        if self.mode != PassMode::Recorded {
            drop(recording);
            let stepwise = self.mode == PassMode::Stepwise;
            return if stepwise { device.run_stepwise(&ops) } else { device.run_all(&ops) };
        }
        device.run_all(&ops)?;
        let graph = device.capture(&ops)?;
        // A long league comes to hundreds of kinds of passes; beyond this, start over. Graphs go while no other thread records one, as
        // memory does.
        if self.graphs.len() >= MOST_GRAPHS {
            device.synchronize()?;
            let _turn = turn();
            self.graphs.clear();
        }
        self.graphs.insert(key, graph);
        Ok(())
    }

    /// Waits for so many words of the logits and of what rows come to in brief, and reads them.
    fn read(
        &mut self,
        n_read: [usize; 2],
        n_columns: usize,
        brief: Option<BriefRows>,
    ) -> Result<Logits, NetError> {
        self.read_words(n_read, |[values, words]| {
            let values = floats(values).collect();
            let Some(BriefRows { places, n_whole, n_columns: few }) = brief else {
                return Logits::whole(values, n_columns);
            };
            let rows = words.chunks_exact(1 + few).skip(n_whole);
            let likeliest = rows.clone().map(|row| row[0]).collect();
            let mut first = Vec::with_capacity(rows.len() * few);
            rows.for_each(|row| first.extend(floats(&row[1..])));
            let brief = BriefLogits { places, n_whole, likeliest, values: first, n_columns: few };
            Logits { values, n_columns, brief: Some(brief) }
        })
    }

    /// Waits for the first words of the logits and of what rows come to in brief, and takes something from them.
    fn read_words<T>(&mut self, n: [usize; 2], take: impl FnOnce([&[u32]; 2]) -> T) -> Result<T, NetError> {
        let (device, from) = (&self.net.device, [&self.net.logits, &self.brief]);
        if n[0] + n[1] > self.results.len() {
            let words = [device.read(from[0], n[0])?, device.read(from[1], n[1])?];
            self.clock.waited = Instant::now();
            return Ok(take(words.each_ref().map(Vec::as_slice)));
        }
        download(device, &mut self.results, from, n)?;
        device.synchronize()?;
        self.clock.waited = Instant::now();
        let (logits, rest) = self.results.words().split_at(n[0]);
        Ok(take([logits, &rest[..n[1]]]))
    }

    fn ops(&mut self, key: &Key) -> Result<Vec<Op>, NetError> {
        let (weights, extent, pool) = (self.weights(), key.extent, self.pool.address);
        let mut ops = if key.paged {
            self.net.forward(weights, extent, &|net, layer| paged_attention(net, pool, layer, extent))?
        } else {
            self.net.forward(weights, extent, &|net, layer| net.flat_attention(layer, extent))?
        };
        ops.push(self.net.last_norm(weights, extent));
        let d = self.net.config.d_model;
        if !key.columns.is_empty() {
            let head = weights.matrix(self.net.offsets.head + key.columns.start * d);
            let shape = Shape { f32_out: true, ..Shape::forward(extent.n_rows, d, key.columns.len()) };
            let operands = Operands::plain(head, self.net.last[1].address, self.net.logits.address);
            ops.push(self.net.device.product("head.fwd", shape, operands)?);
        }
        if let Some(few) = key.n_brief {
            let (logits, out) = (Address(self.net.logits.address), Address(self.brief.address));
            let sizes = [extent.n_rows, key.columns.len(), few].map(|n| Int(n as i32));
            let arguments = [logits, self.net.counts(), out].into_iter().chain(sizes).collect();
            ops.push(Network::rows_kernel("brief_rows", extent.n_rows, arguments));
        }
        Ok(ops)
    }

    /// Writes a batch that extends caches, already grown, into the block.
    fn pack(&mut self, caches: &[KvCacheId], batch: &Batch, rows: &[u32]) -> Result<PackedSizes, NetError> {
        let job = self.job(batch, rows);
        let caches = caches.iter().map(|id| self.pages.cache(*id)).collect::<Result<Vec<_>, _>>()?;
        self.net.fields.pack_paged(self.words.words_mut(), batch, rows, &caches, &job)
    }
}

/// Starts the way of the first words of two buffers to pinned memory that has room for them.
fn download(device: &Gpu, to: &mut Pinned, from: [&Buffer; 2], n: [usize; 2]) -> Result<(), NetError> {
    for (from, at, n) in [(from[0], 0, n[0]), (from[1], n[0], n[1])] {
        if n > 0 {
            device.download_async(to, at, from, n)?;
        }
    }
    Ok(())
}

fn floats(words: &[u32]) -> impl Iterator<Item = f32> {
    words.iter().map(|bits| f32::from_bits(*bits))
}

/// Rounds a size up, so that few graphs are needed: powers of two while small, eighths of the room after.
fn rounded(n: usize, max: usize) -> usize {
    let eighth = max / 8;
    let up = if n <= eighth {
        n.next_power_of_two().clamp(64, eighth.max(64))
    } else {
        n.div_ceil(eighth.max(1)) * eighth.max(1)
    };
    up.min(max)
}

/// Attention of a block over cached keys, after the new ones are put there.
fn paged_attention(net: &Network, pool: u64, layer: usize, extent: Extent) -> Vec<Op> {
    let b = net.layer(layer);
    let pool = Address(pool + (layer * 2 * TILE * net.config.d_model * HALF) as u64);
    let (slots, pages) = (net.field(net.fields.first_row), net.field(net.fields.targets));
    let stride = Int(net.config.n_layers as i32);
    let arguments = vec![Address(b.qk.address), Address(b.qkv.address), slots, net.counts(), pool, stride];
    let store = Op::kernel("store_pages", extent.n_tokens, 1, 64, arguments);
    let attend = Op::Kernel {
        name: "attention_paged",
        grid: ((extent.n_tiles * net.config.n_heads) as u32, 1),
        block: 128,
        shared: net.attention_shared(0),
        arguments: vec![
            Address(b.qk.address),
            pool,
            pages,
            net.field(net.fields.tiles),
            net.field(net.fields.stats),
            net.counts(),
            net.field(net.fields.prefix_end),
            net.field(net.fields.branch_start),
            Address(b.attended.address),
            stride,
            net.score_scale(),
        ],
    };
    vec![store, attend]
}

/// The wanted rows as loss rows without targets, which is how they are packed.
fn rows_only(rows: &[u32]) -> LossRows {
    LossRows {
        rows: rows.to_vec(),
        weights: vec![0.0; rows.len()],
        target_starts: vec![0; rows.len() + 1],
        normalizer: Some(1.0),
        ..LossRows::default()
    }
}

impl Decoder for CudaDecoder {
    fn config(&self) -> &TransformerConfig {
        &self.net.config
    }

    fn room(&self) -> Room {
        Room { tokens: self.room.max_tokens, rows: self.room.max_rows }
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        self.pages.open(0)
    }

    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError> {
        self.net.device.bind()?;
        let held = self.pages.cache(cache)?.clone();
        if len > held.len {
            return Err(NetError::KvCacheUse { cache, reason: "a fork cannot be longer than its origin" });
        }
        let fork = self.pages.open(len)?;
        let bytes = self.net.config.n_layers * 2 * TILE * self.net.config.d_model * HALF;
        for (from, to) in held.pages.iter().zip(&self.pages.cache(fork)?.pages) {
            let page = |number: u32| (&self.pool, number as usize * bytes);
            self.net.device.copy(page(*to), page(*from), bytes)?;
        }
        Ok(fork)
    }

    fn close(&mut self, cache: KvCacheId) {
        self.pages.close(cache);
    }

    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
        Ok(self.pages.cache(cache)?.len)
    }

    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError> {
        if len > self.pages.cache(cache)?.len {
            return Err(NetError::KvCacheUse { cache, reason: "a truncation cannot lengthen it" });
        }
        self.pages.resize(cache, len)
    }

    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        (self.clock, self.last) = (Clock::begin(), None);
        if caches.len() != batch.n_sequences() {
            return Err(NetError::Length {
                what: "caches",
                expected: batch.n_sequences(),
                got: caches.len(),
            });
        }
        let mut lengths = HashMap::new();
        for id in caches {
            if lengths.insert(*id, self.pages.cache(*id)?.len).is_some() {
                return Err(NetError::KvCacheUse { cache: *id, reason: "used twice in one batch" });
            }
        }
        batch.validate_for(&self.net.config, |sequence| lengths[&caches[sequence]])?;
        let columns = want.validate(batch.len(), self.net.config.n_outputs())?;
        let Rows { rows, brief } = Rows::new(want)?;
        self.net.device.bind()?;
        let run = || {
            for (sequence, id) in caches.iter().enumerate() {
                self.pages.resize(*id, lengths[id] + batch.sequence(sequence).len())?;
            }
            let packed = self.pack(caches, batch, &rows)?;
            self.run(packed, PassSizes::new(batch, rows.len()), true, columns, brief)
        };
        let logits = run();
        if logits.is_err() {
            // Back to what they were: the first tokens of each are untouched.
            for id in caches {
                self.pages.resize(*id, lengths[id])?;
            }
        }
        logits
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        (self.clock, self.last) = (Clock::begin(), None);
        batch.validate_for(&self.net.config, |_| 0)?;
        let columns = want.validate(batch.len(), self.net.config.n_outputs())?;
        let Rows { rows, brief } = Rows::new(want)?;
        self.net.device.bind()?;
        let job = self.job(batch, &rows);
        let fields = self.net.fields.clone();
        let packed = fields.pack(self.words.words_mut(), batch, &rows_only(&rows), &job)?;
        self.run(packed, PassSizes::new(batch, rows.len()), false, columns, brief)
    }

    fn parts_of_last_pass(&mut self) -> Result<Option<PassParts>, NetError> {
        self.profile_last_pass()
    }
}

impl Drop for CudaDecoder {
    fn drop(&mut self) {
        // A pass under way uses the buffers that go next; a failure here means the context is gone.
        let _gone_with_context = self.net.device.bind().and_then(|()| self.net.device.synchronize());
        // Graphs go before the kernels and the memory that they name, and while no other thread records one.
        let _turn = turn();
        self.graphs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PickedBy;
    use crate::cuda::check::random_stars;

    #[test]
    fn passes_of_all_sizes_fit_into_what_is_laid_out_for_them() {
        let options = CudaDecoderOptions::default();
        let room = Fields::new(options.max_tokens, options.max_rows, 2048, Some(PickedBy::Place));
        let capacity = Room { tokens: room.max_tokens, rows: room.max_rows };
        let (mut most_tokens, mut most_rows) = (0, 0);
        let mut block = vec![u32::MAX; room.words];
        for (batch, want) in random_stars(300, capacity, 2304) {
            (most_tokens, most_rows) = (most_tokens.max(batch.len()), most_rows.max(want.rows.len()));
            let n_tokens = rounded(batch.len(), room.max_tokens);
            let fields = room.of_pass(n_tokens, rounded(want.rows.len(), room.max_rows), batch.n_sequences());
            assert!(fields.words <= room.words && batch.len() <= n_tokens && n_tokens <= room.max_tokens);
            let job = Job {
                n_tokens,
                learning_rate: 0.0,
                max_positions: MAX_POSITIONS,
                gradient: false,
                classes: &[],
            };
            let packed = fields.pack(&mut block, &batch, &rows_only(&want.rows), &job).unwrap();
            assert!(packed.words == fields.targets && packed.n_walked == packed.n_tiles);
            // What the kernels index with stays inside the pass.
            let mut covered = vec![0; n_tokens];
            for tile in block[fields.tiles..].chunks_exact(4).take(packed.n_tiles) {
                let [start, len, row, n] = [tile[0], tile[1], tile[2], tile[3]].map(|word| word as usize);
                let n = if len == 0 { n } else { (len - row).min(TILE) };
                covered[start + row..start + row + n].iter_mut().for_each(|c| *c += 1);
            }
            assert_eq!(covered, vec![1; n_tokens]);
            let of = |at: usize, n: usize| &block[at..at + n];
            assert!(of(fields.tokens, n_tokens).iter().all(|id| *id < 2304));
            assert!(of(fields.positions, n_tokens).iter().all(|position| *position < 512));
            assert!(of(fields.rows, packed.n_rows).iter().all(|row| (*row as usize) < batch.len()));
        }
        assert_eq!((most_tokens, most_rows), (capacity.tokens, capacity.rows), "full passes are among them");
    }

    #[test]
    fn sizes_are_rounded_up_within_the_room() {
        for max in [512, 4096, 16_384, 32_768] {
            for n in 0..=max {
                let up = rounded(n, max);
                assert!(n <= up && up <= max && up.is_multiple_of(64), "{n} of {max}: {up}");
            }
        }
        assert_eq!(rounded(600, 512), 512, "which is refused when it is packed");
    }
}
