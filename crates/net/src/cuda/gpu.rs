//! One GPU: context, streams, the compiled kernels and copies.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudarc::driver::{CudaContext, CudaEvent, CudaFunction, CudaGraph, CudaStream, result, sys};
use cudarc::nvrtc::Ptx;

use super::blas::Blas;
use super::memory::{Buffer, Pinned, turn};
use super::op::{Argument, Op};
use super::program::{Kernels, Program};
use crate::error::NetError;

/// Turns an error of the driver into ours.
pub(super) fn failed<E: Debug>(what: &'static str) -> impl Fn(E) -> NetError {
    move |error| NetError::Device(format!("{what}: {error:?}"))
}

/// A GPU with the kernels of one network on it.
pub(super) struct Gpu {
    /// The context; bound to the calling thread by [`Device::bind`].
    pub(super) context: Arc<CudaContext>,
    /// Everything but uploads runs here.
    pub(super) stream: Arc<CudaStream>,
    /// Uploads of the next batch.
    pub(super) uploads: Arc<CudaStream>,
    functions: HashMap<&'static str, CudaFunction>,
    /// Matrix products.
    pub(super) blas: Blas,
    /// Name, compute capability, library versions, registers: for people.
    pub(super) description: String,
    /// Multiprocessors.
    pub(super) n_sms: usize,
}

// SAFETY: the driver's handles may be used from any thread; the context is bound at every entry, and `Device` is not `Sync`.
unsafe impl Send for Gpu {}

impl Gpu {
    /// Opens GPU `ordinal` and compiles the kernels of a network.
    pub(super) fn open(ordinal: usize, kernels: &Kernels) -> Result<Self, NetError> {
        super::available()?;
        super::IS_OPEN.store(true, Ordering::Release);
        let context = CudaContext::new(ordinal).map_err(failed("opening the GPU"))?;
        // SAFETY: all buffers are plain allocations ordered by our own events, so cudarc's tracking has nothing to protect, and its
        // events would break graph capture.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("stream"))?;
        let uploads = context.new_stream().map_err(failed("stream"))?;
        let capability = context.compute_capability().map_err(failed("compute capability"))?;
        if capability.0 < 8 {
            return Err(NetError::Device(format!(
                "{} has compute capability {}.{}; the kernels need 8.0",
                context.name().unwrap_or_default(),
                capability.0,
                capability.1
            )));
        }
        let program = Program::compile(kernels, capability)?;
        let (spills, size) = (program.spills(), program.image.len());
        let module =
            context.load_module(Ptx::from_binary(program.image)).map_err(failed("loading the kernels"))?;
        let mut functions = HashMap::new();
        let mut registers = String::new();
        for &name in &kernels.names {
            let function = module
                .load_function(name)
                .map_err(|error| NetError::Device(format!("kernel {name}: {error:?}")))?;
            registers += &format!(" {name}:{}", function.num_regs().unwrap_or(-1));
            // Blocks may use more than 48 KB of shared memory only after asking for it.
            function
                .set_attribute(
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    SHARED_LIMIT,
                )
                .map_err(failed("shared memory"))?;
            functions.insert(name, function);
        }
        let n_sms = context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .unwrap_or(132);
        let blas = Blas::new(&context)?;
        let description = format!(
            "{} (sm_{}{}, {n_sms} SMs), cublasLt {}, {size} bytes of kernels, spills: {spills:?}\nregisters:{registers}",
            context.name().unwrap_or_default(),
            capability.0,
            capability.1,
            blas.version(),
        );
        Ok(Self { context, stream, uploads, functions, blas, description, n_sms: n_sms.max(1) as usize })
    }

