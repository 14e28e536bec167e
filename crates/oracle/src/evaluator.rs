//! An oracle as an evaluator: perfect answers, or the best there are, for any search.

use crate::{Oracle, OracleError};
use mavis_eval::{
    BestAction, EndOrMoves, EvalError, Evaluation, Evaluator, MoveValue, Replies, Reply, Request, Value,
};
use mavis_game::Position;
use mavis_value::Mistake;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Answers requests by asking an oracle, one position after the other, on a thread that may block.
///
/// Futures must be polled inside a tokio runtime. A dropped one is not begun, or ends after the position in hand.
pub struct OracleEvaluator<O> {
    oracle: Arc<Mutex<O>>,
    description: String,
}

impl<O: Oracle + 'static> OracleEvaluator<O> {
    /// Makes an evaluator of an oracle.
    pub fn new(oracle: O) -> Self {
        let description = oracle.identity().to_string();
        Self { oracle: Arc::new(Mutex::new(oracle)), description }
    }
}

impl<O: Oracle + 'static> Evaluator for OracleEvaluator<O> {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let oracle = self.oracle.clone();
        Box::pin(async move {
            let wanted = Wanted(Arc::new(AtomicBool::new(true)));
            let still_wanted = wanted.0.clone();
            let n_requests = requests.len();
            let work = move || {
                let mut oracle = oracle.lock().unwrap_or_else(PoisonError::into_inner);
                let answers = requests.iter().map_while(|request| {
                    still_wanted.load(Ordering::Relaxed).then(|| answer(&mut *oracle, request))
                });
                answers.collect::<Vec<Reply>>()
            };
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
                (0..n_requests).map(|_| Err(EvalError::Failed(error.to_string()))).collect()
            })
        })
    }

    /// What the oracle ranks first, which knows distances that win probabilities do not show.
    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        let oracle = self.oracle.clone();
        Box::pin(async move {
            let work = move || oracle.lock().unwrap_or_else(PoisonError::into_inner).evaluate(&state);
            let failed = |reason: String| EvalError::Failed(reason);
            let judged =
                tokio::task::spawn_blocking(work).await.map_err(|error| failed(error.to_string()))?;
            let best = judged.map_err(eval_error)?.best();
            Ok(best.filter(|best| listed.iter().any(|entry| entry.mv == *best)))
        })
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}

/// Says that an answer is no longer wanted once it is dropped.
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn eval_error(error: OracleError) -> EvalError {
    match error {
        OracleError::Broken { reason, .. } => EvalError::Broken(reason),
        other => EvalError::Failed(other.to_string()),
    }
}

fn answer(oracle: &mut impl Oracle, request: &Request) -> Reply {
    let Some(state) = request.by_rules() else {
        let reason = "the move cannot be played in the parent state";
        return Err(EvalError::hallucination(Mistake::IllegalMove, reason));
    };
    let content = match request.end(&state) {
        Some(outcome) => EndOrMoves::Ended(outcome),
        None => {
            let judged = oracle.evaluate(&state).map_err(eval_error)?;
            let value = |mv, win_probability| MoveValue { mv, value: Value::certain(win_probability) };
            EndOrMoves::Moves(
                judged.moves.iter().map(|judged| value(judged.mv, judged.win_probability)).collect(),
            )
        }
    };
    Ok(Evaluation { state, content })
}
