//! A run that several processes share: rank 0 keeps the folder, all make the same steps.

use super::{Event, Keeper};
use crate::ModelError;
use mavis_net::{AllReduce, NetError, SocketRank, TrainState, Trainer};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The keeper of a rank other than the first, which leaves log and checkpoints to that one.
pub struct Follower {
    ranks: Arc<dyn AllReduce>,
    stop: Arc<AtomicBool>,
}

impl Follower {
    /// A follower in a group; raising `stop` ends the run on all ranks.
    #[must_use]
    pub fn new(ranks: Arc<dyn AllReduce>, stop: Arc<AtomicBool>) -> Self {
        Self { ranks, stop }
    }
}

impl Keeper for Follower {
    fn log(&mut self, _: &Event) -> Result<(), ModelError> {
        Ok(())
    }

    fn checkpoint(&mut self, _: &mut dyn Trainer) -> Result<(), ModelError> {
        Ok(())
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn ranks(&self) -> Option<&dyn AllReduce> {
        Some(&*self.ranks)
    }
}

/// Gives every rank the state of rank 0, bit for bit.
///
/// # Errors
/// When a rank left.
pub fn share_state(ranks: &SocketRank, mut state: TrainState) -> Result<TrainState, ModelError> {
    let mut bytes = state.step.to_le_bytes().to_vec();
    ranks.share(&mut bytes).map_err(NetError::from)?;
    state.step = bytes.first_chunk().map_or(0, |step| u64::from_le_bytes(*step));
    for buffer in
        [&mut state.parameters, &mut state.first_moment, &mut state.second_moment, &mut state.average]
    {
        let mut bytes: Vec<u8> = buffer.iter().flat_map(|value| value.to_le_bytes()).collect();
        ranks.share(&mut bytes).map_err(NetError::from)?;
        *buffer = bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    }
    Ok(state)
}

/// How far the run is, and whether it ends now: the clock of rank 0 counts, and any rank may end the run.
pub(super) fn agreed(keeper: &dyn Keeper, progress: f32) -> Result<(f32, bool), ModelError> {
    let stop = keeper.should_stop();
    let Some(ranks) = keeper.ranks() else { return Ok((progress, stop)) };
    let mut words = [if ranks.rank() == 0 { progress } else { 0.0 }, f32::from(u8::from(stop))];
    ranks.sum(&mut words).map_err(NetError::from)?;
    Ok((words[0], words[1] > 0.0))
}

/// Whether this process measures the network and keeps what comes of it.
pub(super) fn leads(keeper: &dyn Keeper) -> bool {
    keeper.ranks().is_none_or(|ranks| ranks.rank() == 0)
}
