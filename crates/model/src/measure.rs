//! Measuring decoders: speed, and how far two ways to the same answer agree.

mod joint;
mod profile;

pub use joint::{JointCost, joint_cost};
pub use profile::{AnswerProfile, PassProfile, profile};

use crate::{
    InputAttention, MavModel, ModelError,
    decode::{Drafting, GreedySettings, MavDecoder},
    fan_out,
};
use mavis_game::{Game, Move, Position};
use mavis_lang::{Answer, Commands, Request, moves, state, vocab::VALUES};
use mavis_net::{Batch, BatchToken, Precision, Want};
use mavis_value::{Mistake, N_BUCKETS};
use serde::Serialize;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Shape of the prompt pass that is measured: sequences and tokens of each.
pub const PROMPT_PASS: (usize, usize) = (16, 112);

/// How fast a decoder is. Times are medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Tokens per second of the prompt pass.
    pub prompt_tokens_per_second: f64,
    /// Tokens per second of one stream, written one by one after a prompt.
    pub sequential_tokens_per_second: f64,
    /// Seconds to evaluate one position with its legal moves given, all at once.
    pub fan_out_seconds: f64,
    /// Seconds for the two passes of the model alone: the prompt with the distribution of the first move, then as many moves as are legal.
    pub fan_out_alone_seconds: f64,
    /// Seconds to write the list of the same moves one by one, prompt included.
    pub sequential_seconds: f64,
    /// Evaluations per second in batches of 16 with legal moves given.
    pub batch_evaluations_per_second: f64,
    /// The same one by one in batches of 16: all streams advance together.
    pub batch_sequential_per_second: f64,
    /// Moves of the position.
    pub n_moves: usize,
}

/// Measures a decoder on positions of one game, repeating each part for about `time`.
///
/// Sequential decoding is fed the tokens of a right answer, so that any network, trained or not, does the same work.
///
/// # Errors
/// When the network fails.
pub fn speed(decoder: &mut MavDecoder, position: &Position, time: Duration) -> Result<Speed, ModelError> {
    let (n_sequences, length) = PROMPT_PASS;
    let mut prompts = Batch::default();
    let tokens: Vec<u32> = (0..length as u32).map(|i| 3 + i * 7 % 60).collect();
    (0..n_sequences).for_each(|_| prompts.push_prompted(&tokens, 0));
    let want = Want::last(&prompts);
    let prompt_pass = median(time, || decoder.network().logits(&prompts, &want).map(drop))?;

    let legal: Vec<Move> = position.legal_moves().into_iter().collect();
    let sixteen = vec![(position, legal.as_slice()); 16];
    let mut known = |n: usize| median(time, || decoder.values_of_known_moves(&sixteen[..n]).map(drop));
    let (fan_out_seconds, fan_out_batch) = (known(1)?, known(16)?);
    let request = Request::at(position.clone(), Commands::top_all(position.rules()));
    let alone = median(time, || two_passes(decoder, &request, &legal))?;
    let sequential_seconds = median(time, || write_list(decoder, &request, &legal, 1))?;
    let sequential_batch = median(time, || write_list(decoder, &request, &legal, 16))?;
    let prompt_alone = median(time, || write_list(decoder, &request, &[], 1))?;
    let n_written = 2 * legal.len() + 1;
    // On a machine that is busy with other things the prompt alone may seem to take longer than all of it.
    let stream_seconds = sequential_seconds - prompt_alone;
    let stream_seconds = if stream_seconds > 0.0 { stream_seconds } else { sequential_seconds };
    Ok(Speed {
        prompt_tokens_per_second: prompts.len() as f64 / prompt_pass,
        sequential_tokens_per_second: (n_written - 1) as f64 / stream_seconds,
        fan_out_seconds,
        fan_out_alone_seconds: alone,
        sequential_seconds,
        batch_evaluations_per_second: 16.0 / fan_out_batch,
        batch_sequential_per_second: 16.0 / sequential_batch,
        n_moves: legal.len(),
    })
}

/// Evaluations per second of batches of `n` of these positions, one after another, legal moves given: packing, the pass and
/// reading.
///
/// # Errors
/// When the network fails.
pub fn evaluations_per_second(
    decoder: &mut MavDecoder,
    positions: &[Position],
    n: usize,
    time: Duration,
) -> Result<f64, ModelError> {
    let legal: Vec<Vec<Move>> =
        positions.iter().map(|position| position.legal_moves().into_iter().collect()).collect();
    let asked = positions.iter().zip(&legal).map(|(position, moves)| (position, moves.as_slice()));
    let batch: Vec<(&Position, &[Move])> = asked.cycle().take(n).collect();
    let pass = median(time, || decoder.values_of_known_moves(&batch).map(drop))?;
    Ok(batch.len() as f64 / pass)
}

