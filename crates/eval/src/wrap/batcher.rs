//! Batches across searches: an actor collects single requests and asks for them together.

use crate::{BestAction, EvalError, Evaluator, MoveValue, Replies, Reply, Request};
use mavis_game::Position;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::Instant,
};

/// When a batch is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchLimits {
    /// Most requests in a batch.
    pub size: usize,
    /// How long the first request of a batch may wait for others.
    pub wait: Duration,
    /// Batches under way at once; further requests queue up and make the next batch larger.
    pub in_flight: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { size: 64, wait: Duration::from_micros(200), in_flight: 1 }
    }
}

/// The stub: clones share the actor. Fails every request once the actor is gone.
#[derive(Clone)]
pub struct Batcher {
    sender: mpsc::UnboundedSender<Message>,
    /// Asked directly for what is too rare for batches.
    inner: Arc<dyn Evaluator>,
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Batcher").field(&self.describe()).finish()
    }
}

/// The actor; give [`BatcherActor::run`] to a task. It ends when every stub is dropped.
pub struct BatcherActor<E> {
    inner: Arc<E>,
    limits: BatchLimits,
    receiver: mpsc::UnboundedReceiver<Message>,
}

/// One request and where its reply goes; the request is given up when the other end is dropped.
#[derive(Debug)]
struct Message {
    request: Request,
    reply: oneshot::Sender<Reply>,
}

/// Makes a stub and its actor.
pub fn batcher<E: Evaluator + 'static>(inner: E, limits: BatchLimits) -> (Batcher, BatcherActor<E>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let inner = Arc::new(inner);
    (Batcher { sender, inner: inner.clone() }, BatcherActor { inner, limits, receiver })
}

impl Evaluator for Batcher {
    fn evaluate(&self, requests: Vec<Request>) -> Replies {
        let waiting: Vec<oneshot::Receiver<Reply>> = requests
            .into_iter()
            .map(|request| {
                let (reply, receiver) = oneshot::channel();
                // A closed channel drops the sender of the reply, which the receiver sees below.
                drop(self.sender.send(Message { request, reply }));
                receiver
            })
            .collect();
        Box::pin(async move {
            let mut replies = Vec::with_capacity(waiting.len());
            for receiver in waiting {
                let gone = |_| Err(EvalError::Failed("the batcher has stopped".to_owned()));
                replies.push(receiver.await.unwrap_or_else(gone));
            }
            replies
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        self.inner.best_action(state, listed)
    }

    fn describe(&self) -> String {
        format!("{}, batched", self.inner.describe())
    }
}

impl<E: Evaluator + 'static> BatcherActor<E> {
    /// Serves requests until every stub is dropped and the last batch is back.
    pub async fn run(mut self) {
        let in_flight = self.limits.in_flight.max(1);
        let permits = Arc::new(Semaphore::new(in_flight));
        loop {
            // The permit comes first: while batches are under way, requests pile up and share the next one.
            let Ok(permit) = permits.clone().acquire_owned().await else { break };
            let Some(batch) = self.collect().await else { break };
            if batch.is_empty() {
                continue;
            }
            let inner = self.inner.clone();
            tokio::spawn(async move {
                answer(&*inner, batch).await;
                drop(permit);
            });
        }
        // Waiting for all permits is waiting for all batches; it cannot fail, as the semaphore is never closed.
        drop(permits.acquire_many(in_flight as u32).await);
    }

    /// The next batch: at least one request, then whatever comes until it is full or the wait is over.
    async fn collect(&mut self) -> Option<Vec<Message>> {
        let mut batch = vec![self.receiver.recv().await?];
        let deadline = Instant::now() + self.limits.wait;
        while batch.len() < self.limits.size.max(1) {
            match self.receiver.try_recv() {
                Ok(message) => batch.push(message),
                Err(_) => match tokio::time::timeout_at(deadline, self.receiver.recv()).await {
                    Ok(Some(message)) => batch.push(message),
                    Ok(None) | Err(_) => break,
                },
            }
        }
        batch.retain(|message| !message.reply.is_closed());
        Some(batch)
    }
}

/// Asks for a batch and hands out the replies; gives the batch up when nobody waits for any of them.
async fn answer<E: Evaluator>(inner: &E, batch: Vec<Message>) {
    let (requests, mut waiting): (Vec<Request>, Vec<oneshot::Sender<Reply>>) =
        batch.into_iter().map(|message| (message.request, message.reply)).unzip();
    let replies = inner.evaluate(requests);
    let abandoned = async {
        for sender in &mut waiting {
            sender.closed().await;
        }
    };
    let replies = tokio::select! {
        replies = replies => replies,
        () = abandoned => return,
    };
    for (sender, reply) in waiting.into_iter().zip(replies) {
        // The search that asked may have stopped meanwhile.
        drop(sender.send(reply));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Scripted};
    use mavis_game::{Position, Rules};

    fn start() -> Request {
        Request::state(Position::start(Rules::Connect4))
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_several_searches_share_a_batch() {
        let recorder = Recorder::new(Scripted::new(1));
        let limits = BatchLimits { size: 8, wait: Duration::from_millis(5), in_flight: 1 };
        let (stub, actor) = batcher(recorder.clone(), limits);
        let actor = tokio::spawn(actor.run());
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let stub = stub.clone();
                tokio::spawn(async move { stub.evaluate_one(start()).await })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap().is_ok());
        }
        assert_eq!(recorder.batch_sizes(), [8, 8, 4]);
        drop(stub);
        actor.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_request_is_not_asked() {
        let recorder = Recorder::new(Scripted::new(1));
        let (stub, actor) = batcher(recorder.clone(), BatchLimits::default());
        drop(stub.evaluate_one(start()));
        let kept = stub.evaluate_one(start());
        let actor = tokio::spawn(actor.run());
        assert!(kept.await.is_ok());
        assert_eq!(recorder.batch_sizes(), [1]);
        drop(stub);
        actor.await.unwrap();
    }

    #[tokio::test]
    async fn a_stub_without_an_actor_fails() {
        let (stub, actor) = batcher(Scripted::new(1), BatchLimits::default());
        drop(actor);
        assert!(matches!(stub.evaluate_one(start()).await, Err(EvalError::Failed(_))));
    }
}
