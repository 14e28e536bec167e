//! Internal search as an evaluator: whoever asks for the values of a position gets those of the model's own search of it.

use super::{InternalPlayerSettings, tree};
use mavis_eval::{
    BestAction, EndOrMoves, EvalError, Evaluator, MoveValue, OneReply, Replies, Request, Value,
};
use mavis_game::{Game as _, Position};
use mavis_lang::trace::TraceProgress;
use mavis_model::internal::{Internal, Written};
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// The values of a model, those of expanded moves by its own search.
///
/// Every position takes a whole trace, so a search outside over this one pays for each of its simulations what `mav-is` pays for a move.
pub struct InternalEvaluator {
    internal: Arc<Internal>,
    settings: InternalPlayerSettings,
    /// The same model without search, which knows all moves.
    plain: Arc<dyn Evaluator>,
}

impl InternalEvaluator {
    /// An evaluator over a model that searches by itself and the same model without search.
    #[must_use]
    pub fn new(internal: Arc<Internal>, settings: InternalPlayerSettings, plain: Arc<dyn Evaluator>) -> Self {
        Self { internal, settings, plain }
    }

    /// Begins a trace; `None` where the game is over. What was written comes back when the trace ends, broken or not.
    fn search(
        &self,
        position: &Position,
    ) -> Result<Option<impl Future<Output = Result<TraceProgress, EvalError>> + use<>>, EvalError> {
        if position.outcome().is_some() {
            return Ok(None);
        }
        let rules = position.rules();
        let max_tokens = self.settings.max_tokens(rules).map_err(EvalError::Failed)?;
        let mut progress = TraceProgress::new(self.settings.shape(rules), position);
        let (sender, mut written) = unbounded_channel();
        let settings = self.settings.decoding(max_tokens);
        self.internal
            .search_with(*progress.shape(), position, settings, move |news| sender.send(news).is_ok());
        Ok(Some(async move {
            loop {
                match written.recv().await {
                    Some(Written::Tokens(tokens)) => {
                        for token in tokens {
                            progress.push(token);
                        }
                    }
                    Some(Written::End) => return Ok(progress),
                    Some(Written::Failed(reason)) => return Err(EvalError::Broken(reason)),
                    None => return Err(EvalError::Broken("the model's thread has stopped".to_owned())),
                }
            }
        }))
    }
}

impl Evaluator for InternalEvaluator {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let each = self.evaluate_each(requests);
        Box::pin(async move {
            let mut replies = Vec::with_capacity(each.len());
            // All are under way since they were asked for.
            for reply in each {
                replies.push(reply.await);
            }
            replies
        })
    }

    fn evaluate_one(&self, request: Request) -> OneReply {
        // Both begin now, so that traces of requests that come together share their passes.
        let search = request.by_rules().map(|position| self.search(&position)).transpose();
        let plain = self.plain.evaluate_one(request);
        Box::pin(async move {
            let search = search?.flatten();
            let mut evaluation = plain.await?;
            let (Some(search), EndOrMoves::Moves(moves)) = (search, &mut evaluation.content) else {
                return Ok(evaluation);
            };
            let progress = search.await?;
            for entry in moves {
                if let Some(value) = tree::searched(&progress, 0, entry.mv) {
                    entry.value = Value::certain(value);
                }
            }
            Ok(evaluation)
        })
    }

    fn evaluate_each(&self, requests: Vec<Request>) -> Vec<OneReply> {
        requests.into_iter().map(|request| self.evaluate_one(request)).collect()
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        self.plain.best_action(state, listed)
    }

    fn describe(&self) -> String {
        let InternalPlayerSettings { breadth, depth, .. } = self.settings;
        format!("{} with its own search of {breadth}x{depth}", self.plain.describe())
    }
}
