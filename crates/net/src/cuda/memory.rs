//! Memory on the device, and pinned memory beside it.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, result};

use super::gpu::failed;
use crate::error::NetError;

/// Held while a stream is captured, and while memory comes or goes or the whole context is waited for: networks on several threads share one context, and the
/// driver refuses the wait, and spoils the graph, when both happen at once.
pub(super) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held while a network prepares a kind of pass: chooses algorithms, runs it for the first time and records it. The times of algorithms mean
/// little beside those of another network, and the libraries load kernels at their first launch, which should not meet a recording. A thread
/// that holds this may take [`turn`]; never the other way round.
pub(super) fn recording() -> MutexGuard<'static, ()> {
    static RECORDING: Mutex<()> = Mutex::new(());
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block of device memory that lives as long as this value. Plain allocations, because a pool would be in the way of
/// graph capture.
pub(super) struct Buffer {
    /// Address on the device, a multiple of 256.
    pub(super) address: u64,
    /// Size.
    pub(super) bytes: usize,
    context: Arc<CudaContext>,
}

impl Buffer {
    /// Allocates and clears.
    pub(super) fn zeroed(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, NetError> {
        let bytes = bytes.max(256).next_multiple_of(256);
        let _turn = turn();
        // SAFETY: the context is current on this thread (every entry of the module binds it); the block is ours.
        let address = unsafe {
            let address = result::malloc_sync(bytes).map_err(failed("allocating device memory"))?;
            result::memset_d8_sync(address, 0, bytes).map_err(failed("clearing device memory"))?;
            address
        };
        // Despite its name that call returns before the memory is clear, and our streams do not wait for the null stream: a kernel could
        // write first and be cleared after.
        context.synchronize().map_err(failed("clearing device memory"))?;
        Ok(Self { address, bytes, context: context.clone() })
    }

    /// Makes the context of the memory current.
    pub(super) fn bind(&self) -> Result<(), NetError> {
        self.context.bind_to_thread().map_err(failed("binding the context"))
    }

    /// Address of `bytes` bytes from byte `begin` on, for a copy.
    ///
    /// # Errors
    /// When the buffer does not hold them.
    pub(super) fn range(&self, begin: usize, bytes: usize) -> Result<u64, NetError> {
        match begin.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + begin as u64),
            _ => Err(NetError::Device(format!(
                "copy of {bytes} bytes from byte {begin} of a buffer of {}",
                self.bytes
            ))),
        }
    }

    /// Address of element `index` of a type of `size` bytes.
    pub(super) fn at(&self, index: usize, size: usize) -> u64 {
        self.address + (index * size) as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // A failure here means the context is gone, and the memory with it.
        let _gone_with_context = self.context.bind_to_thread();
        let _turn = turn();
        // SAFETY: allocated by `zeroed`, freed once; freeing waits for the kernels that use it.
        let _gone_with_context = unsafe { result::free_sync(self.address) };
    }
}

/// Pinned memory of the host, which the device copies from and to while the CPU works.
pub(super) struct Pinned {
    pointer: *mut u32,
    words: usize,
    context: Arc<CudaContext>,
}

// SAFETY: plain memory, reachable from every thread; access goes through `&self` and `&mut self`.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Allocates and clears.
    pub(super) fn zeroed(context: &Arc<CudaContext>, words: usize) -> Result<Self, NetError> {
        let words = words.max(16);
        // SAFETY: the context is current; the block has `words` words, which are written before any read.
        let pointer = unsafe {
            let pointer =
                result::malloc_host(words * 4, 0).map_err(failed("allocating pinned memory"))?.cast::<u32>();
            pointer.write_bytes(0, words);
            pointer
        };
        Ok(Self { pointer, words, context: context.clone() })
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.words
    }

    /// The words. The caller sees to it that no copy is under way that writes them.
    pub(super) fn words(&self) -> &[u32] {
        // SAFETY: allocated and cleared in `zeroed`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.words) }
    }

    /// The words, to be written. The caller sees to it that no copy is under way that reads them.
    pub(super) fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and `&mut self` makes it exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.words) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // As for `Buffer`.
        let _gone_with_context = self.context.bind_to_thread();
        // SAFETY: allocated by `zeroed`, freed once.
        let _gone_with_context = unsafe { result::free_host(self.pointer.cast::<c_void>()) };
    }
}