/// The prompt into a cache, then all moves as branches. The moves are given, since a network that knows nothing would list any number.
fn two_passes(decoder: &mut MavDecoder, request: &Request, listed: &[Move]) -> Result<(), ModelError> {
    let (prompt, input_len) = prompt(request, decoder.input());
    let rules = request.commands.rules;
    let network = decoder.network();
    let cache = network.open()?;
    let mut batch = Batch::default();
    batch.push_prompted(&prompt, input_len);
    let logits = network.extend(&[cache], &batch, &Want::last(&batch))?;
    std::hint::black_box(fan_out::legal_set(rules, logits.row(0)));
    batch.clear();
    batch.begin();
    for &mv in listed {
        let token = u32::from(moves::token_of(rules, mv).unwrap_or(0));
        batch.push_branch(&[token], prompt.len(), prompt.len(), prompt.len());
    }
    let values = u32::from(VALUES.start)..u32::from(VALUES.start) + N_BUCKETS as u32;
    let rows = (0..batch.len() as u32).collect();
    network.extend(&[cache], &batch, &Want { rows, columns: Some(values), brief: None })?;
    network.close(cache);
    Ok(())
}

/// Prompt and opening, and how many of them see each other fully.
fn prompt(request: &Request, input: InputAttention) -> (Vec<u32>, usize) {
    let mut tokens: Vec<u32> = request.prompt().into_iter().map(u32::from).collect();
    let input_len = input.prefix(tokens.len());
    tokens.extend(request.opening().into_iter().map(u32::from));
    (tokens, input_len)
}

/// Writes the list of moves token by token in `n` equal caches; the last token of the line is not read.
fn write_list(
    decoder: &mut MavDecoder,
    request: &Request,
    listed: &[Move],
    n: usize,
) -> Result<(), ModelError> {
    let (prompt, input_len) = prompt(request, decoder.input());
    let network = decoder.network();
    let caches = (0..n).map(|_| network.open()).collect::<Result<Vec<_>, _>>()?;
    let mut batch = Batch::default();
    caches.iter().for_each(|_| batch.push_prompted(&prompt, input_len));
    network.extend(&caches, &batch, &Want::last(&batch))?;
    let value = u32::from(mavis_lang::value::value_token(mavis_value::Bucket::WON));
    let rules = request.commands.rules;
    let tokens = listed.iter().flat_map(|&mv| [u32::from(moves::token_of(rules, mv).unwrap_or(0)), value]);
    for (id, position) in tokens.zip(prompt.len() as u32..) {
        batch.clear();
        for _ in &caches {
            batch.begin();
            batch.push(BatchToken { id, position, prefix_end: 0, branch_start: 0 });
        }
        network.extend(&caches, &batch, &Want::last(&batch))?;
    }
    caches.into_iter().for_each(|cache| network.close(cache));
    Ok(())
}

/// The median time of a job in seconds: at least five runs, and about `time` in all.
fn median<E: Into<ModelError>>(
    time: Duration,
    mut job: impl FnMut() -> Result<(), E>,
) -> Result<f64, ModelError> {
    job().map_err(Into::into)?;
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || begin.elapsed() < time {
        let start = Instant::now();
        job().map_err(Into::into)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// How far two ways to evaluate the same positions agree.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Positions compared.
    pub n_positions: usize,
    /// Share with the same set of listed moves.
    pub same_set: f64,
    /// Share with the same best move by mean value among the legal ones.
    pub same_best: f64,
    /// Mean absolute difference of the mean values of moves both list.
    pub value_difference: f64,
    /// The largest such difference.
    pub largest_difference: f64,
    /// Answers of the second way that are no sentence of the language, or about another state than those of the first: those that
    /// name a move twice, are malformed or have another state.
    pub n_broken: usize,
    /// Answers of the second way by what is wrong with them.
    pub wrong: Wrong,
    /// Share of answers of the first way whose state is the right one; 1 where none is asked for.
    pub right_states: f64,
}

/// Answers that differ from those they are compared with, by what is wrong. The first three are broken and are counted once; a list
/// that is none of them may both lack moves and have too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Lists that name a move twice.
    pub named_twice: usize,
    /// Answers that are no sentence of the language for another reason, or are cut.
    pub malformed: usize,
    /// Answers about another state, or about one that cannot be.
    pub other_state: usize,
    /// Lists that lack a move.
    pub missing: usize,
    /// Lists that have a move too many.
    pub extra: usize,
}

impl Wrong {
    fn count(&mut self, broken: Mistake) {
        match broken {
            Mistake::RepeatedMove => self.named_twice += 1,
            Mistake::WrongState => self.other_state += 1,
            _ => self.malformed += 1,
        }
    }

    fn n_broken(&self) -> usize {
        self.named_twice + self.malformed + self.other_state
    }
}

type Values = Vec<(Move, f32)>;

