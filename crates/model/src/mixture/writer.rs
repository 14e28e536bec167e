//! From an annotated position to an example in a batch: what kind it is, what it asks, how it is laid out.

use super::{BatchSettings, ExampleSettings};
use crate::pack::{PackedBatch, Packer};
use mavis_data::AnnotatedPosition;
use mavis_game::{Game, Move, Position, Rules};
use mavis_lang::{Annotation, Commands, Example, ExampleBuilder, Top, Variety, moves};
use rand::Rng;

/// Entries of soft targets a batch may hold for each token it may hold, which is what trainers have room for. Only batches of long
/// lists alone, such as Hex as text, come near it.
pub(super) const TARGETS_PER_TOKEN: usize = 15;

/// How text varies. Whole lists are more frequent than in paper 001's even mixture: they are what a model is asked for.
const TEXT: Variety =
    Variety { tracking: 1.0, top_all: 0.6, beyond: 8, best: 0.6, next: 0.6, fen: 0.2, both: 0.06 };
/// How tracked stars vary. What follows the list is asked for but left out, so that a header with it means the same list.
const TRACKED: Variety =
    Variety { tracking: 1.0, top_all: 0.9, beyond: 8, best: 0.25, next: 0.5, fen: 0.15, both: 0.04 };

/// The kinds of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    /// A state in, all its moves as branches.
    Plain,
    /// The previous state and a move in, the state as a chain, its moves as branches.
    Tracked,
    /// A position reached by random moves: its state, legal moves and end, without values.
    RandomPlay,
    /// Whatever the language allows, as it reads.
    Text,
    /// The same with its list as branches.
    TextStar,
}

impl Kind {
    fn draw(settings: &ExampleSettings, rng: &mut impl Rng) -> Self {
        let draw: f32 = rng.random();
        if draw < settings.plain {
            Self::Plain
        } else if draw < settings.plain + settings.tracked {
            Self::Tracked
        } else if draw < settings.plain + settings.tracked + settings.random_play {
            Self::RandomPlay
        } else if rng.random::<f32>() < settings.star {
            Self::TextStar
        } else {
            Self::Text
        }
    }
}

/// A position with what led to it and what is asked about it.
struct Question {
    annotated: AnnotatedPosition,
    previous: Option<(Position, Move)>,
    commands: Commands,
    layout: Layout,
}

/// How an example becomes a sequence with loss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Chain,
    Star,
    /// Up to the first listed move; values are not known.
    LegalMoves,
    /// Only the state after the best action is learned; the rest is context.
    NextState,
}

/// Writes the examples of one batch; keeps its buffers from one to the next.
pub(super) struct Writer<'a> {
    settings: &'a ExampleSettings,
    packer: &'a Packer,
    builder: ExampleBuilder,
    example: Example,
}

impl<'a> Writer<'a> {
    pub(super) fn new(settings: &'a ExampleSettings, packer: &'a Packer) -> Self {
        Self { settings, packer, builder: ExampleBuilder::default(), example: Example::default() }
    }

    /// Appends an example about a position; whether there was room for it. One that no batch has room for, or that cannot be asked, is left out.
    pub(super) fn push(
        &mut self,
        packed: &mut PackedBatch,
        annotated: AnnotatedPosition,
        limits: &BatchSettings,
        rng: &mut impl Rng,
    ) -> bool {
        let kind = Kind::draw(self.settings, rng);
        let question = match kind {
            Kind::RandomPlay => random_play(annotated, self.settings.random_plies, rng),
            kind => self.question(kind, annotated, rng),
        };
        let annotated = &question.annotated;
        let annotation = Annotation {
            position: &annotated.position,
            moves: &annotated.moves,
            best: annotated.best,
            previous: question.previous.as_ref().map(|(position, mv)| (position, *mv)),
        };
        if self.builder.build_into(&annotation, &question.commands, rng, &mut self.example).is_err() {
            return true;
        }
        // The k best stay in random order: they are few, and which of them are meant is what there is to learn.
        let is_whole = self.example.list.is_some_and(|list| list.n_moves == annotated.moves.len());
        if question.layout == Layout::Chain
            && is_whole
            && self.settings.in_turn > 0.0
            && has_moves(annotated.position.rules(), self.settings.in_turn_from)
            && rng.random::<f32>() < self.settings.in_turn
        {
            self.example.list_in_turn(rng);
        }
        let example = &self.example;
        let len = match question.layout {
            Layout::Chain | Layout::NextState => self.packer.text_len(&example.tokens, example.input_len),
            Layout::Star => self.packer.star_len(example),
            Layout::LegalMoves => self.packer.trunk_len(example),
        };
        let n_listed = example.list.map_or(0, |list| list.n_moves);
        let n_targets = n_listed * (n_listed + 1) / 2;
        let most_targets = TARGETS_PER_TOKEN * limits.tokens;
        if len > limits.sequence.min(limits.tokens) || n_targets > most_targets {
            return true;
        }
        if packed.batch.len() + len > limits.tokens || packed.rows.target_ids.len() + n_targets > most_targets
        {
            return false;
        }
        match question.layout {
            Layout::Chain => self.packer.push_chain(packed, example, annotated),
            Layout::Star => self.packer.push_star(packed, example, annotated),
            Layout::LegalMoves => self.packer.push_legal_moves(packed, example, annotated),
            Layout::NextState => self.packer.push_next_state(packed, example, annotated),
        }
        true
    }

