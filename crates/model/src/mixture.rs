//! Which examples a batch holds: a pure function of seed and batch number.

use crate::{
    ended::random_end,
    image::random_image,
    pack::{LossSettings, Packed, Packer},
    permutation::{Permutation, mix},
};
use mavis_data::{AnnotatedPosition, Annotations, RecordError};
use mavis_game::{Game, Position};
use mavis_lang::{Annotation, Commands, Example, ExampleBuilder, Given, Variety};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What examples look like; shares are chances from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExampleSettings {
    /// Share of plain stars: a state in, all moves as branches. The rest varies in every way the language allows.
    pub plain: f32,
    /// Of the rest, the share that is laid out as a star where it has a list of moves.
    pub star: f32,
    /// Of the rest, the share that tracks a state after a random legal move.
    pub tracking: f32,
    /// Share of all examples that are about a position that is over: a model that searches without the
    /// rules has to see ends by itself, and annotated positions hardly ever are ends.
    pub ended: f32,
    /// Share of all examples that show a random mirror image of their position.
    pub mirrored: f32,
}

impl Default for ExampleSettings {
    fn default() -> Self {
        Self { plain: 0.8, star: 0.3, tracking: 0.4, ended: 0.02, mirrored: 0.0 }
    }
}

/// How many examples and tokens a batch may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchSettings {
    /// Examples a step, over all sets.
    pub examples: usize,
    /// Tokens at most; examples that would not fit are left out of the batch.
    pub tokens: usize,
    /// Tokens of one sequence at most; longer examples are left out.
    pub sequence: usize,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { examples: 420, tokens: 49_152, sequence: 512 }
    }
}

/// One set of a mixture and how many examples of each batch come from it.
#[derive(Clone)]
struct Part {
    set: Arc<dyn Annotations>,
    quota: usize,
}

/// The training data of a run as numbered batches.
///
/// Batch `k` takes the same number of examples from every set, the next ones of a random order that is new for each epoch
/// of that set. It depends on nothing but the seed and `k`, so a run resumes exactly, and any thread can build any batch.
#[derive(Clone)]
pub struct Mixture {
    parts: Vec<Part>,
    seed: u64,
    batch: BatchSettings,
    examples: ExampleSettings,
    packer: Packer,
}

/// Settings of a mixture apart from its sets.
#[derive(Clone, Debug, Default)]
pub struct MixtureSettings {
    /// Seed of the order and of every draw.
    pub seed: u64,
    /// Sizes.
    pub batch: BatchSettings,
    /// What examples look like.
    pub examples: ExampleSettings,
    /// How losses are weighted.
    pub loss: LossSettings,
    /// Whether input tokens see each other fully.
    pub full_input: bool,
}

impl Mixture {
    /// A mixture of sets by weight; `None` when there is nothing to learn from.
    #[must_use]
    pub fn new(sets: Vec<(Arc<dyn Annotations>, f32)>, settings: MixtureSettings) -> Option<Self> {
        let sets: Vec<_> =
            sets.into_iter().filter(|(set, weight)| !set.is_empty() && *weight > 0.0).collect();
        let total: f32 = sets.iter().map(|(_, weight)| *weight).sum();
        if sets.is_empty() {
            return None;
        }
        let parts = sets
            .into_iter()
            .map(|(set, weight)| {
                let quota = (settings.batch.examples as f32 * weight / total).round().max(1.0) as usize;
                Part { set, quota }
            })
            .collect();
        let packer = Packer { loss: settings.loss, full_input: settings.full_input };
        Some(Self { parts, seed: settings.seed, batch: settings.batch, examples: settings.examples, packer })
    }

    /// Examples a batch holds when all fit.
    #[must_use]
    pub fn examples_per_batch(&self) -> usize {
        self.parts.iter().map(|part| part.quota).sum()
    }

    /// Positions in all sets.
    #[must_use]
    pub fn n_positions(&self) -> usize {
        self.parts.iter().map(|part| part.set.len()).sum()
    }

    /// Fills `packed` with batch number `number`.
    ///
    /// # Errors
    /// A record that cannot be used.
    pub fn fill(&self, number: u64, packed: &mut Packed) -> Result<(), RecordError> {
        packed.clear();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(self.seed ^ mix(number)));
        let mut builder = ExampleBuilder::default();
        let mut example = Example::default();
        for (part_idx, part) in self.parts.iter().enumerate() {
            let n = part.set.len() as u64;
            let first = number * part.quota as u64;
            for place in first..first + part.quota as u64 {
                let order =
                    Permutation::new(part.set.len(), mix(self.seed ^ mix(place / n) ^ part_idx as u64));
                let mut annotated = part.set.get(order.get((place % n) as usize))?;
                // No draw where nothing depends on it, so that settings without these shares give the batches they always gave.
                if self.examples.ended > 0.0 && rng.random::<f32>() < self.examples.ended {
                    annotated = random_end(&*part.set, &mut rng)?.unwrap_or(annotated);
                }
                if self.examples.mirrored > 0.0 && rng.random::<f32>() < self.examples.mirrored {
                    annotated = random_image(annotated, &mut rng);
                }
                self.push(packed, annotated, &mut builder, &mut example, &mut rng);
            }
        }
        packed.finish();
        Ok(())
    }

    fn push(
        &self,
        packed: &mut Packed,
        annotated: AnnotatedPosition,
        builder: &mut ExampleBuilder,
        example: &mut Example,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let plain = rng.random::<f32>() < self.examples.plain;
        let tracking = !plain && rng.random::<f32>() < self.examples.tracking;
        let star = plain || rng.random::<f32>() < self.examples.star;
        let rules = annotated.position.rules();
        let mut annotated = annotated;
        let mut previous = None;
        let commands = if plain {
            Commands::top_all(rules)
        } else if tracking {
            let before = track(&mut annotated, rng);
            let over = annotated.moves.is_empty() && annotated.position.outcome().is_some();
            let drawn = Variety { tracking: 1.0, ..Variety::default() }.draw(rules, 0, true, rng);
            previous = before;
            // The values after the random move are not known; its state is, and so is an end.
            let top = drawn.top.filter(|_| over);
            Commands { top, best: drawn.best && over, next: drawn.next.filter(|_| over), ..drawn }
        } else {
            Variety::default().draw(rules, annotated.moves.len(), false, rng)
        };
        let commands = if previous.is_none() && matches!(commands.given, Given::Previous { .. }) {
            Commands::top_all(rules)
        } else {
            commands
        };
        let annotation = Annotation {
            position: &annotated.position,
            moves: &annotated.moves,
            best: annotated.best,
            previous: previous.as_ref().map(|(position, mv)| (position, *mv)),
        };
        if builder.build_into(&annotation, &commands, rng, example).is_err() {
            return;
        }
        let len = if star { Packer::star_len(example) } else { example.tokens.len() };
        if len > self.batch.sequence || packed.batch.len() + len > self.batch.tokens {
            return;
        }
        if star {
            self.packer.push_star(packed, example, &annotated);
        } else {
            self.packer.push_chain(packed, example, &annotated);
        }
    }
}

/// Moves on by a random legal move; what was known of the moves is then no longer. Returns where it came from.
fn track(annotated: &mut AnnotatedPosition, rng: &mut impl Rng) -> Option<(Position, mavis_game::Move)> {
    let moves = &annotated.moves;
    let (mv, _) = *moves.get(rng.random_range(0..moves.len().max(1)))?;
    let before = annotated.position.clone();
    annotated.position.play_unchecked(mv);
    annotated.moves.clear();
    annotated.best = None;
    Some((before, mv))
}
