//! Summing a buffer over ranks that train together.

mod socket;
mod thread;

pub use socket::{Hello, SocketRank};
pub use thread::ThreadRank;

/// One rank's end of a group that sums buffers.
///
/// All ranks call [`sum`](AllReduce::sum) in the same order with buffers of one length.
pub trait AllReduce: Send + Sync {
    /// This rank, from zero.
    fn rank(&self) -> usize;

    /// Ranks in the group.
    fn n_ranks(&self) -> usize;

    /// Replaces the buffer with the sum over all ranks, bit for bit the same on each.
    ///
    /// # Errors
    /// When another rank left, or came with another length.
    fn sum(&self, buffer: &mut [f32]) -> Result<(), AllReduceError>;

    /// The same for floats in the memory of this rank's GPU; `false` means that this transport sums in host memory only and
    /// nothing was done.
    ///
    /// # Errors
    /// As [`sum`](AllReduce::sum).
    fn sum_on_device(&self, buffer: DeviceBuffer) -> Result<bool, AllReduceError> {
        let _ = buffer;
        Ok(false)
    }
}

/// Floats in the memory of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBuffer {
    /// Their address there.
    pub address: u64,
    /// How many.
    pub len: usize,
    /// The stream whose work writes and reads them.
    pub stream: u64,
}

/// Why ranks could not sum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllReduceError {
    /// A rank ended while others waited for it.
    #[error("rank {0} left the group, so the other ranks end too")]
    RankLeft(usize),
    /// Buffers of unequal length.
    #[error("this rank has {got} elements, another has {expected}")]
    Length {
        /// Length of the first rank's buffer.
        expected: usize,
        /// Length of this one's.
        got: usize,
    },
    /// The ranks did not find each other.
    #[error("{0}")]
    Meeting(String),
    /// The transport failed, in its own words.
    #[error("transport: {0}")]
    Transport(String),
}
