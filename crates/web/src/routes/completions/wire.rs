//! The JSON of OpenAI's completions, as far as it is served.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A request. Fields of OpenAI's form that are not listed are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    /// `mavis`, or absent.
    pub(super) model: Option<String>,
    /// Text or token ids, one or many.
    #[schema(example = "<mav game=connect4> %state %top_all </mav>\n")]
    pub(super) prompt: TextOrTokens,
    /// Tokens to write at most (default 256).
    #[schema(minimum = 1, maximum = 2048)]
    pub(super) max_tokens: Option<usize>,
    /// 0 takes the likeliest token (default 1).
    #[schema(minimum = 0, maximum = 10)]
    pub(super) temperature: Option<f32>,
    /// The likeliest tokens to list with each written one.
    #[schema(minimum = 0, maximum = 64)]
    pub(super) logprobs: Option<u32>,
    /// Strings that end the text; they are not part of it.
    pub(super) stop: Option<OneOrMany>,
    /// Whether to send events while writing.
    pub(super) stream: Option<bool>,
    /// Makes the draws repeat.
    pub(super) seed: Option<i64>,
    /// Only 1.
    pub(super) n: Option<u32>,
    /// Only 1.
    pub(super) best_of: Option<u32>,
    /// Only false.
    pub(super) echo: Option<bool>,
    /// Only absent.
    pub(super) suffix: Option<String>,
}

/// Prompts as text or token ids.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "prompt: expected a text, a list of texts, token ids or lists of token ids")]
pub(crate) enum TextOrTokens {
    /// One text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// One prompt as ids, which may be out of range: the answer then names the one that is.
    Tokens(Vec<i64>),
    /// Several prompts as ids.
    TokenLists(Vec<Vec<i64>>),
}

/// One string or several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// An answer, or a part of one while streaming.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Completion {
    pub(super) id: String,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'static str,
    pub(super) choices: Vec<CompletionChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<CompletionUsage>,
}

/// The text that answers one prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionChoice {
    pub(super) text: String,
    pub(super) index: usize,
    pub(super) logprobs: Option<LogProbs>,
    /// `stop` or `length`.
    pub(super) finish_reason: Option<&'static str>,
}

impl CompletionChoice {
    /// Takes over what a further token added.
    pub(super) fn append(&mut self, more: Self) {
        self.text.push_str(&more.text);
        self.finish_reason = more.finish_reason;
        if let (Some(logprobs), Some(more)) = (&mut self.logprobs, more.logprobs) {
            logprobs.tokens.extend(more.tokens);
            logprobs.token_logprobs.extend(more.token_logprobs);
            logprobs.top_logprobs.extend(more.top_logprobs);
            logprobs.text_offset.extend(more.text_offset);
        }
    }
}

/// Log-probabilities as parallel lists.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct LogProbs {
    pub(super) tokens: Vec<String>,
    pub(super) token_logprobs: Vec<f32>,
    pub(super) top_logprobs: Vec<BTreeMap<String, f32>>,
    pub(super) text_offset: Vec<usize>,
}

/// Tokens read and written.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionUsage {
    pub(super) prompt_tokens: usize,
    pub(super) completion_tokens: usize,
    pub(super) total_tokens: usize,
}

/// The models there are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    pub(super) object: &'static str,
    pub(super) data: Vec<ModelCard>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelCard {
    pub(super) id: &'static str,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) owned_by: &'static str,
}
