//! What a model thinks of every move, at once or by search under a deadline.

use crate::{
    Algorithm, Model, Planes, ProbsError,
    batch::Asker,
    puct::{Tree, priors},
};
use mavis_game::Move;
use mavis_net::Weights;
use mavis_search::{
    Stop,
    beam::{Ask, Beam, BeamSettings},
};
use std::time::Instant;

/// Expansions of a search that only time limits.
pub(super) const MOST: u32 = 10_000_000;
/// Expansions of the first search under a deadline.
const FIRST: u32 = 16;
/// Leaves valued between two looks at the clock.
const LEAVES: usize = 1024;

/// What a model thinks of a move.
#[derive(Clone, Copy)]
pub(super) struct Opinion {
    pub(super) mv: Move,
    /// The output of the action net: a q-value, or the probability of the move.
    pub(super) output: f32,
    /// What the moves are ordered by.
    pub(super) order: f32,
    /// -1 to 1 for the side to move, if there is a notion of it.
    pub(super) value: Option<f32>,
    pub(super) visits: Option<u32>,
}

/// Opinions on every legal move, and the nodes looked at. `tree` is the one of the move before, if there was one, and becomes this one's.
pub(super) fn think<G: Planes>(
    state: &G,
    model: &Model,
    search: Option<&(BeamSettings, Stop)>,
    tree: &mut Option<Tree<G>>,
) -> Result<(Vec<Opinion>, u64), ProbsError> {
    let v = Asker::new(&*model.value, Weights::Live);
    let q = Asker::new(&*model.action, Weights::Live);
    let mut opinions = at_once(state, model.config.algorithm, &q)?;
    if let Some((settings, stop)) = search {
        match model.config.algorithm {
            Algorithm::Probs => beam_within(state, settings, stop, (&v, &q), &mut opinions)?,
            Algorithm::Azero => {
                let known = tree.take().and_then(|tree| tree.below(state));
                let begun = known.unwrap_or_else(|| Tree::new(state.clone(), model.config.unvisited));
                *tree = Some(simulate(begun, settings.expansions, stop, (&v, &q), &mut opinions)?);
            }
        }
    }
    Ok((opinions, v.n_evaluations() + q.n_evaluations()))
}

fn at_once<G: Planes>(state: &G, algorithm: Algorithm, q: &Asker<'_>) -> Result<Vec<Opinion>, ProbsError> {
    let answers = q.ask(&[state])?;
    let moves = match algorithm {
        Algorithm::Probs => answers.moves(0, state),
        Algorithm::Azero => priors(state, answers.row(0)),
    };
    let opinion = |(mv, output): (Move, f32)| Opinion {
        mv,
        output,
        order: output,
        value: (algorithm == Algorithm::Probs).then_some(output),
        visits: None,
    };
    Ok(moves.into_iter().map(opinion).collect())
}

/// Beam searches of growing size until the budget or the time is used up; the largest that ended counts.
fn beam_within<G: Planes>(
    state: &G,
    settings: &BeamSettings,
    stop: &Stop,
    nets: (&Asker<'_>, &Asker<'_>),
    opinions: &mut [Opinion],
) -> Result<(), ProbsError> {
    let mut expansions =
        if stop.deadline.is_some() { FIRST.min(settings.expansions) } else { settings.expansions };
    loop {
        let began = Instant::now();
        let part = BeamSettings { expansions, ..*settings };
        let Some((q_values, whole)) = one_beam(state, &part, stop, nets)? else { return Ok(()) };
        for (opinion, (_, q)) in opinions.iter_mut().zip(q_values) {
            (opinion.order, opinion.value) = (q, Some(q));
        }
        let Some(deadline) = stop.deadline else { return Ok(()) };
        if whole || expansions >= settings.expansions {
            return Ok(());
        }
        // As large as the time left allows, with a margin; a little larger than the last is not worth it.
        let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
        let factor = (0.7 * left / began.elapsed().as_secs_f64().max(1e-6)).min(4.0);
        let next = (f64::from(expansions) * factor) as u32;
        if factor < 1.3 {
            return Ok(());
        }
        expansions = next.min(settings.expansions);
    }
}

/// One beam search; `None` when it was stopped. Also says whether it has seen the whole tree.
#[expect(clippy::type_complexity, reason = "a pair of results, used once")]
fn one_beam<G: Planes>(
    state: &G,
    settings: &BeamSettings,
    stop: &Stop,
    (v, q): (&Asker<'_>, &Asker<'_>),
) -> Result<Option<(Vec<(Move, f32)>, bool)>, ProbsError> {
    let mut beam = Beam::new(state.clone(), settings);
    let mut whole = true;
    loop {
        if stop.is_due() {
            return Ok(None);
        }
        match beam.ask() {
            Ask::Q(states) => {
                let answers = q.ask(&states)?;
                let moves = states.iter().enumerate().map(|(k, state)| answers.moves(k, *state)).collect();
                beam.feed_q(moves);
            }
            Ask::V(states) => {
                whole = states.is_empty();
                let mut values = Vec::with_capacity(states.len());
                for part in states.chunks(LEAVES) {
                    if stop.is_due() {
                        return Ok(None);
                    }
                    let answers = v.ask(part)?;
                    values.extend((0..part.len()).map(|k| answers.first(k)));
                }
                beam.feed_v(&values);
            }
            Ask::Done(q_values) => return Ok(Some((q_values, whole))),
        }
    }
}

/// The q-values of one whole beam search, best first.
pub(crate) fn beam_values<G: Planes>(
    state: &G,
    settings: &BeamSettings,
    nets: (&Asker<'_>, &Asker<'_>),
) -> Result<Vec<(Move, f32)>, ProbsError> {
    let (mut values, _) = one_beam(state, settings, &Stop::default(), nets)?.unwrap_or_default();
    values.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(values)
}

/// MCTS over value and policy, with so many simulations beside those that a tree has already; most visits first, then the prior.
fn simulate<G: Planes>(
    mut tree: Tree<G>,
    simulations: u32,
    stop: &Stop,
    (v, q): (&Asker<'_>, &Asker<'_>),
    opinions: &mut [Opinion],
) -> Result<Tree<G>, ProbsError> {
    let simulations = tree.visits().saturating_add(simulations);
    while (!tree.is_expanded() || tree.visits() < simulations) && !stop.is_due() {
        // As many leaves as a net takes in the time of one; a small tree would only be widened by them.
        let at_once = (1 + tree.visits() / 16).min(v.boards_as_one());
        let at_once = at_once.min(simulations.saturating_sub(tree.visits()).max(1));
        let pending = tree.select_many(at_once, 2.0);
        let leaves: Vec<&G> = pending.iter().map(|leaf| tree.waiting(leaf)).collect();
        let (values, logits) = (v.ask(&leaves)?, q.ask(&leaves)?);
        let answers = leaves.iter().enumerate();
        let answers: Vec<_> =
            answers.map(|(k, leaf)| (priors(*leaf, logits.row(k)), values.first(k))).collect();
        for (leaf, (priors, value)) in pending.into_iter().zip(answers) {
            tree.feed_pending(leaf, priors, value);
        }
    }
    for (opinion, (_, mean, visits)) in opinions.iter_mut().zip(tree.means()) {
        opinion.order = visits as f32 + opinion.output;
        opinion.value = (visits > 0).then_some(mean);
        opinion.visits = Some(visits);
    }
    Ok(tree)
}
