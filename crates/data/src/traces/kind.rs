//! Roots to search from as a job, here or on another machine.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use super::forest::Forest;
use super::{Labeler, TracePlan};
use crate::job::SetAside;
use crate::wire::{OracleName, TraceInputWire, TraceRow, TracedWire};
use mavis_game::Position;
use mavis_oracle::Identity;
use mavis_queue::{Beat, JobKind, Runner, read_json, write_json};
use std::sync::Arc;

/// The kind of job: roots in, their traces out.
pub enum TraceJob {}

/// Roots whose trees grow together, and what is written of them.
#[derive(Clone, Debug)]
pub struct TraceInput {
    /// Who judges: the line of an oracle, or of a model, from which a worker on another machine makes it.
    pub line: Arc<str>,
    /// What the judge must call itself.
    pub oracle: Arc<OracleName>,
    /// What is drawn for each root.
    pub plan: Arc<TracePlan>,
    /// Makes the draws repeat exactly.
    pub seed: u64,
    /// The number of the first root.
    pub first: u64,
    /// The roots, by consecutive numbers.
    pub roots: Vec<Position>,
}

/// The traces of one root, or why it has none.
pub type Rows = Result<Vec<TraceRow>, SetAside>;

impl JobKind for TraceJob {
    const NAME: &'static str = "traces";
    type Input = TraceInput;
    type Output = Vec<Rows>;

    fn write_input(input: &TraceInput) -> Vec<u8> {
        write_json(&TraceInputWire::from(input))
    }

    fn read_input(bytes: &[u8]) -> Result<TraceInput, String> {
        read_json::<TraceInputWire>(bytes)?.input()
    }

    fn write_output(output: &Vec<Rows>) -> Vec<u8> {
        write_json(&output.iter().map(TracedWire::from).collect::<Vec<_>>())
    }

    fn read_output(bytes: &[u8]) -> Result<Vec<Rows>, String> {
        let mut oracle = Arc::default();
        let rows = read_json::<Vec<TracedWire>>(bytes)?;
        Ok(rows.into_iter().map(|root| root.rows(&mut oracle)).collect())
    }
}

/// A labeler that does such jobs.
pub struct Grower<L>(L);

impl<L: Labeler> Grower<L> {
    /// A runner with a labeler of its own.
    #[must_use]
    pub fn new(labeler: L) -> Self {
        Self(labeler)
    }

    /// The labeler's identity.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.0.identity()
    }
}

impl<L: Labeler> Runner<TraceJob> for Grower<L> {
    fn run(&mut self, input: TraceInput, beat: &Beat) -> Result<Vec<Rows>, String> {
        Forest::new(&input)?.grow(&mut self.0, beat)
    }
}
