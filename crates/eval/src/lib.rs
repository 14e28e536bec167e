//! Evaluators: positions in, moves with values out.
//!
//! An [`Evaluator`] answers a batch of [`Request`]s, each a state or a parent state and a move, with the state it sees,
//! the outcome or every move with its value, or with a hallucination. The embedded model, a
//! remote server, an oracle and the test doubles here implement it; it knows nothing of trees.
//!
//! Answers come as a future. Dropping the future cancels the request: whoever does the work notices at the next
//! chance and drops it. A search keeps several such futures; an evaluator that works in
//! batches collects the requests of all searches that share it. Wrappers implement the same trait: [`Cache`],
//! [`Recorder`], [`Views`] (the average over symmetries), and for tests [`Faulty`] (latency, failures,
//! hallucinations) and [`Mistaken`] (answers in good form and against the rules).
//!
//! ```
//! use mavis_eval::{Evaluator, Request, Scripted, EndOrMoves};
//! use mavis_game::{Position, Rules};
//!
//! let evaluator = Scripted::new(7);
//! let request = Request::state(Position::start(Rules::Connect4));
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let reply = runtime.block_on(evaluator.evaluate_one(request))?;
//! let EndOrMoves::Moves(moves) = reply.content else { panic!("the game has just begun") };
//! assert_eq!(moves.len(), 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod double;
mod evaluation;
mod evaluator;
mod request;
mod world;
mod wrap;

pub use double::{Faults, Faulty, Free, Mistaken, Mistakes, Scripted};
pub use evaluation::{EndOrMoves, EvalError, Evaluation, MoveValue, Reply, SharedDistribution, Value};
pub use evaluator::{BestAction, Evaluator, OneReply, Replies, TakeMoves, ready};
pub use request::Request;
pub use world::WorldModel;
pub use wrap::{Cache, CacheCounts, Record, Recorder, Views};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
