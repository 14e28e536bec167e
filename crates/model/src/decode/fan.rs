//! Fan-out through KV caches: the text before the list is read or written once and kept; all listed moves follow it as branches
//! that do not see each other. After a previous state and a move the tracked state stands between the two: a draft of it is checked in
//! the pass that reads the prompt, so a node of a search takes two passes, as a position does.

use super::{
    Drafting, GreedySettings, MavDecoder, SHORT_HEAD,
    greedy::{Goal, STREAMS_PER_JOB, Stream},
};
use crate::{
    ModelError,
    fan_out::{Asked, FanOut, FanOutNetwork, ValueLogits, value_distribution},
};
use mavis_game::{Move, Outcome, Position, Rules};
use mavis_lang::{
    Answer, Given, Hallucination, Listing, Request, Top,
    example::outcome_of,
    moves, parse_tracked,
    vocab::{self, VALUES},
};
use mavis_net::{Decoder, KvCacheId, Want};
use mavis_value::{Distribution, Mistake};
use rayon::prelude::*;

/// What a model says of one request by fan-out.
#[derive(Clone, Debug)]
pub struct FanOutAnswer {
    /// The state after the previous action, if that was asked for: what the model wrote, or why it is no state.
    pub tracked: Option<Result<Position, Hallucination>>,
    /// Moves and values; no values once the game is over.
    pub fan: FanOut,
    /// The outcome, if the model calls the game over.
    pub outcome: Option<Outcome>,
    /// Passes of the network it took.
    pub n_passes: usize,
}

impl FanOutAnswer {
    /// The answer in the language: moves from the likeliest down, and the best by mean value where it is asked for.
    #[must_use]
    pub fn answer(&self, request: &Request) -> Answer {
        let listing = match self.outcome {
            Some(outcome) => Listing::Over(outcome),
            None => Listing::Moves(self.fan.values.iter().map(|(mv, values)| (*mv, values.mode())).collect()),
        };
        let best = self.best().filter(|_| request.commands.best);
        let tracked = self.tracked.clone().and_then(Result::ok);
        Answer { tracked, listing: Some(listing), best, next: None }
    }

    /// The move of the highest mean value, the likeliest of equals.
    #[must_use]
    pub fn best(&self) -> Option<Move> {
        let mut best: Option<(Move, f32)> = None;
        for (mv, values) in &self.fan.values {
            let value = values.mean();
            if best.is_none_or(|(_, highest)| value > highest) {
                best = Some((*mv, value));
            }
        }
        best.map(|(mv, _)| mv)
    }
}

impl MavDecoder {
    /// Asks the model alone for the moves of each request and their values: one pass reads the prompts and gives the sets, a second
    /// one runs the moves of all requests. Where the request tracks a state, a draft of it is checked in the first pass, and what
    /// is wrong in it takes more. Only states and lists are answered.
    ///
    /// # Errors
    /// When a request asks for no list, or the network fails.
    pub fn fan_out(&mut self, requests: &[Request]) -> Result<Vec<FanOutAnswer>, ModelError> {
        if requests.iter().any(|request| request.commands.top.is_none()) {
            return Err(ModelError::NoList);
        }
        self.with_caches(requests.len(), |decoder, caches| {
            let settings = GreedySettings { drafting: Drafting::Copy, ..GreedySettings::default() };
            // Drafts are what takes long.
            let is_tracking = requests.iter().any(|request| request.commands.is_tracking());
            let per_job = if is_tracking { STREAMS_PER_JOB } else { requests.len().max(1) };
            let streams = requests.par_iter().zip(caches).with_min_len(per_job);
            let mut streams: Vec<Stream<'_>> =
                streams.map(|(request, &cache)| Stream::new(request, cache, &settings, Goal::List)).collect();
            decoder.run(&mut streams)?;
            let mut answers: Vec<FanOutAnswer> = streams.iter_mut().map(FanOutAnswer::of).collect();
            decoder.run_branches(&streams, &mut answers)?;
            Ok(answers)
        })
    }

    /// The same with the moves known beforehand: a single pass, and no list is ever called over.
    ///
    /// # Errors
    /// As [`MavDecoder::fan_out`].
    pub fn fan_out_known(
        &mut self,
        requests: &[Request],
        known: &[&[Move]],
    ) -> Result<Vec<FanOutAnswer>, ModelError> {
        let has_list = |request: &Request| {
            matches!(request.commands.given, Given::Current(_)) && request.commands.top.is_some()
        };
        if !requests.iter().all(has_list) {
            return Err(ModelError::NoList);
        }
        let asked: Vec<Asked> =
            requests.iter().zip(known).map(|(request, moves)| Asked::of(request, moves)).collect();
        let known: Vec<(Rules, &[Move])> =
            requests.iter().zip(known).map(|(request, moves)| (request.commands.rules, *moves)).collect();
        let fans = self.fan_out_network().first_moves_and_values(&asked, &known)?;
        let answer = |fan| FanOutAnswer { tracked: None, fan, outcome: None, n_passes: 1 };
        Ok(fans.into_iter().map(answer).collect())
    }

    /// Value logits of moves that are known beforehand, all questions in one pass.
    ///
    /// # Errors
    /// When the network fails.
    pub fn value_logits(&mut self, asked: &[&Asked]) -> Result<Vec<ValueLogits>, ModelError> {
        self.fan_out_network().value_logits(asked)
    }