/// Fan-out by the model alone against the chain, written one by one, `batch` requests at a time. Requests ask for a list, of a
/// position or of what follows a move. A chain that breaks off, and one with another state, counts as another set and another
/// best move. `settings` say how the chain is written.
///
/// # Errors
/// When the network fails, or a request asks for no list.
pub fn fan_out_against_chain(
    decoder: &mut MavDecoder,
    requests: &[Request],
    batch: usize,
    settings: GreedySettings,
) -> Result<Agreement, ModelError> {
    let mut tally = Tally::default();
    // Drafts change nothing but the number of passes.
    let settings = GreedySettings { drafting: Drafting::Copy, ..settings };
    for requests in requests.chunks(batch.max(1)) {
        let fanned = decoder.fan_out(requests)?;
        let written = decoder.greedy(requests, &settings)?;
        for ((request, fanned), written) in requests.iter().zip(fanned).zip(written) {
            let one: Values = fanned.fan.values.iter().map(|(mv, values)| (*mv, values.mean())).collect();
            let other: Values = written.values.iter().map(|(mv, values)| (*mv, values.mean())).collect();
            let tracked = fanned.tracked.and_then(Result::ok);
            let same_state = |answer: &Answer| match (&tracked, &answer.tracked) {
                (Some(one), Some(other)) => state::same_state(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let compared = match written.answer(request) {
                Ok(answer) if same_state(&answer) => Ok(&other),
                Ok(_) => Err(Mistake::WrongState),
                Err(mistake) => Err(mistake.kind),
            };
            tally.n_right_states += usize::from(
                !request.commands.is_tracking()
                    || tracked.as_ref().is_some_and(|state| state::same_state(state, &request.current())),
            );
            tally.add(&one, compared);
        }
    }
    Ok(tally.agreement())
}

/// A model in fewer bits against the same one as it is, on the processor and with legal moves given.
///
/// # Errors
/// When the network fails.
pub fn against_exact(
    model: &MavModel,
    precision: Precision,
    positions: &[Position],
) -> Result<Agreement, ModelError> {
    let mut exact = MavDecoder::cpu(model, Precision::Exact)?;
    let mut rounded = MavDecoder::cpu(model, precision)?;
    let mut tally = Tally::default();
    for chunk in positions.chunks(16) {
        let moves: Vec<Vec<Move>> =
            chunk.iter().map(|position| position.legal_moves().into_iter().collect()).collect();
        let asked: Vec<(&Position, &[Move])> =
            chunk.iter().zip(&moves).map(|(position, moves)| (position, moves.as_slice())).collect();
        let one = exact.values_of_known_moves(&asked)?;
        let other = rounded.values_of_known_moves(&asked)?;
        for ((one, other), moves) in one.iter().zip(&other).zip(&moves) {
            let means = |values: &[mavis_value::Distribution]| -> Values {
                moves.iter().zip(values).map(|(mv, values)| (*mv, values.mean())).collect()
            };
            tally.n_right_states += 1;
            tally.add(&means(one), Ok(&means(other)));
        }
    }
    Ok(tally.agreement())
}

#[derive(Default)]
struct Tally {
    n: usize,
    n_same_set: usize,
    n_same_best: usize,
    wrong: Wrong,
    n_right_states: usize,
    difference: f64,
    largest: f64,
    n_values: usize,
}

impl Tally {
    fn add(&mut self, one: &Values, other: Result<&Values, Mistake>) {
        self.n += 1;
        let other = match other {
            Ok(other) => other,
            Err(broken) => return self.wrong.count(broken),
        };
        let set = |values: &Values| values.iter().map(|(mv, _)| *mv).collect::<BTreeSet<_>>();
        let (one_set, other_set) = (set(one), set(other));
        self.n_same_set += usize::from(one_set == other_set);
        self.wrong.missing += usize::from(!one_set.is_subset(&other_set));
        self.wrong.extra += usize::from(!other_set.is_subset(&one_set));
        self.n_same_best += usize::from(best(one) == best(other));
        for (mv, value) in one {
            if let Some((_, same)) = other.iter().find(|(known, _)| known == mv) {
                let difference = f64::from((value - same).abs());
                self.difference += difference;
                self.largest = self.largest.max(difference);
                self.n_values += 1;
            }
        }
    }

    fn agreement(&self) -> Agreement {
        let share = |part: usize| part as f64 / self.n.max(1) as f64;
        Agreement {
            n_positions: self.n,
            same_set: share(self.n_same_set),
            same_best: share(self.n_same_best),
            value_difference: self.difference / self.n_values.max(1) as f64,
            largest_difference: self.largest,
            n_broken: self.wrong.n_broken(),
            wrong: self.wrong,
            right_states: share(self.n_right_states),
        }
    }
}

fn best(values: &Values) -> Option<Move> {
    values.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(mv, _)| mv)
}
