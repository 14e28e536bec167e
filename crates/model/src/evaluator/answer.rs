//! Batches of evaluation requests in, replies out.

use crate::{
    ModelError,
    decode::{Drafting, GreedySettings, MavDecoder},
    fan_out,
};
use mavis_eval::{EvalError, Evaluation, MoveValue, Reply, Request, Verdict, WorldModel};
use mavis_game::{Game, Move, Position};
use mavis_lang::{Commands, Hallucination, Request as Question, moves};
use mavis_value::{Distribution, Mistake};
use std::sync::Arc;

pub(super) struct Answerer {
    pub(super) decoder: MavDecoder,
    pub(super) world: WorldModel,
}

impl Answerer {
    /// A reply to each request, in order. A network that fails fails them all.
    pub(super) fn answer(&mut self, requests: &[&Request]) -> Vec<Reply> {
        let replies = match self.world {
            WorldModel::Rules => self.by_rules(requests),
            WorldModel::Model => self.by_model(requests),
        };
        replies.unwrap_or_else(|error| vec![Err(EvalError::Failed(error.to_string())); requests.len()])
    }

    /// The model's choice among listed moves, with their list as context.
    pub(super) fn best(&mut self, state: &Position, listed: &[MoveValue]) -> Result<Option<Move>, EvalError> {
        let question = Question::at(state.clone(), Commands::top_all_best(state.rules()));
        let listed: Vec<_> = listed.iter().map(|entry| (entry.mv, entry.value.bucket())).collect();
        self.decoder.best_action(&question, &listed).map_err(|error| EvalError::Failed(error.to_string()))
    }

    fn by_rules(&mut self, requests: &[&Request]) -> Result<Vec<Reply>, ModelError> {
        let states: Vec<Option<Arc<Position>>> = requests.iter().map(|request| request.by_rules()).collect();
        // What is over, or cannot be, needs no network.
        let running: Vec<(&Position, Vec<Move>)> = states
            .iter()
            .flatten()
            .filter(|state| state.outcome().is_none())
            .map(|state| (&**state, state.legal_moves().into_iter().collect()))
            .collect();
        let asked: Vec<(&Position, &[Move])> =
            running.iter().map(|(position, moves)| (*position, moves.as_slice())).collect();
        let full_input = self.decoder.full_input();
        let values = fan_out::values_of_known_moves(self.decoder.network(), full_input, &asked)?;
        let mut answers =
            running.iter().zip(values).map(|((_, moves), values)| listed(moves.iter().copied().zip(values)));
        let replies = states.iter().map(|state| match state {
            None => Err(EvalError::hallucination(
                Mistake::IllegalMove,
                "the move cannot be played in the parent state",
            )),
            Some(state) => {
                let verdict = match state.outcome() {
                    Some(outcome) => Verdict::Ended(outcome),
                    None => answers.next().unwrap_or(Verdict::Moves(Vec::new())),
                };
                Ok(Evaluation { state: state.clone(), verdict })
            }
        });
        Ok(replies.collect())
    }

    /// Children are tracked first; then every state is asked for its moves.
    fn by_model(&mut self, requests: &[&Request]) -> Result<Vec<Reply>, ModelError> {
        let states = self.track(requests)?;
        let questions: Vec<Question> = states
            .iter()
            .flatten()
            .map(|state| Question::at(Position::clone(state), Commands::top_all(state.rules())))
            .collect();
        let mut answers = self.decoder.fan_out(&questions)?.into_iter();
        let replies = states.into_iter().map(|state| {
            let state = state?;
            let Some(answer) = answers.next() else {
                return Err(EvalError::Failed("no answer to a state".to_owned()));
            };
            let verdict = match answer.outcome {
                Some(outcome) => Verdict::Ended(outcome),
                None => listed(answer.fan.values.into_iter()),
            };
            Ok(Evaluation { state, verdict })
        });
        Ok(replies.collect())
    }

    /// The state of each request in the model's own words.
    fn track(&mut self, requests: &[&Request]) -> Result<Vec<Result<Arc<Position>, EvalError>>, ModelError> {
        let mut questions = Vec::new();
        for request in requests {
            if let Request::Child { parent, mv } = request {
                let rules = parent.rules();
                // Only the state is asked for: a list after a tracked state is seldom trained.
                let commands = Commands { top: None, best: false, ..Commands::tracking(rules) };
                if moves::token_of(rules, *mv).is_some() {
                    questions.push(Question::after(Position::clone(parent), *mv, commands));
                }
            }
        }
        let settings = GreedySettings { drafting: Drafting::Copy, ..GreedySettings::default() };
        let decoded = self.decoder.greedy(&questions, &settings)?;
        let mut tracked = questions.iter().zip(decoded).map(|(question, decoded)| {
            let answer = decoded.answer(question).map_err(eval_error)?;
            let lost = || EvalError::hallucination(Mistake::WrongState, "no state in the answer");
            answer.tracked.map(Arc::new).ok_or_else(lost)
        });
        let states = requests.iter().map(|request| match request {
            Request::State(state) => Ok(state.clone()),
            Request::Child { parent, mv } if moves::token_of(parent.rules(), *mv).is_none() => {
                Err(EvalError::hallucination(Mistake::IllegalMove, format!("{mv:?} is no move of this game")))
            }
            Request::Child { .. } => {
                tracked.next().unwrap_or_else(|| Err(EvalError::Failed("no answer to a move".to_owned())))
            }
        });
        Ok(states.collect())
    }
}

/// A hallucination as searches see it.
#[must_use]
pub fn eval_error(hallucination: Hallucination) -> EvalError {
    let Hallucination { at, kind, reason } = hallucination;
    EvalError::hallucination(kind, format!("{reason} (token {at})"))
}

fn listed(moves: impl Iterator<Item = (Move, Distribution)>) -> Verdict {
    Verdict::Moves(moves.map(|(mv, values)| MoveValue { mv, value: values.into() }).collect())
}