    /// What is asked of a position whose values are known.
    fn question(&self, kind: Kind, annotated: AnnotatedPosition, rng: &mut impl Rng) -> Question {
        let rules = annotated.position.rules();
        let tracks = match kind {
            Kind::Plain | Kind::RandomPlay => false,
            Kind::Tracked => true,
            Kind::Text | Kind::TextStar => rng.random::<f32>() < self.settings.tracking,
        };
        let previous = if tracks { annotated.position.random_predecessor(|| rng.random()) } else { None };
        let n_moves = annotated.moves.len();
        let commands = match kind {
            // Where nothing leads to the position, it is asked for itself.
            Kind::Tracked if previous.is_some() => TRACKED.draw(rules, n_moves, true, rng),
            Kind::Plain | Kind::Tracked | Kind::RandomPlay => Commands::top_all(rules),
            Kind::Text | Kind::TextStar => TEXT.draw(rules, n_moves, previous.is_some(), rng),
        };
        let layout = if kind == Kind::Text { Layout::Chain } else { Layout::Star };
        Question { annotated, previous, commands, layout }
    }
}

/// Walks away from a position by random legal moves. Of where that leads the rules know the state, the legal moves and the end.
fn random_play(annotated: AnnotatedPosition, most_plies: u32, rng: &mut impl Rng) -> Question {
    let AnnotatedPosition { mut position, .. } = annotated;
    let rules = position.rules();
    // Mostly a few moves, sometimes many.
    let most = rng.random_range(1..=most_plies);
    let n_plies = rng.random_range(1..=most) as usize;
    let mut walked = Vec::with_capacity(n_plies);
    while walked.len() < n_plies {
        let Some(mv) = position.random_move(rng.random()) else { break };
        walked.push((position.clone(), mv));
        position.play_unchecked(mv);
    }
    // Where the game ends first, any of the way: ends would be most of the examples.
    if walked.len() < n_plies && !walked.is_empty() {
        walked.truncate(rng.random_range(1..=walked.len()));
        if let Some((before, mv)) = walked.last() {
            position = before.clone();
            position.play_unchecked(*mv);
        }
    }
    let previous = walked.pop();
    // The values stand for nothing: no layout below learns them.
    let moves: Vec<(Move, f32)> = position.legal_moves().into_iter().map(|mv| (mv, 0.5)).collect();
    let best = moves.get(rng.random_range(0..moves.len().max(1))).map(|(mv, _)| *mv);
    let drawn = TRACKED.draw(rules, moves.len(), previous.is_some(), rng);
    let (given, layout) = match rng.random_range(0..4) {
        0 | 1 => (drawn.given, Layout::LegalMoves),
        2 => (Commands::top_all(rules).given, Layout::LegalMoves),
        _ => (Commands::top_all(rules).given, Layout::NextState),
    };
    let commands = match layout {
        Layout::NextState => {
            let next = TEXT.draw(rules, moves.len(), false, rng).next;
            let next = next.or(Some(mavis_lang::Forms::State));
            Commands { rules, given, top: Some(Top::Best(1)), best: true, next }
        }
        _ => Commands { rules, given, top: Some(Top::All), best: false, next: None },
    };
    Question { annotated: AnnotatedPosition { position, moves, best }, previous, commands, layout }
}

/// Whether a game has so many different moves at least.
fn has_moves(rules: Rules, n: usize) -> bool {
    moves::move_tokens(rules).take(n).count() == n
}
