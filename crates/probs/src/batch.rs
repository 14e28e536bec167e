//! Many positions through a net at once, each different one only once.

use crate::{Planes, ProbsError};
use mavis_game::Move;
use mavis_net::{ConvNet, Weights};
use rayon::prelude::*;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// Positions a call of a net brings along on CPU: enough for its threads, few enough for its caches.
const BOARDS: usize = 256;

/// A net that answers for positions and counts how many it has seen.
pub(crate) struct Asker<'a> {
    net: &'a dyn ConvNet,
    weights: Weights,
    n_evaluations: AtomicU64,
}

/// Outputs of a net, one row a position.
pub(crate) struct Answers {
    outputs: Vec<f32>,
    rows: Vec<u32>,
    width: usize,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(net: &'a dyn ConvNet, weights: Weights) -> Self {
        Self { net, weights, n_evaluations: AtomicU64::new(0) }
    }

    /// Positions passed through the net so far.
    pub(crate) fn n_evaluations(&self) -> u64 {
        self.n_evaluations.load(Ordering::Relaxed)
    }

    /// Positions that should be asked for together.
    pub(crate) fn batch_hint(&self) -> usize {
        self.net.batch_hint().max(BOARDS)
    }

    /// Positions that take about the time of one.
    pub(crate) fn boards_as_one(&self) -> u32 {
        u32::try_from(self.net.boards_as_one()).unwrap_or(u32::MAX)
    }

    /// Outputs for positions in any number; equal ones are passed through the net once.
    pub(crate) fn ask<G: Planes>(&self, positions: &[&G]) -> Result<Answers, ProbsError> {
        let mut places: KeyMap<u32> = KeyMap::with_capacity_and_hasher(positions.len(), Default::default());
        let mut different: Vec<&G> = Vec::with_capacity(positions.len());
        let rows = positions
            .iter()
            .map(|position| {
                *places.entry(position.key()).or_insert_with(|| {
                    different.push(position);
                    different.len() as u32 - 1
                })
            })
            .collect();
        let width = self.net.n_outputs();
        let mut outputs = Vec::with_capacity(different.len() * width);
        let size = self.net.config().n_inputs();
        for chunk in different.chunks(self.batch_hint()) {
            let mut planes = vec![0.0; chunk.len() * size];
            planes
                .par_chunks_mut(size)
                .with_min_len(2 * BOARDS)
                .zip(chunk)
                .for_each(|(planes, position)| position.write(planes));
            outputs.extend(self.net.predict(&planes, self.weights)?);
        }
        self.n_evaluations.fetch_add(different.len() as u64, Ordering::Relaxed);
        Ok(Answers { outputs, rows, width })
    }
}

impl Answers {
    /// The outputs for one of the positions asked for.
    pub(crate) fn row(&self, index: usize) -> &[f32] {
        &self.outputs[self.rows[index] as usize * self.width..][..self.width]
    }

    /// The first output for one of the positions asked for.
    pub(crate) fn first(&self, index: usize) -> f32 {
        self.outputs[self.rows[index] as usize * self.width]
    }

    /// The outputs for the legal moves of a position, in the order of the rules.
    pub(crate) fn moves<G: Planes>(&self, index: usize, position: &G) -> Vec<(Move, f32)> {
        let row = self.row(index);
        legal_moves(position).into_iter().map(|mv| (mv, row[position.action(mv)])).collect()
    }
}

/// Every legal move.
pub(crate) fn legal_moves<G: Planes>(position: &G) -> mavis_game::Moves {
    let mut moves = mavis_game::Moves::new();
    position.legal_moves_into(&mut moves);
    moves
}

/// A map from keys of positions, which need little mixing.
pub(crate) type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;

/// Fibonacci hashing of one 64-bit key.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The map takes its bucket from the low bits and its tag from the high ones.
        self.0 = mixed ^ mixed >> 32;
    }
}
