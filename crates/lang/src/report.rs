//! What the program shows of the language: tokens of a text, an example of a game, the check of a file of answers.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{
    check::{Metrics, check_answer},
    example::{Annotation, BuildError, Example, ExampleBuilder, Variety},
    hallucination::Hallucination,
    parser::{encode, parse_answer, parse_request},
    trace::{check_trace, read_trace},
    vocab::{EncodeError, Token, vocabulary},
};
use mavis_game::{Chess, Game, Move, Position, Rules};
use mavis_value::{Mistake, Score};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;

/// A text split into tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenReport {
    /// Ids and strings, in order.
    pub tokens: Vec<(Token, &'static str)>,
}

/// Splits a text into tokens to be shown.
///
/// # Errors
/// When the text holds something that is not of the language.
pub fn tokenize(text: &str) -> Result<TokenReport, EncodeError> {
    let ids = vocabulary().encode(text)?;
    let tokens = ids.into_iter().map(|id| (id, vocabulary().string(id).unwrap_or_default())).collect();
    Ok(TokenReport { tokens })
}

impl fmt::Display for TokenReport {
    /// One token a line: index, id, string in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (id, string)) in self.tokens.iter().enumerate() {
            writeln!(f, "{index:>6} {id:>5} {string:?}")?;
        }
        Ok(())
    }
}

/// Random playouts behind each value of a sample example.
const N_PLAYOUTS: u32 = 16;
/// Plies after which a playout counts as drawn.
const MAX_PLIES: u32 = 300;

/// An example of a game from a seed: a position of random play, its moves valued by random playouts, which is what
/// can be had without an oracle.
///
/// # Errors
/// Never for commands drawn from a sensible `variety`; the error is the builder's.
pub fn sample_example(rules: Rules, seed: u64, variety: &Variety) -> Result<Example, BuildError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (position, previous) = random_position(rules, &mut rng);
    let moves: Vec<(Move, f32)> =
        position.legal_moves().into_iter().map(|mv| (mv, win_rate(&position, mv, &mut rng))).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    let annotation = Annotation {
        position: &position,
        moves: &moves,
        best: best.map(|(mv, _)| mv),
        previous: previous.as_ref().map(|(position, mv)| (position, *mv)),
    };
    let commands = variety.draw(rules, moves.len(), previous.is_some(), &mut rng);
    ExampleBuilder::default().build(&annotation, &commands, &mut rng)
}

/// A position some plies into a random game, and what came before.
fn random_position(rules: Rules, rng: &mut impl Rng) -> (Position, Option<(Position, Move)>) {
    let mut position = match rules {
        Rules::Chess960 => {
            Chess::start960(rng.random_range(0..960)).map_or_else(|| Position::start(rules), Position::Chess)
        }
        _ => Position::start(rules),
    };
    let mut previous = None;
    for _ in 0..rng.random_range(0..50) {
        let Some(mv) = position.random_move(rng.random()) else { break };
        let before = position.clone();
        position.play_unchecked(mv);
        previous = Some((before, mv));
    }
    (position, previous)
}

fn win_rate(position: &Position, mv: Move, rng: &mut impl Rng) -> f32 {
    let side = position.side_to_move();
    let mut after = position.clone();
    after.play_unchecked(mv);
    let points: f32 = (0..N_PLAYOUTS)
        .map(|_| match after.clone().playout(MAX_PLIES, || rng.random()) {
            Some(outcome) => Score::of_outcome(outcome, side).win_probability(position.rules()),
            None => 0.5,
        })
        .sum();
    points / N_PLAYOUTS as f32
}

/// One record of a file of answers that is not right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Which record, counted from 1.
    pub record: usize,
    /// The line of the file on which the mistake stands, counted from 1.
    pub line: usize,
    /// The mistake; its place counts from the first token of the record.
    pub mistake: Hallucination,
}

/// The check of a file of answers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CheckReport {
    /// Counts by kind and legality over all records.
    pub metrics: Metrics,
    /// Every mistake, in the order of the file.
    pub failures: Vec<Failure>,
    /// Records whose question itself cannot be read; they are counted as malformed.
    pub n_unreadable: usize,
}

/// Judges a text of records, each a prompt with its answer (or a whole trace), separated by empty lines.
#[must_use]
pub fn check(text: &str) -> CheckReport {
    let mut report = CheckReport::default();
    for (idx, (first_line, record)) in records(text).enumerate() {
        for mistake in report.judge(&record) {
            let line = first_line + line_of(&record, mistake.at);
            report.failures.push(Failure { record: idx + 1, line, mistake });
        }
    }
    report
}

impl CheckReport {
    /// Judges one record and returns its mistakes.
    fn judge(&mut self, record: &str) -> Vec<Hallucination> {
        // The question first, by itself, since an answer may hold what is no token at all.
        if record.starts_with("Minimax") {
            let result = encode(record)
                .and_then(|tokens| read_trace(&tokens))
                .and_then(|trace| check_trace(&trace, None));
            return match result {
                Ok(()) => {
                    self.metrics.n_answers += 1;
                    self.metrics.n_right += 1;
                    Vec::new()
                }
                Err(mistake) => self.unparsed(None, mistake),
            };
        }
        let (tokens, foreign) = readable(record);
        let (request, input_len) = match parse_request(&tokens) {
            Ok(parsed) => parsed,
            Err(mistake) => {
                self.n_unreadable += 1;
                return self.unparsed(None, foreign.unwrap_or(mistake));
            }
        };
        let placed = |mistake: Hallucination| Hallucination { at: input_len + mistake.at, ..mistake };
        let parsed = parse_answer(&request, tokens.get(input_len..).unwrap_or_default()).map_err(placed);
        match (parsed, foreign) {
            (Ok(answer), None) => {
                let check = check_answer(&request, &answer);
                self.metrics.add(&check);
                check.mistakes.into_iter().map(placed).collect()
            }
            (Err(mistake), None) => self.unparsed(Some(&request), mistake),
            (_, Some(foreign)) => self.unparsed(Some(&request), foreign),
        }
    }

    fn unparsed(&mut self, request: Option<&crate::Request>, mistake: Hallucination) -> Vec<Hallucination> {
        self.metrics.add_unparsed(request, &mistake);
        vec![mistake]
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "line {}, record {}: {}", failure.line, failure.record, failure.mistake)?;
        }
        self.metrics.fmt(f)
    }
}

/// The tokens of a record up to the first foreign text, and the mistake that this is.
fn readable(record: &str) -> (Vec<Token>, Option<Hallucination>) {
    let mut tokens = Vec::new();
    let foreign = vocabulary()
        .encode_into(record, &mut tokens)
        .err()
        .map(|error| Hallucination::new(tokens.len(), Mistake::Malformed, error.to_string()));
    (tokens, foreign)
}

/// Records with the number of their first line; each ends with a line break, as examples do.
fn records(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut fresh = true;
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() {
            fresh = true;
            continue;
        }
        if fresh {
            found.push((number, String::new()));
            fresh = false;
        }
        if let Some((_, record)) = found.last_mut() {
            record.push_str(line);
            record.push('\n');
        }
    }
    found.into_iter()
}

/// How many lines of a record come before the token at `at`.
fn line_of(record: &str, at: usize) -> usize {
    let (tokens, _) = readable(record);
    let before = tokens.iter().take(at).filter_map(|&token| vocabulary().string(token));
    before.map(|string| string.matches('\n').count()).sum()
}
