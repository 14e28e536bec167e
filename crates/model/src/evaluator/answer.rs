//! Requests as work for a decoder, and its answers as replies.

use super::{
    Choice, Reply,
    queue::{JobOutput, Slot, wake},
};
use crate::{ModelError, decode::MavDecoder, fan_out::Asked};
use mavis_eval::{EndOrMoves, EvalError, Evaluation, MoveValue, Request, Value, WorldModel};
use mavis_game::{Game, Move, Position};
use mavis_lang::{Commands, Hallucination, Request as Text, moves};
use mavis_value::{Distribution, Mistake};
use std::sync::Arc;

/// One thing to ask the network, and where the answer goes.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) question: Question,
    pub(super) slot: Slot,
}

#[derive(Debug)]
pub(super) enum Question {
    /// Values of known moves.
    Values(Asked),
    /// Everything, from the model alone.
    State(Request),
    /// The choice among listed moves.
    Best { state: Arc<Position>, listed: Vec<MoveValue> },
}

impl Question {
    /// Tokens and rows of logits in a pass; nothing for what is not in the common one.
    pub(super) fn size(&self) -> (usize, usize) {
        match self {
            Self::Values(asked) => (asked.n_tokens(), asked.n_moves()),
            Self::State(_) | Self::Best { .. } => (0, 0),
        }
    }
}

/// A request as far as it can be answered without the network.
pub(super) enum Prepared {
    /// What is over, or cannot be, needs no network.
    Answered(Reply),
    Asked {
        question: Question,
        reader: Reader,
    },
}

/// Turns what comes back into a reply.
pub(super) struct Reader {
    /// The state and its moves, where they are known beforehand.
    known: Option<(Arc<Position>, Arc<[Move]>)>,
}

impl Prepared {
    pub(super) fn new(world: WorldModel, request: Request) -> Self {
        if world == WorldModel::Model {
            return Self::Asked { question: Question::State(request), reader: Reader { known: None } };
        }
        let Some(state) = request.by_rules() else {
            return Self::Answered(Err(EvalError::hallucination(
                Mistake::IllegalMove,
                "the move cannot be played in the parent state",
            )));
        };
        if let Some(outcome) = request.end(&state) {
            return Self::Answered(Ok(Evaluation { state, content: EndOrMoves::Ended(outcome) }));
        }
        let moves = request.legal(&state);
        let question = Question::Values(Asked::new(&state, &moves));
        Self::Asked { question, reader: Reader { known: Some((state, moves)) } }
    }
}

impl Reader {
    pub(super) fn read(self, answer: JobOutput) -> Reply {
        match (answer, self.known) {
            (JobOutput::Reply(reply), _) => reply,
            (JobOutput::Logits(logits), Some((state, moves))) => {
                let content = listed(moves.iter().copied(), logits.distributions().collect());
                Ok(Evaluation { state, content })
            }
            (JobOutput::Logits(_) | JobOutput::Best(_), _) => {
                Err(EvalError::Failed("an answer to another question".to_owned()))
            }
        }
    }
}

/// A decoder that answers jobs.
pub(super) struct Answerer {
    pub(super) decoder: MavDecoder,
}

impl Answerer {
    /// Answers every job, then wakes those who wait. A network that fails fails them all.
    pub(super) fn answer(&mut self, jobs: Vec<Job>) {
        let (mut asked, mut states, mut wakers) = (Vec::new(), Vec::new(), Vec::new());
        for Job { question, slot } in jobs {
            match question {
                Question::Values(question) => asked.push((question, slot)),
                Question::State(request) => states.push((request, slot)),
                Question::Best { state, listed } => {
                    wakers.push(slot.fill(JobOutput::Best(self.best(&state, &listed))));
                }
            }
        }
        if !asked.is_empty() {
            let questions: Vec<&Asked> = asked.iter().map(|(question, _)| question).collect();
            let answers = self.decoder.value_logits(&questions);
            let slots = asked.into_iter().map(|(_, slot)| slot);
            wakers.extend(fill(slots, answers.map(|all| all.into_iter().map(JobOutput::Logits))));
        }
        if !states.is_empty() {
            let requests: Vec<&Request> = states.iter().map(|(request, _)| request).collect();
            let answers = self.by_model(&requests);
            let slots = states.into_iter().map(|(_, slot)| slot);
            wakers.extend(fill(slots, answers.map(|all| all.into_iter().map(JobOutput::Reply))));
        }
        wake(wakers.into_iter().flatten());
    }

