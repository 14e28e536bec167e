//! Answers against the rules.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

mod legality;

pub use legality::{Legality, ListMetrics, Metrics, Tally};

use crate::{
    answer::{Answer, Listing},
    hallucination::Hallucination,
    moves,
    parser::parse_answer,
    request::Request,
    state::{same_state, without_history},
    vocab::Token,
};
use mavis_game::{Game, Move, Moves, Position};
use mavis_value::Mistake;

/// What the rules say of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerCheck {
    /// Everything that is wrong, in order; places count from the first token of the answer.
    pub mistakes: Vec<Hallucination>,
    /// The listed moves against the legal ones; `None` if no list was asked for or the game is over.
    pub legality: Option<Legality>,
    /// Whether the tracked state is right; `None` if none was asked for.
    pub tracked_right: Option<bool>,
    /// Whether the best action is legal; `None` if there is none.
    pub best_legal: Option<bool>,
    /// Whether the state after the best action is right; `None` if there is none.
    pub next_right: Option<bool>,
    /// Whether the end of the game was stated correctly; `None` if the game is not over and the answer agrees.
    pub end_right: Option<bool>,
}

impl AnswerCheck {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.mistakes.is_empty()
    }
}

/// Parses an answer and compares it with the rules; the first mistake is the error.
///
/// # Errors
/// When the answer does not parse or is not true.
pub fn parse_true_answer(request: &Request, tokens: &[Token]) -> Result<Answer, Hallucination> {
    let answer = parse_answer(request, tokens)?;
    match check_answer(request, &answer).mistakes.into_iter().next() {
        None => Ok(answer),
        Some(mistake) => Err(mistake),
    }
}

/// Compares an answer with the rules. Positions count as the language shows them, without history.
#[must_use]
pub fn check_answer(request: &Request, answer: &Answer) -> AnswerCheck {
    let current = without_history(&request.current());
    let spans = answer.write(&request.commands, &mut Vec::new());
    let mut case = Case {
        rules_text: |mv| moves::move_text(request.commands.rules, mv).unwrap_or("a move"),
        check: AnswerCheck {
            mistakes: Vec::new(),
            legality: None,
            tracked_right: None,
            best_legal: None,
            next_right: None,
            end_right: None,
        },
    };
    if let Some(tracked) = &answer.tracked {
        case.check.tracked_right = Some(case.compare(0, tracked, &current));
    }
    let mut legal = Moves::new();
    current.legal_moves_into(&mut legal);
    if let Some(listing) = &answer.listing {
        let n_expected = request.commands.top.map_or(0, |top| top.n_listed(legal.len()));
        case.check_listing(listing, &current, &legal, n_expected, [spans.list, spans.list_end]);
    }
    if let Some(best) = answer.best {
        let is_legal = legal.contains(&best);
        case.check.best_legal = Some(is_legal);
        if !is_legal {
            case.note(spans.best, Mistake::IllegalMove, format!("{} is not legal", (case.rules_text)(best)));
        } else if let Some(next) = &answer.next {
            let mut expected = current.clone();
            expected.play_unchecked(best);
            case.check.next_right = Some(case.compare(spans.next, next, &expected));
        }
        if !is_legal && answer.next.is_some() {
            case.check.next_right = Some(false);
        }
    }
    case.check
}

/// A check under way.
struct Case<F> {
    rules_text: F,
    check: AnswerCheck,
}

impl<F: Fn(Move) -> &'static str> Case<F> {
    fn note(&mut self, at: usize, kind: Mistake, reason: String) {
        self.check.mistakes.push(Hallucination::new(at, kind, reason));
    }

    fn compare(&mut self, at: usize, found: &Position, expected: &Position) -> bool {
        let same = same_state(found, expected);
        if !same {
            self.note(at, Mistake::WrongState, format!("expected {expected}, found {found}"));
        }
        same
    }

    /// `places` are the first move's and that of the end of the line.
    fn check_listing(
        &mut self,
        listing: &Listing,
        current: &Position,
        legal: &Moves,
        n_expected: usize,
        places: [usize; 2],
    ) {
        let [start, end] = places;
        let outcome = current.outcome();
        match (listing, outcome) {
            (Listing::Over(found), Some(expected)) => {
                self.check.end_right = Some(*found == expected);
                if *found != expected {
                    self.note(
                        start + 1,
                        Mistake::WrongEnd,
                        format!("the outcome is {expected}, not {found}"),
                    );
                }
            }
            (Listing::Over(found), None) => {
                self.check.end_right = Some(false);
                self.check.legality = Some(Legality::of(legal, n_expected, &[]));
                self.note(start, Mistake::WrongEnd, format!("the game is not over, and not {found}"));
            }
            (Listing::Moves(_), Some(expected)) => {
                self.check.end_right = Some(false);
                self.note(start, Mistake::WrongEnd, format!("the game is over: {expected}"));
            }
            (Listing::Moves(listed), None) => {
                let listed: Vec<Move> = listed.iter().map(|&(mv, _)| mv).collect();
                for (idx, mv) in listed.iter().enumerate().filter(|(_, mv)| !legal.contains(mv)) {
                    let reason = format!("{} is not legal", (self.rules_text)(*mv));
                    self.note(start + 2 * idx, Mistake::IllegalMove, reason);
                }
                let legality = Legality::of(legal, n_expected, &listed);
                if legality.n_right < n_expected {
                    let reason = format!("{} of {n_expected} legal moves are listed", legality.n_right);
                    self.note(end, Mistake::MissingMove, reason);
                }
                self.check.legality = Some(legality);
            }
        }
    }
}
