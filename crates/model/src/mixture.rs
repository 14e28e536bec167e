//! Which examples a batch holds: a pure function of seed and batch number.

mod traces;
mod writer;

pub use traces::MixSettings;

use crate::{
    InputAttention,
    deck::Deck,
    ended::random_end,
    loader::Batches,
    pack::{LossSettings, PackedBatch, Packer},
    symmetry::{colors_exchanged, random_symmetry},
};
use mavis_data::{Annotations, RecordError, TraceTable};
use mavis_stable::seed::scramble;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use traces::Traces;
use writer::Writer;

/// What examples look like; shares are chances from 0 to 1.
///
/// `plain`, `tracked` and `random_play` divide all examples; what they leave is text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExampleSettings {
    /// Share of plain stars: a state in, all its moves as branches.
    pub plain: f32,
    /// Share of tracked stars: the previous state and a move in, the new state as a chain, its moves as branches off the end
    /// of the chain. The previous state is one that leads to the annotated position.
    pub tracked: f32,
    /// Share of examples about positions a few random moves away, whose values nobody knows: states, legal moves and ends.
    pub random_play: f32,
    /// Random moves at most on the way to such a position. Long walks lead to boards that no game of good players has.
    pub random_plies: u32,
    /// Of the text, the share that is laid out as a star where it has a list of moves.
    pub star: f32,
    /// Of the text, the share that begins with the previous state and a move.
    pub tracking: f32,
    /// Of the lists of all moves that are written as text, the share in turn: in the order of the tokens, from a random move on and
    /// around. The others have a random order.
    pub in_turn: f32,
    /// Games with fewer different moves than this have all their lists in random order: short ones are written without loss that way, and
    /// which move comes next in turn is one more thing to know.
    pub in_turn_from: usize,
    /// Share of all examples that are about a position that is over: a model that searches without the
    /// rules has to see ends by itself, and annotated positions hardly ever are ends.
    pub ended: f32,
    /// Share of all examples that show their position under a random one of the symmetries of the game (in chess left and
    /// right exchanged, where nobody may castle any more).
    pub mirrored: f32,
    /// Share of the chess examples whose colors are exchanged.
    pub flipped: f32,
}

impl Default for ExampleSettings {
    fn default() -> Self {
        Self {
            plain: 0.45,
            tracked: 0.22,
            random_play: 0.05,
            random_plies: 40,
            star: 0.1,
            tracking: 0.5,
            in_turn: 0.0,
            in_turn_from: 0,
            ended: 0.02,
            mirrored: 0.0,
            flipped: 0.0,
        }
    }
}

impl ExampleSettings {
    /// Each kind of example alone, by name; the other settings stay.
    #[must_use]
    pub fn kinds(&self) -> [(&'static str, Self); 4] {
        let alone =
            |plain: f32, tracked: f32, random_play: f32| Self { plain, tracked, random_play, ..self.clone() };
        [
            ("plain", alone(1.0, 0.0, 0.0)),
            ("tracked", alone(0.0, 1.0, 0.0)),
            ("random play", alone(0.0, 0.0, 1.0)),
            ("text", alone(0.0, 0.0, 0.0)),
        ]
    }

    /// The share of text.
    #[must_use]
    pub fn text(&self) -> f32 {
        1.0 - self.plain - self.tracked - self.random_play
    }
}

/// How many examples and tokens a batch may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BatchSettings {
    /// Examples a step, over all sets.
    pub examples: usize,
    /// Tokens at most; the first example that does not fit ends the batch.
    pub tokens: usize,
    /// Tokens of one sequence at most; longer examples are left out.
    pub sequence: usize,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { examples: 420, tokens: 49_152, sequence: 512 }
    }
}

/// The training data of a run as numbered batches; a [`Deck`] says which positions each holds.
#[derive(Clone)]
pub struct Mixture {
    sets: Vec<Arc<dyn Annotations>>,
    deck: Deck,
    batch: BatchSettings,
    examples: ExampleSettings,
    packer: Packer,
    seed: u64,
    /// Traces beside the examples.
    traces: Option<Traces>,
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
    pub input: InputAttention,
}

