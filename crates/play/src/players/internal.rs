//! Internal search: the model writes a minimax tree as text and plays its conclusion (paper 001).

mod choice;
mod evaluator;
mod tree;

pub use choice::{Chosen, Source, choose};
pub use evaluator::InternalEvaluator;
pub use tree::saved_tree;

use crate::{
    Analysis, Choice, GreedyPlayer, MoveAnalysis, Player, PlayerError, Thought, Turn, shared::try_evaluator,
};
use mavis_eval::Evaluator;
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_lang::{
    Step, Top,
    trace::{Order, Shape, TraceProgress, most_moves, trace_len, usual_moves},
    vocabulary,
};
use mavis_model::{
    decode::{Grammar, TraceDecodeSettings},
    internal::{Internal, Written},
};
use mavis_value::Scoring;
use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

/// How often a player that waits looks whether it is cancelled.
const PATROL: Duration = Duration::from_millis(20);

/// How a model searches by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InternalPlayerSettings {
    /// Moves expanded at every inner node.
    pub breadth: u16,
    /// Plies from the root to the leaves, at least 1.
    pub depth: u16,
    /// Whether children leave out their parent's state.
    pub compact: bool,
    /// How many moves every node lists.
    pub top: Top,
    /// The order in which nodes are evaluated.
    pub order: Order,
    /// Tokens of a whole trace at most.
    pub context: usize,
    /// Which value of a move is written: the likeliest, or the one next to the mean.
    pub scoring: Scoring,
    /// Whether a list may name a move a second time, which breaks the trace.
    pub repeats: bool,
    /// Who writes what the grammar demands.
    pub grammar: Grammar,
}

impl Default for InternalPlayerSettings {
    /// The form that most traces of training have, and what plays best (docs/internal-search.md).
    fn default() -> Self {
        Self {
            breadth: 3,
            depth: 1,
            compact: true,
            top: Top::Best(5),
            order: Order::DepthFirst,
            context: 8_192,
            scoring: Scoring::Mean,
            repeats: false,
            grammar: Grammar::Demanded,
        }
    }
}

impl InternalPlayerSettings {
    /// How many moves are listed by default: five, and never fewer than are expanded.
    #[must_use]
    pub fn usual_top(breadth: u16) -> Top {
        Top::Best(breadth.max(5))
    }

    /// The shape of its traces in a game.
    #[must_use]
    pub fn shape(&self, rules: Rules) -> Shape {
        let Self { breadth, depth, compact, top, order, .. } = *self;
        Shape { rules, breadth, depth, compact, top, order }
    }

    /// Tokens a trace may have, its prompt included: what the widest position of the game can need, and no more than the context.
    ///
    /// # Errors
    /// With the numbers, when the context is too small for a tree over usual positions of the game.
    pub fn max_tokens(&self, rules: Rules) -> Result<usize, String> {
        let shape = self.shape(rules);
        let (usual, context) = (trace_len(&shape, usual_moves(rules)), self.context);
        if usual > context {
            let Self { breadth, depth, .. } = self;
            let n_moves = usual_moves(rules);
            return Err(format!(
                "breadth={breadth}, depth={depth} needs {usual} tokens in {rules} (at {n_moves} legal moves), the context has \
                 {context}; a smaller tree, compact=true or top=K needs fewer"
            ));
        }
        Ok(trace_len(&shape, most_moves(rules)).min(context))
    }

    /// How its traces are written.
    #[must_use]
    pub fn decoding(&self, max_tokens: usize) -> TraceDecodeSettings {
        TraceDecodeSettings {
            scoring: self.scoring,
            repeats: self.repeats,
            grammar: self.grammar,
            ..TraceDecodeSettings::new(max_tokens)
        }
    }
}

/// How the writing of a trace ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With the last line.
    Finished,
    /// With a token that is not of the grammar: the kind of mistake, and what it is.
    Broken(mavis_lang::Hallucination),
    /// At the limit of tokens.
    Cut,
    /// At the limit of time, or cancelled.
    Stopped,
    /// The network failed.
    Failed(String),
}

