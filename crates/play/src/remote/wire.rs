//! The JSON of `/v1/completions`, as far as it is used.

use mavis_lang::{Token, value::bucket_of, vocabulary};
use mavis_value::{Bucket, Distribution, N_BUCKETS};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is asked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CompletionRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) prompt: Prompt,
    pub(super) max_tokens: usize,
    pub(super) temperature: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<[&'static str; 1]>,
}

/// Prompts as texts or as ids. A single one stands by itself: not every server takes lists.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Prompt {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<Token>),
    TokenLists(Vec<Vec<Token>>),
}

/// What comes back: the choices of all prompts in one object, or one object a prompt.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Completion {
    Together { choices: Vec<Choice> },
    Apart(Vec<Part>),
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Part {
    choices: Vec<Choice>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Choice {
    pub(super) text: String,
    /// Which prompt it answers.
    #[serde(default)]
    index: usize,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) logprobs: Option<LogProbs>,
}

/// Log-probabilities in either of the forms in use.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum LogProbs {
    /// The form of the completions interface: parallel lists.
    Lists {
        tokens: Vec<String>,
        #[serde(default)]
        top_logprobs: Option<Vec<Option<Map<String, Value>>>>,
    },
    /// The form of the chat interface, which llama.cpp uses for both.
    Entries { content: Vec<Entry> },
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entry {
    token: String,
    #[serde(default)]
    top_logprobs: Vec<Top>,
}

#[derive(Clone, Debug, Deserialize)]
struct Top {
    token: String,
    logprob: f64,
}

impl Completion {
    /// One choice a prompt, in the order of the prompts.
    pub(super) fn choices(self) -> Vec<Choice> {
        match self {
            // A stable sort: where all have the same index they stand in order.
            Self::Together { mut choices } => {
                choices.sort_by_key(|choice| choice.index);
                choices
            }
            Self::Apart(parts) => parts.into_iter().flat_map(|part| part.choices).collect(),
        }
    }
}

impl LogProbs {
    /// The written values in order, each with the distribution it was drawn from; `None` where too little is known.
    pub(super) fn values(&self) -> Vec<(Bucket, Option<Distribution>)> {
        let bucket = |text: &str| vocabulary().token(text).and_then(bucket_of);
        match self {
            Self::Lists { tokens, top_logprobs } => {
                let tops = top_logprobs.as_deref().unwrap_or_default();
                let written = tokens.iter().zip(0..).filter_map(|(token, at)| Some((bucket(token)?, at)));
                written
                    .map(|(value, at): (Bucket, usize)| {
                        let top = tops.get(at).and_then(Option::as_ref);
                        let pairs = top.into_iter().flatten();
                        let weights = pairs.filter_map(|(text, log)| Some((bucket(text)?, log.as_f64()?)));
                        (value, distribution(weights))
                    })
                    .collect()
            }
            Self::Entries { content } => content
                .iter()
                .filter_map(|entry| {
                    let weights = entry.top_logprobs.iter();
                    let weights = weights.filter_map(|top| Some((bucket(&top.token)?, top.logprob)));
                    Some((bucket(&entry.token)?, distribution(weights)))
                })
                .collect(),
        }
    }
}

/// The listed part of a distribution, scaled to a whole; `None` without any weight.
fn distribution(weights: impl Iterator<Item = (Bucket, f64)>) -> Option<Distribution> {
    let mut buckets = [0.0_f32; N_BUCKETS];
    for (bucket, log) in weights.filter(|(_, log)| log.is_finite()) {
        if let Some(weight) = buckets.get_mut(bucket.index()) {
            *weight += log.min(0.0).exp() as f32;
        }
    }
    let total: f32 = buckets.iter().sum();
    (total > 0.0).then(|| Distribution(buckets.map(|weight| weight / total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) {
        let logprobs: LogProbs = serde_json::from_str(json).unwrap();
        let values = logprobs.values();
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].0.number(), 3);
        let distribution = values[0].1.as_ref().unwrap();
        assert!((distribution.0[2] - 0.75).abs() < 1e-6 && (distribution.0[9] - 0.25).abs() < 1e-6);
    }

    #[test]
    fn both_forms_give_the_distribution_of_the_value_tokens() {
        // Weights 0.6 and 0.2 on values, the rest on something else.
        check(
            r#"{"tokens": [" 4", ":<ctrl3>"], "token_logprobs": [0, -0.5108256],
                "top_logprobs": [null, {":<ctrl3>": -0.5108256, ":<ctrl10>": -1.6094379, "x": -1.7}]}"#,
        );
        check(
            r#"{"content": [{"token": " 4", "logprob": 0}, {"token": ":<ctrl3>", "logprob": -0.5, "top_logprobs":
                [{"token": ":<ctrl3>", "logprob": -0.5108256}, {"token": ":<ctrl10>", "logprob": -1.6094379}]}]}"#,
        );
    }

    #[test]
    fn a_value_without_a_list_has_no_distribution() {
        let logprobs: LogProbs = serde_json::from_str(r#"{"tokens": [":<ctrl7>"]}"#).unwrap();
        assert_eq!(logprobs.values()[0].1, None);
    }
}