impl Mixture {
    /// A mixture of sets by weight; `None` when there is nothing to learn from.
    #[must_use]
    pub fn new(sets: Vec<(Arc<dyn Annotations>, f32)>, settings: MixtureSettings) -> Option<Self> {
        let sets: Vec<_> =
            sets.into_iter().filter(|(set, weight)| !set.is_empty() && *weight > 0.0).collect();
        let sizes: Vec<(usize, f32)> = sets.iter().map(|(set, weight)| (set.len(), *weight)).collect();
        let deck = Deck::new(&sizes, settings.batch.examples, settings.seed)?;
        let sets = sets.into_iter().map(|(set, _)| set).collect();
        let packer = Packer { loss: settings.loss, input: settings.input };
        let MixtureSettings { seed, batch, examples, .. } = settings;
        Some(Self { sets, deck, batch, examples, packer, seed, traces: None })
    }

    /// The same with traces by weight, which take this share of the tokens of each batch; there are so many examples less.
    #[must_use]
    pub fn with_traces(mut self, sets: Vec<(Arc<TraceTable>, f32)>, share: f32) -> Self {
        // Another order than that of the examples.
        self.traces = Traces::new(sets, &self.packer, &self.batch, share, scramble(self.seed));
        if self.traces.is_some() {
            self.deck = self.deck.scaled(1.0 - share);
        }
        self
    }

    /// The same positions with other examples about them, and no traces.
    #[must_use]
    pub fn with_examples(&self, examples: ExampleSettings) -> Self {
        Self { examples, traces: None, ..self.clone() }
    }

    /// Examples a batch holds when all fit, traces included.
    #[must_use]
    pub fn examples_per_batch(&self) -> usize {
        self.deck.n_records() + self.traces_per_batch()
    }

    /// Traces a batch holds when all fit.
    #[must_use]
    pub fn traces_per_batch(&self) -> usize {
        self.traces.as_ref().map_or(0, Traces::n_records)
    }

    /// The share of examples that find no room, by the first batches.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn left_out(&self) -> Result<f64, RecordError> {
        const N_BATCHES: u64 = 8;
        let mut packed = PackedBatch::default();
        let mut n_examples = 0;
        for number in 0..N_BATCHES {
            self.fill(number, &mut packed)?;
            n_examples += packed.n_examples;
        }
        let n_drawn = N_BATCHES as f64 * self.examples_per_batch() as f64;
        Ok((1.0 - n_examples as f64 / n_drawn.max(1.0)).max(0.0))
    }

    /// Positions in all sets.
    #[must_use]
    pub fn n_positions(&self) -> usize {
        self.deck.n_total()
    }
}

impl Batches for Mixture {
    fn fill(&self, number: u64, packed: &mut PackedBatch) -> Result<(), RecordError> {
        packed.clear();
        // First, since they need the most room.
        if let Some(traces) = &self.traces {
            traces.push(number, &self.packer, &self.batch, packed);
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.deck.batch_seed(number));
        let mut writer = Writer::new(&self.examples, &self.packer);
        for (set, record) in self.deck.batch(number) {
            let mut annotated = self.sets[set].get(record)?;
            // No draw where nothing depends on it, so that settings without these shares give the batches they always gave.
            if self.examples.ended > 0.0 && rng.random::<f32>() < self.examples.ended {
                annotated = random_end(&*self.sets[set], &mut rng)?.unwrap_or(annotated);
            }
            if self.examples.mirrored > 0.0 && rng.random::<f32>() < self.examples.mirrored {
                annotated = random_symmetry(annotated, &mut rng);
            }
            if self.examples.flipped > 0.0 && rng.random::<f32>() < self.examples.flipped {
                annotated = colors_exchanged(annotated);
            }
            // A batch is full with the first example that has no room: to look for shorter ones would make them more frequent than they should be.
            if !writer.push(packed, annotated, &self.batch, &mut rng) {
                break;
            }
        }
        packed.finish();
        Ok(())
    }
}