impl Ending {
    /// The ending by name, for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Broken(mistake) => mistake.kind.name(),
            Self::Cut => "cut",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
        }
    }

    /// Why the trace has no last line.
    fn reason(&self, progress: &TraceProgress) -> Option<String> {
        match self {
            Self::Finished => None,
            Self::Broken(mistake) => Some(mistake.to_string()),
            Self::Cut => Some(format!("the trace was cut at {} tokens", progress.tokens().len())),
            Self::Stopped => Some(format!("stopped after {} tokens", progress.tokens().len())),
            Self::Failed(reason) => Some(reason.clone()),
        }
    }
}

/// Plays the conclusion of the model's own search.
///
/// A response that breaks the grammar, is cut or comes too late is not lost: as soon as one child is decided, the best move by what
/// is known of each is played, before that what a model plays without search. The note of the thought says so.
pub struct InternalPlayer {
    name: String,
    internal: Arc<Internal>,
    settings: InternalPlayerSettings,
    /// The model without search, which is tried before a game.
    evaluator: Arc<dyn Evaluator>,
    /// Plays where the trace has nothing to say.
    fallback: GreedyPlayer,
}

impl InternalPlayer {
    /// A player over a model; `fallback` plays without search.
    #[must_use]
    pub fn new(
        name: String,
        internal: Arc<Internal>,
        settings: InternalPlayerSettings,
        evaluator: Arc<dyn Evaluator>,
        fallback: GreedyPlayer,
    ) -> Self {
        Self { name, internal, settings, evaluator, fallback }
    }

    /// Has the trace written and follows it; the number of passes comes with the ending.
    fn write(&self, turn: &mut Turn<'_>, progress: &mut TraceProgress, max_tokens: usize) -> (Ending, u64) {
        let deadline = turn.limit.deadline(Instant::now(), Duration::from_millis(5));
        let settings = self.settings.decoding(max_tokens);
        let written = self.internal.search(*progress.shape(), turn.position, settings);
        let (mut n_passes, mut n_known) = (0, 0);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if turn.cancel.is_cancelled() || left.is_some_and(|left| left.is_zero()) {
                return (Ending::Stopped, n_passes);
            }
            match written.recv_timeout(left.map_or(PATROL, |left| left.min(PATROL))) {
                Ok(Written::Tokens(tokens)) => {
                    n_passes += 1;
                    for token in tokens {
                        progress.push(token);
                    }
                    let known = progress.nodes().iter();
                    let known = known.map(|node| {
                        usize::from(!node.moves.is_empty()) + usize::from(node.decision.is_some())
                    });
                    let known = known.sum();
                    if known > n_known {
                        n_known = known;
                        (turn.sink)(&self.thought(progress, turn.position, n_passes));
                    }
                }
                Ok(Written::End) => {
                    let ending = match (progress.step(), progress.trace()) {
                        (Step::Done, Ok(_)) => Ending::Finished,
                        (Step::More, _) => Ending::Cut,
                        (_, Err(mistake)) => Ending::Broken(mistake),
                        (Step::Broken, Ok(_)) => Ending::Cut,
                    };
                    return (ending, n_passes);
                }
                Ok(Written::Failed(reason)) => return (Ending::Failed(reason), n_passes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return (Ending::Failed("the model's thread has stopped".to_owned()), n_passes);
                }
            }
        }
    }

    /// What is known so far, with the tree.
    fn thought(&self, progress: &TraceProgress, position: &Position, n_passes: u64) -> Thought {
        let root = &progress.nodes()[0];
        let decided = root.decision.as_ref().map(|decision| decision.value.win_probability());
        let n_evaluated = progress.nodes().iter().filter(|node| !node.moves.is_empty()).count();
        let chosen = choose(progress, |mv| position.is_legal(mv));
        let line = chosen.map(|chosen| tree::line(progress, chosen.mv)).unwrap_or_default();
        Thought {
            depth: u32::try_from(line.len()).unwrap_or(u32::MAX),
            rank: 1,
            value: decided.or(chosen.and_then(|chosen| chosen.value)),
            nodes: n_evaluated as u64,
            tokens: Some((progress.tokens().len() - progress.prompt_len()) as u64),
            passes: Some(n_passes),
            line,
            tree: Some(Arc::new(saved_tree(progress, position, &self.name))),
            // Tokens of padding have no text; the tree does without.
            written: vocabulary().decode(progress.tokens()).ok(),
            ..Thought::default()
        }
    }
}

