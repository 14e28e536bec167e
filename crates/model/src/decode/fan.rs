//! Fan-out through sessions: the prompt is read once and kept; all listed moves follow it as branches that do not see each other.

use super::{MavDecoder, Prompt};
use crate::{
    ModelError,
    fan_out::{FanOut, first_moves, value_distribution},
};
use mavis_game::{Move, Outcome};
use mavis_lang::{
    Answer, Given, Listing, Request, Top,
    example::outcome_of,
    moves,
    vocab::{self, VALUES},
};
use mavis_net::{Batch, SessionId, Want};
use mavis_value::N_BUCKETS;

/// What the second pass may answer: an outcome or a value. Both have low ids, so the rest of the head need not be computed.
const SHORT_HEAD: u32 = VALUES.start as u32 + N_BUCKETS as u32;

/// What a model says of one request by fan-out.
#[derive(Clone, Debug)]
pub struct FanOutAnswer {
    /// Moves and values; no values once the game is over.
    pub fan: FanOut,
    /// The outcome, if the model calls the game over.
    pub outcome: Option<Outcome>,
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
        Answer { tracked: None, listing: Some(listing), best, next: None }
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
    /// one runs the moves of all requests. Only the list is answered: requests must give their position.
    ///
    /// # Errors
    /// When a request asks for tracking or for no list, or the network fails.
    pub fn fan_out(&mut self, requests: &[Request]) -> Result<Vec<FanOutAnswer>, ModelError> {
        check(requests)?;
        self.with_sessions(requests.len(), |decoder, sessions| {
            let prompts: Vec<Prompt> = requests.iter().map(Prompt::new).collect();
            let mut answers = decoder.read_prompts(requests, &prompts, sessions)?;
            let lists: Vec<Vec<Move>> =
                answers.iter().zip(requests).map(|(answer, request)| answer.listed(request)).collect();
            decoder.run_branches(requests, &prompts, sessions, &lists, &mut answers)?;
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
        check(requests)?;
        let mut batch = Batch::default();
        let mut rows = Vec::new();
        for (request, moves) in requests.iter().zip(known) {
            let prompt = Prompt::new(request);
            let end = prompt.tokens.len();
            self.push_prompt(&mut batch, &prompt);
            let first = batch.len() as u32;
            for token in move_tokens(request, moves) {
                batch.push_branch(&[token], end, end, 0);
            }
            rows.extend(first - 1..batch.len() as u32);
        }
        let logits = self.decoder.logits(&batch, &Want::rows(rows))?;
        let mut row = 0;
        let answer = |(request, moves): (&Request, &&[Move])| {
            let (first_moves, over) = first_moves(request.commands.rules, logits.row(row));
            let values = moves.iter().zip(row + 1..).map(|(&mv, row)| {
                (mv, value_distribution(&logits.row(row)[usize::from(VALUES.start)..][..N_BUCKETS]))
            });
            let fan = FanOut { first_moves, over, values: values.collect() };
            row += 1 + moves.len();
            FanOutAnswer { fan, outcome: None }
        };
        Ok(requests.iter().zip(known).map(answer).collect())
    }

    /// The first pass: prompts into sessions, and what comes first in each list.
    fn read_prompts(
        &mut self,
        requests: &[Request],
        prompts: &[Prompt],
        sessions: &[SessionId],
    ) -> Result<Vec<FanOutAnswer>, ModelError> {
        let mut batch = Batch::default();
        prompts.iter().for_each(|prompt| self.push_prompt(&mut batch, prompt));
        let logits = self.decoder.extend(sessions, &batch, &Want::last(&batch))?;
        let answer = |(idx, request): (usize, &Request)| {
            let (first_moves, over) = first_moves(request.commands.rules, logits.row(idx));
            FanOutAnswer { fan: FanOut { first_moves, over, values: Vec::new() }, outcome: None }
        };
        Ok(requests.iter().enumerate().map(answer).collect())
    }

    /// The second pass: every move as a branch of its prompt; a game that is over has the word for it as its one branch.
    fn run_branches(
        &mut self,
        requests: &[Request],
        prompts: &[Prompt],
        sessions: &[SessionId],
        lists: &[Vec<Move>],
        answers: &mut [FanOutAnswer],
    ) -> Result<(), ModelError> {
        let mut batch = Batch::default();
        for ((request, prompt), moves) in requests.iter().zip(prompts).zip(lists) {
            let cached = prompt.tokens.len();
            batch.begin();
            let over = moves.is_empty().then_some(u32::from(vocab::INVALID));
            for token in move_tokens(request, moves).chain(over) {
                batch.push_branch(&[token], cached, cached, cached);
            }
        }
        let rows: Vec<u32> = (0..batch.len() as u32).collect();
        let logits = self.decoder.extend(sessions, &batch, &Want { rows, columns: Some(0..SHORT_HEAD) })?;
        let mut row = 0;
        for (answer, moves) in answers.iter_mut().zip(lists) {
            for &mv in moves {
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
    /// The moves the model lists for a request; none if it calls the game over.
    fn listed(&self, request: &Request) -> Vec<Move> {
        if self.fan.is_over() {
            return Vec::new();
        }
        let mut moves = self.fan.legal_set();
        if let Some(Top::Best(k)) = request.commands.top {
            moves.truncate(usize::from(k));
        }
        moves
    }
}

fn check(requests: &[Request]) -> Result<(), ModelError> {
    let has_list = |request: &Request| {
        matches!(request.commands.given, Given::Current(_)) && request.commands.top.is_some()
    };
    if requests.iter().all(has_list) { Ok(()) } else { Err(ModelError::NoList) }
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
