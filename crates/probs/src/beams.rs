//! The beam searches of a round: all leaves of many searches go through the nets together.

use crate::{
    Meter, Planes, ProbsError,
    batch::{Asker, KeyMap},
    self_play::together,
};
use mavis_game::Move;
use mavis_search::beam::{Ask, Beam, BeamSettings};
use rayon::prelude::*;

/// The q-values of every move of several states.
pub(crate) type QValues = Vec<Vec<(Move, f32)>>;

/// The q-values of every move of every state, by a beam search each. Equal states are searched once.
pub(crate) fn search_all<G: Planes>(
    states: &[&G],
    settings: &BeamSettings,
    v: &Asker<'_>,
    q: &Asker<'_>,
    meter: &Meter,
) -> Result<QValues, ProbsError> {
    let (different, rows) = distinct(states);
    let different: Vec<&G> = different.into_iter().map(|index| states[index]).collect();
    // Equal states are searched once, and count as done at once.
    meter.add(states.len() - different.len());
    let search = |states: &[&G]| {
        let results = search_group(states, settings, v, q);
        meter.add(states.len());
        results
    };
    let groups: Result<Vec<_>, _> = different.par_chunks(together(q)).map(search).collect();
    let results: QValues = groups?.into_iter().flatten().collect();
    Ok(rows.into_iter().map(|row| results[row].clone()).collect())
}

/// The first of all equal states, by index, and for every state which of these it is equal to.
pub(crate) fn distinct<G: Planes>(states: &[&G]) -> (Vec<usize>, Vec<usize>) {
    let mut places: KeyMap<usize> = KeyMap::default();
    let mut different: Vec<usize> = Vec::new();
    let row = |(index, state): (usize, &&G)| {
        *places.entry(state.key()).or_insert_with(|| {
            different.push(index);
            different.len() - 1
        })
    };
    let rows = states.iter().enumerate().map(row).collect();
    (different, rows)
}

/// What a beam search is given.
enum BeamInput {
    Q(QValues),
    V(Vec<f32>),
    Done(Vec<(Move, f32)>),
}

/// Searches a few states in step.
pub(crate) fn search_group<G: Planes>(
    states: &[&G],
    settings: &BeamSettings,
    v: &Asker<'_>,
    q: &Asker<'_>,
) -> Result<QValues, ProbsError> {
    let mut results = vec![Vec::new(); states.len()];
    let mut open: Vec<(usize, Beam<G>)> = states
        .iter()
        .enumerate()
        .map(|(index, state)| (index, Beam::new((*state).clone(), settings)))
        .collect();
    while !open.is_empty() {
        let answers = answer(open.iter_mut().map(|(_, beam)| beam.ask()).collect(), v, q)?;
        let mut answers = answers.into_iter();
        open.retain_mut(|(index, beam)| match answers.next() {
            Some(BeamInput::Q(moves)) => {
                beam.feed_q(moves);
                true
            }
            Some(BeamInput::V(values)) => {
                beam.feed_v(&values);
                true
            }
            Some(BeamInput::Done(q_values)) => {
                results[*index] = q_values;
                false
            }
            None => false,
        });
    }
    Ok(results)
}

/// Answers what all searches ask with one batch for each net.
fn answer<G: Planes>(
    asks: Vec<Ask<'_, G>>,
    v: &Asker<'_>,
    q: &Asker<'_>,
) -> Result<Vec<BeamInput>, ProbsError> {
    let (mut q_states, mut v_states): (Vec<&G>, Vec<&G>) = (Vec::new(), Vec::new());
    for ask in &asks {
        match ask {
            Ask::Q(states) => q_states.extend(states),
            Ask::V(states) => v_states.extend(states),
            Ask::Done(_) => {}
        }
    }
    let (q_answers, v_answers) = (q.ask(&q_states)?, v.ask(&v_states)?);
    let (mut q_place, mut v_place) = (0, 0);
    let answers = asks.into_iter().map(|ask| match ask {
        Ask::Q(states) => {
            let first = q_place;
            q_place += states.len();
            let moves = states.iter().enumerate().map(|(k, state)| q_answers.moves(first + k, *state));
            BeamInput::Q(moves.collect())
        }
        Ask::V(states) => {
            let first = v_place;
            v_place += states.len();
            BeamInput::V((first..v_place).map(|place| v_answers.first(place)).collect())
        }
        Ask::Done(q_values) => BeamInput::Done(q_values),
    });
    Ok(answers.collect())
}

#[cfg(test)]
mod tests;