impl Player for InternalPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        self.settings.max_tokens(rules).map_err(PlayerError::Failed)?;
        try_evaluator(&*self.evaluator, rules)
    }

    fn reseed(&mut self, seed: u64) {
        self.fallback.reseed(seed);
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        self.analyze(turn).map(|analysis| analysis.choice)
    }

    fn analyze(&mut self, turn: &mut Turn<'_>) -> Result<Analysis, PlayerError> {
        let position = turn.position;
        let rules = position.rules();
        let max_tokens = self.settings.max_tokens(rules).map_err(PlayerError::Failed)?;
        let mut progress = TraceProgress::new(self.settings.shape(rules), position);
        let (ending, n_passes) = self.write(turn, &mut progress, max_tokens);
        if let Ending::Failed(reason) = ending {
            return Err(PlayerError::Broken(reason));
        }
        let mut thought = self.thought(&progress, position, n_passes);
        thought.broken = (ending != Ending::Finished).then(|| ending.name());
        let allowed = |mv: Move| position.is_legal(mv) && turn.limit.allows(mv);
        let reason = ending.reason(&progress);
        // A list alone knows less than one pass of the model without search, unless there is no time for it.
        let is_worth = |chosen: &Chosen| chosen.source != Source::List || ending == Ending::Stopped;
        let Some(chosen) = choose(&progress, allowed).filter(is_worth) else {
            let reason = reason.unwrap_or_else(|| "the trace plays no legal move".to_owned());
            let mut analysis = self.fallback.analyze(turn)?;
            let note = analysis.choice.thought.note.take();
            let note = note.map_or_else(String::new, |note| format!("; {note}"));
            thought.note = Some(format!("{reason}; played without search{note}"));
            let known = analysis.choice.thought;
            analysis.choice.thought = Thought { value: known.value, line: known.line, ..thought };
            return Ok(analysis);
        };
        let source = chosen.source.name();
        thought.note = match reason {
            Some(reason) => Some(format!("{reason}; played {source}")),
            None => (!chosen.source.is_played())
                .then(|| format!("its own choice cannot be played; played {source}")),
        };
        thought.value = chosen.value.or(thought.value);
        thought.line = tree::line(&progress, chosen.mv);
        (turn.sink)(&thought);
        Ok(Analysis { moves: opinions(&progress, chosen.mv), choice: Choice { mv: chosen.mv, thought } })
    }
}

/// What the trace says of each move of the root: the chosen one first, then searched ones, then listed ones, each by value.
fn opinions(progress: &TraceProgress, chosen: Move) -> Vec<MoveAnalysis> {
    let root = &progress.nodes()[0];
    let mut moves: Vec<MoveAnalysis> = Vec::with_capacity(root.moves.len());
    for &(mv, listed) in &root.moves {
        let listed = listed.win_probability();
        let searched = tree::searched(progress, 0, mv);
        let n_nodes = tree::child(root, mv).map(|child| tree::n_nodes(progress, child));
        moves.push(MoveAnalysis {
            value: Some(searched.unwrap_or(listed)),
            model_value: Some(listed),
            visits: n_nodes.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            line: tree::line(progress, mv),
            ..MoveAnalysis::plain(mv)
        });
    }
    if !moves.iter().any(|entry| entry.mv == chosen) {
        moves.push(MoveAnalysis::plain(chosen));
    }
    let rank = |entry: &MoveAnalysis| {
        (entry.mv == chosen, tree::searched(progress, 0, entry.mv).is_some(), entry.value.unwrap_or(0.0))
    };
    moves.sort_by(|one, other| rank(other).partial_cmp(&rank(one)).unwrap_or(std::cmp::Ordering::Equal));
    moves
}
