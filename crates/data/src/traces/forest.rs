//! Trees of many roots, grown level by level.

use super::{Labeler, Rows, TraceInput, TraceSizes};
use crate::job::SetAside;
use crate::wire::TraceRow;
use mavis_game::{Game, Position, Rules};
use mavis_lang::Top;
use mavis_lang::trace::{Evaluation, SearchTree, Shape, trace_example};
use mavis_queue::Beat;
use mavis_stable::seed::derive;
use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Trees that grow together.
pub(super) struct Forest<'a> {
    input: &'a TraceInput,
    /// What fits, by game.
    shapes: HashMap<Rules, TraceSizes>,
}

/// One root and what becomes of it.
struct Growing {
    random: Xoshiro256PlusPlus,
    shapes: Vec<Shape>,
    tree: SearchTree,
    failure: Option<String>,
}

impl<'a> Forest<'a> {
    /// The roots of a job.
    ///
    /// # Errors
    /// When no trace of one of the games fits into the context.
    pub(super) fn new(input: &'a TraceInput) -> Result<Self, String> {
        let mut shapes = HashMap::new();
        for root in &input.roots {
            if let Entry::Vacant(vacant) = shapes.entry(root.rules()) {
                vacant.insert(input.plan.sizes_for(root.rules())?);
            }
        }
        Ok(Self { input, shapes })
    }

    /// Grows the trees and writes their traces.
    ///
    /// # Errors
    /// Those of the labeler.
    pub(super) fn grow(&self, labeler: &mut impl Labeler, beat: &Beat) -> Result<Vec<Rows>, String> {
        let roots = (self.input.first..).zip(&self.input.roots);
        let mut growing: Vec<Growing> = roots.map(|(number, root)| self.begin(number, root)).collect();
        loop {
            beat.progress();
            let open: Vec<Position> = growing.iter().flat_map(Growing::open).cloned().collect();
            if open.is_empty() {
                break;
            }
            let mut labels = labeler.label(&open)?.into_iter();
            growing.iter_mut().for_each(|root| root.take(&mut labels));
        }
        Ok(growing.into_iter().map(|root| self.rows(root)).collect())
    }

    fn begin(&self, number: u64, root: &Position) -> Growing {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(derive(self.input.seed, &[number]));
        let shapes = self.shapes[&root.rules()].draw(&self.input.plan, &mut random);
        let sizes: Vec<(u16, u16)> = shapes.iter().map(|shape| (shape.breadth, shape.depth)).collect();
        Growing { random, tree: SearchTree::new(root, &sizes), shapes, failure: None }
    }

    fn rows(&self, mut root: Growing) -> Rows {
        let mut rows = Vec::with_capacity(root.shapes.len());
        for shape in root.shapes {
            let Some(trace) = root.tree.trace(shape, &mut root.random) else {
                let position = root.tree.root().to_string();
                let reason = root.failure.unwrap_or_else(|| "the tree is not complete".to_owned());
                return Err(SetAside { position, reason });
            };
            let example = trace_example(&trace);
            // Lists of all moves may be longer than anybody knew.
            if example.tokens.len() > self.input.plan.context {
                continue;
            }
            rows.push(TraceRow {
                game: shape.rules.to_string(),
                position: trace.root.position.to_string(),
                breadth: i32::from(shape.breadth),
                depth: i32::from(shape.depth),
                top: match shape.top {
                    Top::All => None,
                    Top::Best(k) => Some(i32::from(k)),
                },
                compact: i32::from(shape.compact),
                n_nodes: trace.root.n_nodes() as i32,
                loss_start: example.input_len as i32,
                tokens: example.tokens.iter().map(|&token| i32::from(token)).collect(),
                oracle: Arc::clone(&self.input.oracle),
            });
        }
        Ok(rows)
    }
}

impl Growing {
    /// Positions to judge; none once one of them has failed.
    fn open(&self) -> impl Iterator<Item = &Position> {
        self.tree.open().filter(|_| self.failure.is_none())
    }

    fn take(&mut self, labels: &mut impl Iterator<Item = Result<Evaluation, String>>) {
        let n_open = self.open().count();
        let mut evaluations = Vec::with_capacity(n_open);
        for label in labels.take(n_open) {
            match label {
                Ok(mut evaluation) => {
                    // Among equals chance decides, once for all traces of the root.
                    evaluation.moves.shuffle(&mut self.random);
                    evaluations.push(evaluation);
                }
                Err(reason) => {
                    self.failure.get_or_insert(reason);
                }
            }
        }
        if self.failure.is_none() {
            self.tree.grow(evaluations);
        }
    }
}
