//! Which examples a batch holds: a pure function of seed and batch number.

use crate::{
    deck::Deck,
    ended::random_end,
    image::{colors_exchanged, random_image},
    loader::Batches,
    pack::{LossSettings, Packed, Packer},
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
    /// Share of all examples that show a random image of their position under the symmetries of the game (in chess left and
    /// right exchanged, where nobody may castle any more).
    pub mirrored: f32,
    /// Share of the chess examples whose colors are exchanged.
    pub flipped: f32,
}

impl Default for ExampleSettings {
    fn default() -> Self {
        Self { plain: 0.8, star: 0.3, tracking: 0.4, ended: 0.02, mirrored: 0.0, flipped: 0.0 }
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

/// The training data of a run as numbered batches; a [`Deck`] says which positions each holds.
#[derive(Clone)]
pub struct Mixture {
    sets: Vec<Arc<dyn Annotations>>,
    deck: Deck,
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
        let sizes: Vec<(usize, f32)> = sets.iter().map(|(set, weight)| (set.len(), *weight)).collect();
        let deck = Deck::new(&sizes, settings.batch.examples, settings.seed)?;
        let sets = sets.into_iter().map(|(set, _)| set).collect();
        let packer = Packer { loss: settings.loss, full_input: settings.full_input };
        Some(Self { sets, deck, batch: settings.batch, examples: settings.examples, packer })
    }

    /// Examples a batch holds when all fit.
    #[must_use]
    pub fn examples_per_batch(&self) -> usize {
        self.deck.n_records()
    }

    /// Positions in all sets.
    #[must_use]
    pub fn n_positions(&self) -> usize {
        self.deck.n_total()
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

impl Batches for Mixture {
    fn fill(&self, number: u64, packed: &mut Packed) -> Result<(), RecordError> {
        packed.clear();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.deck.batch_seed(number));
        let mut builder = ExampleBuilder::default();
        let mut example = Example::default();
        for (set, record) in self.deck.batch(number) {
            let mut annotated = self.sets[set].get(record)?;
            // No draw where nothing depends on it, so that settings without these shares give the batches they always gave.
            if self.examples.ended > 0.0 && rng.random::<f32>() < self.examples.ended {
                annotated = random_end(&*self.sets[set], &mut rng)?.unwrap_or(annotated);
            }
            if self.examples.mirrored > 0.0 && rng.random::<f32>() < self.examples.mirrored {
                annotated = random_image(annotated, &mut rng);
            }
            if self.examples.flipped > 0.0 && rng.random::<f32>() < self.examples.flipped {
                annotated = colors_exchanged(annotated);
            }
            self.push(packed, annotated, &mut builder, &mut example, &mut rng);
        }
        packed.finish();
        Ok(())
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