    /// What blocks may use of it.
    pub(super) fn shared_memory(&self) -> SharedMemory {
        let of = |attribute| self.context.attribute(attribute).map_or(0, |bytes| bytes.max(0) as usize);
        SharedMemory {
            of_block: of(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            of_multiprocessor: of(
                sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            ),
            reserved: of(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
        }
    }

    /// Lets blocks of a kernel have up to `bytes`, and as many of them as fit share a multiprocessor.
    pub(super) fn allow_shared(&self, name: &'static str, bytes: usize) -> Result<(), NetError> {
        let function =
            self.functions.get(name).ok_or_else(|| NetError::Device(format!("no kernel {name}")))?;
        let set =
            |attribute, value| function.set_attribute(attribute, value).map_err(failed("shared memory"));
        set(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes as i32)?;
        set(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100)
    }

    /// Makes the context current; every public entry calls it, since a trainer may move between threads.
    pub(super) fn bind(&self) -> Result<(), NetError> {
        self.context.bind_to_thread().map_err(failed("binding the context"))
    }

    /// Cleared device memory.
    pub(super) fn zeroed(&self, bytes: usize) -> Result<Buffer, NetError> {
        Buffer::zeroed(&self.context, bytes)
    }

    /// Cleared pinned memory.
    pub(super) fn pinned(&self, words: usize) -> Result<Pinned, NetError> {
        Pinned::zeroed(&self.context, words)
    }

    /// Waits for all work on the main stream.
    pub(super) fn synchronize(&self) -> Result<(), NetError> {
        self.stream.synchronize().map_err(failed("waiting for the GPU"))
    }

    /// Copies to the beginning of a buffer and waits.
    pub(super) fn write<T: Copy>(&self, to: &Buffer, values: &[T]) -> Result<(), NetError> {
        self.write_at(to, 0, values)
    }

    /// Copies to a buffer from element `first` on, and waits.
    pub(super) fn write_at<T: Copy>(&self, to: &Buffer, first: usize, values: &[T]) -> Result<(), NetError> {
        let address = to.range(first * size_of::<T>(), size_of_val(values))?;
        self.synchronize()?;
        // SAFETY: the buffer has room for the values there.
        unsafe { result::memcpy_htod_sync(address, values) }.map_err(failed("copy to the device"))?;
        // From pageable memory the call may return before the last transfer, and our streams do not wait for the null stream.
        let _turn = turn();
        self.context.synchronize().map_err(failed("copy to the device"))
    }

    /// New device memory with these values.
    pub(super) fn upload<T: Copy>(&self, values: &[T]) -> Result<Buffer, NetError> {
        let buffer = self.zeroed(size_of_val(values))?;
        self.write(&buffer, values)?;
        Ok(buffer)
    }

    /// Waits for the main stream and copies the first `len` values of a buffer from the device.
    pub(super) fn read<T: Copy + Default>(&self, from: &Buffer, len: usize) -> Result<Vec<T>, NetError> {
        let address = from.range(0, len * size_of::<T>())?;
        self.synchronize()?;
        let mut values = vec![T::default(); len];
        if len == 0 {
            return Ok(values);
        }
        // SAFETY: the buffer holds `len` values.
        unsafe { result::memcpy_dtoh_sync(&mut values, address) }.map_err(failed("copy from the device"))?;
        Ok(values)
    }

    /// Copies pinned words to the beginning of a buffer on a stream, without waiting.
    pub(super) fn upload_async(
        &self,
        stream: &CudaStream,
        to: &Buffer,
        from: &Pinned,
        words: usize,
    ) -> Result<(), NetError> {
        let address = to.range(0, 4 * words)?;
        // SAFETY: the buffer has room. Pinned memory outlives the copy: its owner waits for the copy's event before it writes or
        // drops it.
        unsafe { result::memcpy_htod_async(address, &from.words()[..words], stream.cu_stream()) }
            .map_err(failed("upload"))
    }

    /// Copies the first words of a buffer to pinned memory from word `at` on, on the main stream, without waiting.
    pub(super) fn download_async(
        &self,
        to: &mut Pinned,
        at: usize,
        from: &Buffer,
        words: usize,
    ) -> Result<(), NetError> {
        let address = from.range(0, 4 * words)?;
        // SAFETY: as for `upload_async`.
        unsafe {
            result::memcpy_dtoh_async(&mut to.words_mut()[at..at + words], address, self.stream.cu_stream())
        }
        .map_err(failed("download"))
    }

    /// Copies `bytes` within the device on the main stream, to and from a byte of a buffer each.
    pub(super) fn copy(
        &self,
        (to, to_byte): (&Buffer, usize),
        (from, from_byte): (&Buffer, usize),
        bytes: usize,
    ) -> Result<(), NetError> {
        let (to, from) = (to.range(to_byte, bytes)?, from.range(from_byte, bytes)?);
        // SAFETY: both ranges are inside their buffers.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }.map_err(failed("copy"))
    }

    /// An event; `timed` ones can be compared.
    pub(super) fn event(&self, timed: bool) -> Result<CudaEvent, NetError> {
        let flags = if timed {
            sys::CUevent_flags::CU_EVENT_DEFAULT
        } else {
            sys::CUevent_flags::CU_EVENT_DISABLE_TIMING
        };
        self.context.new_event(Some(flags)).map_err(failed("event"))
    }

    /// Starts one operation on the main stream.
    pub(super) fn run(&self, op: &Op) -> Result<(), NetError> {
        match op {
            Op::Kernel { name, grid, block, shared, arguments } => {
                let function =
                    self.functions.get(name).ok_or_else(|| NetError::Device(format!("no kernel {name}")))?;
                let mut pointers: Vec<*mut c_void> = arguments.iter().map(Argument::pointer).collect();
                // SAFETY: the arguments have the types and order of the kernel's parameters (checked against the CPU by `cuda_check`), and
                // point into buffers that the owner of the operation keeps alive.
                unsafe {
                    result::launch_kernel(
                        function.cu_function(),
                        (grid.0, grid.1, 1),
                        (*block, 1, 1),
                        *shared,
                        self.stream.cu_stream(),
                        &mut pointers,
                    )
                }
                .map_err(|error| NetError::Device(format!("launching {name}: {error:?}")))
            }
            Op::Product { plan, operands, .. } => self.blas.run(*plan, operands, &self.stream),
            Op::Clear { address, bytes } => {
                // SAFETY: a range inside a live buffer.
                unsafe { result::memset_d8_async(*address, 0, *bytes, self.stream.cu_stream()) }
                    .map_err(failed("clearing"))
            }
        }
    }

    /// Starts operations one after the other.
    pub(super) fn run_all(&self, ops: &[Op]) -> Result<(), NetError> {
        ops.iter().try_for_each(|op| self.run(op))
    }

    /// Runs operations one after the other and waits for each, so that an error names the operation.
    pub(super) fn run_stepwise(&self, ops: &[Op]) -> Result<(), NetError> {
        for (index, op) in ops.iter().enumerate() {
            self.run(op).and_then(|()| self.synchronize()).map_err(|error| {
                let what = match op {
                    Op::Product { name, plan, .. } => format!("{name}, {}", self.blas.explain(*plan)),
                    Op::Kernel { name, grid, block, shared, .. } => {
                        format!("{name}, grid {grid:?}, {block} threads, {shared} bytes shared")
                    }
                    Op::Clear { bytes, .. } => format!("clear, {bytes} bytes"),
                };
                NetError::Device(format!("operation {index} of {}, {what}: {error}", ops.len()))
            })?;
        }
        Ok(())
    }

    /// Seconds of parts on the main stream, started in order with an event after each; the least of five rounds.
    pub(super) fn times(
        &self,
        n: usize,
        mut start: impl FnMut(usize) -> Result<(), NetError>,
    ) -> Result<Vec<f64>, NetError> {
        let events = (0..=n).map(|_| self.event(true)).collect::<Result<Vec<_>, _>>()?;
        let mut times = vec![f64::INFINITY; n];
        for _ in 0..5 {
            events[0].record(&self.stream).map_err(failed("event"))?;
            for (part, event) in events[1..].iter().enumerate() {
                start(part)?;
                event.record(&self.stream).map_err(failed("event"))?;
            }
            self.synchronize()?;
            for (time, pair) in times.iter_mut().zip(events.windows(2)) {
                let ms = pair[0].elapsed_ms(&pair[1]).map_err(failed("elapsed"))?;
                *time = time.min(1e-3 * f64::from(ms));
            }
        }
        Ok(times)
    }

    /// Records operations as a graph. They must have run once before, since libraries load lazily.
    pub(super) fn capture(&self, ops: &[Op]) -> Result<Graph, NetError> {
        let _turn = turn();
        self.synchronize()?;
        self.stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(failed("begin capture"))?;
        let recorded = self.run_all(ops);
        let graph = self.stream.end_capture(sys::CUgraphInstantiate_flags(0));
        recorded?;
        let graph = graph
            .map_err(failed("end capture"))?
            .ok_or_else(|| NetError::Device("the captured graph is empty".into()))?;
        graph.upload().map_err(failed("graph upload"))?;
        self.synchronize()?;
        Ok(Graph(graph))
    }
}

/// Name, launches and seconds of each kind of operation, the slowest first.
pub(super) fn by_name(ops: &[Op], times: &[f64]) -> Vec<(String, usize, f64)> {
    let mut parts: Vec<(String, usize, f64)> = Vec::new();
    for (op, time) in ops.iter().zip(times) {
        match parts.iter_mut().find(|(name, ..)| name == op.name()) {
            Some((_, n, seconds)) => (*n, *seconds) = (*n + 1, *seconds + time),
            None => parts.push((op.name().to_owned(), 1, *time)),
        }
    }
    parts.sort_by(|one, other| other.2.total_cmp(&one.2));
    parts
}

/// Shared memory of a GPU, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedMemory {
    /// That a block may have.
    pub(super) of_block: usize,
    /// That a multiprocessor has.
    pub(super) of_multiprocessor: usize,
    /// Of which each block takes so much more than it asks for.
    pub(super) reserved: usize,
}

/// Dynamic shared memory a block may ask for: what every GPU from compute capability 8.6 on has.
const SHARED_LIMIT: i32 = 99 * 1024 - 24 * 1024;

/// A recorded sequence of operations.
pub(super) struct Graph(CudaGraph);

// SAFETY: as for `Device`; a graph is launched only by the owner of its device.
unsafe impl Send for Graph {}

impl Graph {
    /// Starts all of it on the main stream.
    pub(super) fn launch(&self) -> Result<(), NetError> {
        self.0.launch().map_err(failed("graph launch"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_operations_add_up_by_name() {
        let kernel = |name| Op::kernel(name, 1, 1, 32, Vec::new());
        let ops = ["norm_rows", "rotate_qk", "norm_rows", "embed_norm"].map(kernel);
        let parts = by_name(&ops, &[0.5, 2.0, 1.0, 0.25]);
        let expected = [("rotate_qk", 1, 2.0), ("norm_rows", 2, 1.5), ("embed_norm", 1, 0.25)];
        assert_eq!(parts, expected.map(|(name, n, seconds)| (name.to_owned(), n, seconds)));
    }
}
