//! The MAV language: every example as text, every token exact, every mistake of a model named.
//!
//! It is the contract between data, model, search and page. A *request* is a header of commands and the position they
//! are about; an *answer* is what a model writes after it: the tracked state, moves with values, the best action, the
//! state after it, or the end of the game. Both are readable text in the format of paper 001, and the token stream is
//! an exact encoding of that text over a closed [`Vocabulary`] in which every move of every game is one token.
//!
//! - [`vocab`]: strings, ids, encoding and decoding; [`moves`]: moves and their tokens; [`value`]: buckets and their tokens.
//! - [`state`]: positions as fields of fixed width.
//! - [`Commands`], [`Request`]: what is given and asked; [`ExampleBuilder`]: annotated positions to training examples.
//! - [`parser`]: strict and total, tokens to an [`Answer`] or a [`Hallucination`]; [`mod@check`]: answers against the rules.
//! - [`progress`]: an answer while it is written: when it ends, which token is a value.
//! - [`trace`]: internal search written out, read back and checked.
//! - [`export`]: the vocabulary as Hugging Face files; [`report`]: what the commands `mavis lang` show.
//!
//! Nothing here searches, learns or plays; the rules come from `mavis-game`.
//!
//! ```
//! use mavis_game::{Position, Rules};
//! use mavis_lang::{Commands, Request};
//!
//! let request = Request::at(Position::start(Rules::Connect4), Commands::top_all(Rules::Connect4));
//! let text = request.prompt_text();
//! assert!(text.starts_with("<mav game=connect4> %state %top_all </mav>\n[%state x . . ."));
//! assert_eq!(mavis_lang::vocabulary().encode(&text)?, request.prompt());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod answer;
pub mod check;
pub mod command;
pub mod example;
pub mod export;
pub mod hallucination;
pub mod moves;
pub mod parser;
pub mod place;
pub mod progress;
pub mod report;
pub mod request;
pub mod state;
pub mod trace;
pub mod value;
pub mod vocab;

pub use answer::{Answer, Listing};
pub use check::{AnswerCheck, Legality, Metrics, check_answer, parse_true_answer};
pub use command::{Commands, Form, Forms, Given, Top};
pub use example::{Annotation, BuildError, Example, ExampleBuilder, ListSpan, Variety};
pub use hallucination::Hallucination;
pub use parser::{
    parse_answer, parse_commands, parse_example, parse_example_text, parse_request, parse_tracked,
};
pub use place::{N_PLACES, places};
pub use progress::{AnswerProgress, Step};
pub use request::{Request, Start};
pub use trace::{Trace, check_trace, grow_trace, read_trace, write_trace};
pub use vocab::{Token, Vocabulary, vocabulary, vocabulary_hash};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