    /// The values of moves that are known beforehand, all in one pass.
    ///
    /// # Errors
    /// When the network fails.
    pub fn values_of_known_moves(
        &mut self,
        positions: &[(&Position, &[Move])],
    ) -> Result<Vec<Vec<Distribution>>, ModelError> {
        let asked: Vec<Asked> =
            positions.iter().map(|(position, moves)| Asked::new(position, moves)).collect();
        let logits = self.value_logits(&asked.iter().collect::<Vec<_>>())?;
        Ok(logits.iter().map(|logits| logits.distributions().collect()).collect())
    }

    /// What asks about known moves without a KV cache.
    pub fn fan_out_network(&mut self) -> FanOutNetwork<'_, dyn Decoder> {
        FanOutNetwork::new(&mut *self.decoder, self.input)
    }

    /// The last pass: every move as a branch of the text before the list; a game that is over has the word for it as its one
    /// branch. Answers that never came to a list have none.
    fn run_branches(
        &mut self,
        streams: &[Stream<'_>],
        answers: &mut [FanOutAnswer],
    ) -> Result<(), ModelError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let mut caches: Vec<KvCacheId> = Vec::with_capacity(streams.len());
        let mut lists: Vec<(&mut FanOutAnswer, Vec<Move>)> = Vec::with_capacity(streams.len());
        for (stream, answer) in streams.iter().zip(answers) {
            if matches!(answer.tracked, Some(Err(_))) {
                continue;
            }
            let (request, cached) = (stream.request, stream.cached);
            let moves = answer.listed(request);
            batch.begin();
            let over = moves.is_empty().then_some(u32::from(vocab::INVALID));
            for token in move_tokens(request, &moves).chain(over) {
                batch.push_branch(&[token], cached, cached, cached);
            }
            caches.push(stream.cache);
            lists.push((answer, moves));
        }
        if caches.is_empty() {
            return Ok(());
        }
        let rows: Vec<u32> = (0..batch.len() as u32).collect();
        let logits = self.decoder.extend(
            &caches,
            &batch,
            &Want { rows, columns: Some(0..SHORT_HEAD), brief: None },
        )?;
        self.batch = batch;
        let mut row = 0;
        for (answer, moves) in lists {
            answer.n_passes += 1;
            answer.fan.values.reserve_exact(moves.len());
            for &mv in &moves {
                let values = &logits.row(row)[usize::from(VALUES.start)..];
                answer.fan.values.push((mv, value_distribution(values)));
                row += 1;
            }
            if moves.is_empty() {
                answer.outcome = likeliest_outcome(logits.row(row));
                row += 1;
            }
        }
        Ok(())
    }
}

impl FanOutAnswer {
    /// What a stream that goes no further says so far: the state and the legal set.
    fn of(stream: &mut Stream<'_>) -> Self {
        let without_list =
            |stream: &Stream<'_>| stream.request.commands.is_tracking().then(|| tracked(stream));
        let tracked = stream.tracked.take().or_else(|| without_list(stream));
        let (legal_set, is_over) = stream.legal_set.take().unwrap_or_default();
        let fan = FanOut { legal_set, is_over, values: Vec::new() };
        Self { tracked, fan, outcome: None, n_passes: stream.decoded.n_passes }
    }

    /// The moves the model lists for a request; none if it calls the game over.
    fn listed(&self, request: &Request) -> Vec<Move> {
        if self.fan.is_over {
            return Vec::new();
        }
        let mut moves = self.fan.legal_set.clone();
        if let Some(Top::Best(k)) = request.commands.top {
            moves.truncate(usize::from(k));
        }
        moves
    }
}

/// The state a stream wrote before its list.
pub(super) fn tracked(stream: &Stream<'_>) -> Result<Position, Hallucination> {
    let tokens = &stream.decoded.tokens;
    // The opening of the list follows the last line; an answer that broke off before it is read as it stands.
    let end = match stream.legal_set {
        Some(_) => tokens.iter().rposition(|&token| token == vocab::LINE_END).map_or(0, |at| at + 1),
        None => tokens.len(),
    };
    let no_state = || Hallucination {
        at: end,
        kind: Mistake::WrongState,
        reason: "the answer ends before its list".to_owned(),
    };
    let position = parse_tracked(&stream.request.commands, &tokens[..end])?;
    stream.legal_set.as_ref().map(|_| position).ok_or_else(no_state)
}

fn move_tokens(request: &Request, moves: &[Move]) -> impl Iterator<Item = u32> {
    let rules = request.commands.rules;
    moves.iter().map(move |&mv| u32::from(moves::token_of(rules, mv).unwrap_or(vocab::UNK)))
}

/// The likeliest of the three outcomes.
fn likeliest_outcome(logits: &[f32]) -> Option<Outcome> {
    let mut best: Option<(Outcome, f32)> = None;
    for (token, &logit) in logits.iter().enumerate() {
        let outcome = mavis_lang::Token::try_from(token).ok().and_then(outcome_of);
        if let Some(outcome) = outcome.filter(|_| best.is_none_or(|(_, highest)| logit > highest)) {
            best = Some((outcome, logit));
        }
    }
    best.map(|(outcome, _)| outcome)
}
