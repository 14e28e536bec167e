//! The embedded evaluator: a model behind the face every search asks.
//!
//! A decoder lives on a thread of its own. Whatever has been asked while it was busy makes the next batch, so any number of searches share its
//! passes without waiting for each other; [`mavis_eval::batcher`] in front of it adds a wait for callers who come one by one, and
//! [`mavis_eval::Cache`] a memory. Dropping the replies gives the request up as long as its batch has not begun.

mod answer;

pub use answer::eval_error;
// Old place, until every branch imports from `mavis-eval`.
pub use mavis_eval::WorldModel;

use crate::{MavModel, ModelError, decode::MavDecoder};
use answer::Answerer;
use mavis_eval::{BestAction, EvalError, Evaluator, MoveValue, Replies, Reply, Request};
use mavis_game::{Move, Position};
use mavis_net::Precision;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// How an embedded model answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedSettings {
    /// Where states, legal moves and ends come from.
    pub world: WorldModel,
    /// Requests answered in the same passes at most; more only cost memory.
    pub batch: usize,
    /// A name for reports.
    pub name: String,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self { world: WorldModel::Rules, batch: 64, name: "model".to_owned() }
    }
}

/// The stub of a model on its own thread; clones share it. The thread ends when all are dropped.
#[derive(Clone, Debug)]
pub struct Embedded {
    sender: mpsc::UnboundedSender<Message>,
    description: Arc<str>,
}

#[derive(Debug)]
enum Message {
    Evaluate { requests: Vec<Request>, reply: oneshot::Sender<Vec<Reply>> },
    Best { state: Arc<Position>, listed: Vec<MoveValue>, reply: oneshot::Sender<Choice> },
}

/// The model's own choice among listed moves.
type Choice = Result<Option<Move>, EvalError>;

impl Message {
    fn n_requests(&self) -> usize {
        match self {
            Self::Evaluate { requests, .. } => requests.len(),
            Self::Best { .. } => 0,
        }
    }

    fn is_wanted(&self) -> bool {
        match self {
            Self::Evaluate { reply, .. } => !reply.is_closed(),
            Self::Best { reply, .. } => !reply.is_closed(),
        }
    }
}

impl Embedded {
    /// Puts a decoder of any device on a thread.
    ///
    /// # Errors
    /// When the network has too few tokens for the language, or there is no thread.
    pub fn start(mut decoder: MavDecoder, settings: EmbeddedSettings) -> Result<Self, ModelError> {
        crate::decode::check_vocabulary(decoder.network().config().vocab)?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let world = match settings.world {
            WorldModel::Rules => "rules",
            WorldModel::Model => "model alone",
        };
        let description = format!("{} ({world})", settings.name).into();
        let actor = Actor { answerer: Answerer { decoder, world: settings.world }, receiver, settings };
        std::thread::Builder::new()
            .name("mavis-model".to_owned())
            .spawn(move || actor.run())
            .map_err(|source| ModelError::File { path: "a thread for the model".to_owned(), source })?;
        Ok(Self { sender, description })
    }

    /// A model on the processor.
    ///
    /// # Errors
    /// As [`Embedded::start`], or when the shape is refused.
    pub fn cpu(
        model: &MavModel,
        precision: Precision,
        settings: EmbeddedSettings,
    ) -> Result<Self, ModelError> {
        Self::start(MavDecoder::cpu(model, precision)?, settings)
    }
}

impl Evaluator for Embedded {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let n = requests.len();
        let (reply, receiver) = oneshot::channel();
        // A closed channel drops the sender of the reply, which the receiver sees below.
        drop(self.sender.send(Message::Evaluate { requests, reply }));
        Box::pin(async move {
            let gone = |_| vec![Err(EvalError::Failed("the model's thread has stopped".to_owned())); n];
            receiver.await.unwrap_or_else(gone)
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        let (reply, receiver) = oneshot::channel();
        drop(self.sender.send(Message::Best { state, listed, reply }));
        Box::pin(async move {
            let gone = |_| Err(EvalError::Failed("the model's thread has stopped".to_owned()));
            receiver.await.unwrap_or_else(gone)
        })
    }

    fn describe(&self) -> String {
        self.description.to_string()
    }
}

/// The thread's end.
struct Actor {
    answerer: Answerer,
    receiver: mpsc::UnboundedReceiver<Message>,
    settings: EmbeddedSettings,
}

impl Actor {
    fn run(mut self) {
        while let Some(first) = self.receiver.blocking_recv() {
            let mut messages = vec![first];
            let mut n_requests = messages[0].n_requests();
            while n_requests < self.settings.batch {
                let Ok(message) = self.receiver.try_recv() else { break };
                n_requests += message.n_requests();
                messages.push(message);
            }
            messages.retain(Message::is_wanted);
            self.answer(messages);
        }
    }

    fn answer(&mut self, messages: Vec<Message>) {
        let requests: Vec<&Request> = messages
            .iter()
            .flat_map(|message| match message {
                Message::Evaluate { requests, .. } => &requests[..],
                Message::Best { .. } => &[],
            })
            .collect();
        let mut replies = Vec::with_capacity(requests.len());
        for chunk in requests.chunks(self.settings.batch.max(1)) {
            replies.extend(self.answerer.answer(chunk));
        }
        let mut replies = replies.into_iter();
        // Whoever asked may have stopped meanwhile.
        for message in messages {
            match message {
                Message::Evaluate { requests, reply } => {
                    drop(reply.send(replies.by_ref().take(requests.len()).collect()));
                }
                Message::Best { state, listed, reply } => {
                    drop(reply.send(self.answerer.best(&state, &listed)));
                }
            }
        }
    }
}
