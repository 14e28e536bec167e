//! Ranks that sum their gradients on their GPUs, by NCCL.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::{CudaContext, sys};
use cudarc::nccl::{result as nccl, sys as nccl_sys};

use super::gpu::failed;
use crate::all_reduce::{AllReduce, AllReduceError, DeviceBuffer, SocketRank};
use crate::error::NetError;

/// Pause between two looks at a sum under way.
const PAUSE: Duration = Duration::from_micros(20);
/// Looks between two questions whether the other ranks are still there.
const LOOKS: u32 = 1000;

/// A rank with a GPU: gradients are summed by NCCL, everything else through the sockets where the ranks met, which also
/// tell when a rank is gone; NCCL itself would wait for it forever.
pub struct NcclRank {
    control: SocketRank,
    context: Arc<CudaContext>,
    /// `None` once it was given up.
    communicator: Mutex<Option<Communicator>>,
}

struct Communicator(nccl_sys::ncclComm_t);

// SAFETY: a communicator may be used from any thread, one at a time; the mutex around it sees to that.
unsafe impl Send for Communicator {}

impl NcclRank {
    /// Joins the communicator of all ranks with the GPU of this one: `rank` modulo the GPUs of this machine.
    ///
    /// # Errors
    /// When the library or the GPU is missing, here or on another rank.
    pub fn new(control: SocketRank) -> Result<Self, NetError> {
        let context = super::available().and_then(|()| {
            // SAFETY: it only looks for the library; cudarc would panic later when it is missing.
            if !unsafe { nccl_sys::is_culib_present() } {
                let missing = "libnccl is not found; put its folder in LD_LIBRARY_PATH";
                return Err(NetError::Device(missing.into()));
            }
            super::IS_OPEN.store(true, Ordering::Release);
            CudaContext::new(gpu_of(control.rank())?).map_err(failed("opening the GPU"))
        })?;
        // Nobody enters NCCL, which waits for all, before all are ready.
        control.sum(&mut [0.0])?;
        let mut id = Vec::new();
        if control.rank() == 0 {
            let own = nccl::get_uniqueid().map_err(trouble("ncclGetUniqueId"))?;
            id = own.internal.iter().map(|byte| *byte as u8).collect();
        }
        control.share(&mut id)?;
        let mut unique = nccl_sys::ncclUniqueId { internal: [0; 128] };
        unique.internal.iter_mut().zip(&id).for_each(|(to, byte)| *to = *byte as _);
        context.bind_to_thread().map_err(failed("binding the context"))?;
        let mut communicator = std::ptr::null_mut();
        let (n_ranks, rank) = (control.n_ranks() as i32, control.rank() as i32);
        // SAFETY: the pointer is that of a local that outlives the call, the id is that of rank 0, and the context is current.
        unsafe { nccl::comm_init_rank(&mut communicator, n_ranks, unique, rank) }
            .map_err(trouble("ncclCommInitRank"))?;
        Ok(Self { control, context, communicator: Mutex::new(Some(Communicator(communicator))) })
    }

    /// Waits for the work of a stream, as long as all ranks are there.
    fn wait(&self, stream: sys::CUstream) -> Result<(), AllReduceError> {
        for look in 1_u32.. {
            // SAFETY: the stream belongs to the trainer that called, which waits for this.
            match unsafe { sys::cuStreamQuery(stream) } {
                sys::CUresult::CUDA_SUCCESS => return Ok(()),
                sys::CUresult::CUDA_ERROR_NOT_READY => {}
                error => return Err(AllReduceError::Transport(format!("the sum failed: {error:?}"))),
            }
            if look.is_multiple_of(LOOKS) {
                self.control.check()?;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// The GPU of a rank; ranks of one machine have consecutive numbers.
pub(crate) fn gpu_of(rank: usize) -> Result<usize, NetError> {
    let n_gpus = CudaContext::device_count().map_err(failed("counting GPUs"))?;
    Ok(rank % n_gpus.max(1) as usize)
}

fn trouble(what: &'static str) -> impl Fn(nccl::NcclError) -> AllReduceError {
    move |error| AllReduceError::Transport(format!("{what}: {:?}", error.0))
}

impl AllReduce for NcclRank {
    fn rank(&self) -> usize {
        self.control.rank()
    }

    fn n_ranks(&self) -> usize {
        self.control.n_ranks()
    }

    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError> {
        self.control.sum(buffer)
    }

    fn sum_on_device(&self, buffer: DeviceBuffer) -> Result<bool, AllReduceError> {
        let mut communicator = self.communicator.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Communicator(handle)) = &*communicator else {
            return Err(AllReduceError::Transport("the ranks have parted".into()));
        };
        let (handle, address) = (*handle, buffer.address as *mut std::ffi::c_void);
        let bound = self.context.bind_to_thread();
        bound.map_err(|error| AllReduceError::Transport(format!("binding the context: {error:?}")))?;
        // SAFETY: the caller's buffer has so many floats and lives until the stream's work is done, which is waited for.
        let started = unsafe {
            nccl::all_reduce(
                address,
                address,
                buffer.len,
                nccl_sys::ncclDataType_t::ncclFloat32,
                nccl_sys::ncclRedOp_t::ncclSum,
                handle,
                buffer.stream as nccl_sys::cudaStream_t,
            )
        };
        let summed =
            started.map_err(trouble("ncclAllReduce")).and_then(|_| self.wait(buffer.stream as sys::CUstream));
        if summed.is_err() {
            *communicator = None;
            // SAFETY: the communicator is given up here and nowhere else; this also ends the sum that waits on the GPU.
            let _ends_anyway = unsafe { nccl::comm_abort(handle) };
        }
        summed.map(|()| true)
    }
}

impl Drop for NcclRank {
    fn drop(&mut self) {
        let communicator = self.communicator.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Communicator(handle)) = communicator {
            // A failure here means the context is gone, and the communicator with it.
            let _gone_with_context = self.context.bind_to_thread();
            // SAFETY: no sum is under way, since each is waited for; it is destroyed once.
            let _gone_with_context = unsafe { nccl::comm_destroy(handle) };
        }
    }
}