    /// The model's choice among listed moves, with their list as context.
    fn best(&mut self, state: &Position, listed: &[MoveValue]) -> Choice {
        let question = Text::at(state.clone(), Commands::top_all_best(state.rules()));
        let listed: Vec<_> = listed.iter().map(|entry| (entry.mv, entry.value.bucket())).collect();
        self.decoder.best_action(&question, &listed).map_err(ModelError::into_eval)
    }

    /// Every node in one answer: the state where it follows from a move, and its moves with their values.
    fn by_model(&mut self, requests: &[&Request]) -> Result<Vec<Reply>, ModelError> {
        let questions: Vec<Option<Text>> = requests.iter().map(|request| question(request)).collect();
        let asked: Vec<Text> = questions.iter().flatten().cloned().collect();
        let mut answers = self.decoder.fan_out(&asked)?.into_iter();
        let replies = requests.iter().zip(questions).map(|(request, question)| {
            if question.is_none() {
                return Err(EvalError::hallucination(Mistake::IllegalMove, "no move of this game"));
            }
            let no_answer = || EvalError::Failed("no answer to a request".to_owned());
            let answer = answers.next().ok_or_else(no_answer)?;
            let state = match (answer.tracked, request) {
                (Some(tracked), _) => Arc::new(tracked.map_err(eval_error)?),
                (None, Request::State { position, .. }) => position.clone(),
                (None, Request::Child { .. }) => return Err(no_answer()),
            };
            let content = match answer.outcome {
                Some(outcome) => EndOrMoves::Ended(outcome),
                None => {
                    let (moves, values): (Vec<Move>, Vec<Distribution>) =
                        answer.fan.values.into_iter().unzip();
                    listed(moves.into_iter(), values.into())
                }
            };
            Ok(Evaluation { state, content })
        });
        Ok(replies.collect())
    }
}

/// What the model is asked about a node; `None` for a move that the language has no word for.
fn question(request: &Request) -> Option<Text> {
    match request {
        Request::State { position, .. } => {
            Some(Text::at(Position::clone(position), Commands::top_all(position.rules())))
        }
        Request::Child { parent, mv } => {
            let rules = parent.rules();
            let commands = Commands { best: false, ..Commands::tracking(rules) };
            moves::token_of(rules, *mv).map(|_| Text::after(Position::clone(parent), *mv, commands))
        }
    }
}

/// Fills slots with answers, or all with the failure; returns whom to wake.
fn fill(
    slots: impl Iterator<Item = Slot>,
    answers: Result<impl Iterator<Item = JobOutput>, ModelError>,
) -> Vec<Option<std::task::Waker>> {
    match answers {
        // A slot without an answer is dropped here, which fails its request.
        Ok(answers) => slots.zip(answers).map(|(slot, answer)| slot.fill(answer)).collect(),
        Err(error) => {
            let error = error.into_eval();
            slots.map(|slot| slot.fill(JobOutput::Reply(Err(error.clone())))).collect()
        }
    }
}

/// A hallucination as searches see it.
#[must_use]
pub fn eval_error(hallucination: Hallucination) -> EvalError {
    let Hallucination { at, kind, reason } = hallucination;
    EvalError::hallucination(kind, format!("{reason} (token {at})"))
}

fn listed(moves: impl Iterator<Item = Move>, values: Arc<[Distribution]>) -> EndOrMoves {
    let values = Value::of_each(values);
    EndOrMoves::Moves(moves.zip(values).map(|(mv, value)| MoveValue { mv, value }).collect())
}
