//! The embedded model in the form of OpenAI's completions.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod stops;
mod wire;

use super::Body;
use crate::{
    ApiError, App,
    limits::{Client, Permit},
    wire::Fault,
    writer::Job,
};
use axum::{
    Json,
    extract::State,
    http::Extensions,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_core::Stream;
use mavis_lang::Token;
use mavis_model::decode::{TextSettings, WrittenToken};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{SystemTime, UNIX_EPOCH},
};
use stops::Stops;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
pub(crate) use wire::{Completion, CompletionRequest, ModelList};
use wire::{CompletionChoice, CompletionUsage, LogProbs, ModelCard, TextOrTokens};

/// The model's name here.
const MODEL: &str = "mavis";
/// Log-probabilities of one token at most: the 64 value tokens fit.
const MOST_LOGPROBS: u32 = 64;
/// Prompts of one request at most: more than any position has moves.
const MOST_PROMPTS: usize = 400;
/// Tokens of a prompt at most.
const LONGEST_PROMPT: usize = 2048;
/// Tokens of an answer at most, and unless the request says.
const LONGEST_ANSWER: usize = 2048;
const USUAL_ANSWER: usize = 256;

/// The models that completions can name.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = ModelList)))]
pub(crate) async fn models() -> Json<ModelList> {
    Json(ModelList {
        object: "list",
        data: vec![ModelCard { id: MODEL, object: "model", created: 0, owned_by: "mavis" }],
    })
}

/// Continues text by the embedded model.
#[utoipa::path(post, path = "/v1/completions", request_body = CompletionRequest,
    responses((status = 200, content((Completion = "application/json"), (String = "text/event-stream"))),
        (status = 400, body = Fault), (status = 429, body = Fault),
        (status = 502, body = Fault)))]
pub(crate) async fn completions(
    State(app): State<App>,
    extensions: Extensions,
    Body(request): Body<CompletionRequest>,
) -> Result<Response, ApiError> {
    let prompts = prompts(&request.prompt)?;
    let settings = settings(&request)?;
    let stops = request.stop.clone().map(Stops::new).transpose()?.unwrap_or_default();
    let permit = app.limits.permit(Client::of(&extensions))?;
    let (written, receiver) = unbounded_channel();
    let n_prompt_tokens = prompts.iter().map(Vec::len).sum();
    let writing = Writing::new(receiver, prompts.len(), stops, &request, settings.max_tokens, permit);
    let deadline = mavis_stable::time::after(app.limits.limits.thinking);
    let job = Job { prompts, settings, deadline, written };
    // The first job loads the model.
    let started = tokio::task::spawn_blocking(move || app.writer.start(job)).await;
    started.unwrap_or_else(|_| Err(ApiError::Failed("the model stopped".to_owned())))?;
    if request.stream.unwrap_or(false) {
        return Ok(Sse::new(writing).keep_alive(KeepAlive::default()).into_response());
    }
    writing.whole(n_prompt_tokens).await.map(|completion| Json(completion).into_response())
}

fn settings(request: &CompletionRequest) -> Result<TextSettings, ApiError> {
    let temperature = request.temperature.unwrap_or(1.0);
    if !(0.0..=10.0).contains(&temperature) {
        return Err(ApiError::bad(format!("temperature: {temperature} is not within 0 to 10")));
    }
    let refused = [
        (request.n.is_some_and(|n| n != 1), "n: only 1 is supported"),
        (request.best_of.is_some_and(|n| n != 1), "best_of: only 1 is supported"),
        (request.echo.unwrap_or(false), "echo is not supported"),
        (request.suffix.is_some(), "suffix is not supported"),
        (request.model.as_deref().is_some_and(|name| name != MODEL), "model: the only model is 'mavis'"),
    ];
    if let Some((_, reason)) = refused.iter().find(|(refused, _)| *refused) {
        return Err(ApiError::bad(reason));
    }
    let logprobs = request.logprobs.unwrap_or(0);
    if logprobs > MOST_LOGPROBS {
        return Err(ApiError::bad(format!("logprobs: {logprobs} is more than {MOST_LOGPROBS}")));
    }
    let max_tokens = request.max_tokens.unwrap_or(USUAL_ANSWER);
    if max_tokens == 0 || max_tokens > LONGEST_ANSWER {
        return Err(ApiError::bad(format!("max_tokens: {max_tokens} is not within 1 to {LONGEST_ANSWER}")));
    }
    let seed = request.seed.map_or_else(|| now().1, |seed| seed.unsigned_abs());
    Ok(TextSettings { max_tokens, temperature, n_top: logprobs as usize, seed })
}

fn prompts(prompt: &TextOrTokens) -> Result<Vec<Vec<Token>>, ApiError> {
    let vocabulary = mavis_lang::vocabulary();
    let encode =
        |text: &String| vocabulary.encode(text).map_err(|error| ApiError::bad(format!("prompt: {error}")));
    let check = |ids: &Vec<i64>| -> Result<Vec<Token>, ApiError> {
        let known = |id: &i64| Token::try_from(*id).ok().filter(|token| vocabulary.string(*token).is_some());
        let unknown = |id| ApiError::bad(format!("prompt: {id} is not a token of the vocabulary"));
        ids.iter().map(|id| known(id).ok_or_else(|| unknown(id))).collect()
    };
    let prompts: Vec<Vec<Token>> = match prompt {
        TextOrTokens::Text(text) => vec![encode(text)?],
        TextOrTokens::Texts(texts) => texts.iter().map(encode).collect::<Result<_, _>>()?,
        TextOrTokens::Tokens(tokens) => vec![check(tokens)?],
        TextOrTokens::TokenLists(lists) => lists.iter().map(check).collect::<Result<_, _>>()?,
    };
    if prompts.is_empty() || prompts.len() > MOST_PROMPTS {
        return Err(ApiError::bad(format!("{} prompts; 1 to {MOST_PROMPTS} are possible", prompts.len())));
    }
    match prompts.iter().map(Vec::len).find(|&len| len == 0 || len > LONGEST_PROMPT) {
        Some(0) => Err(ApiError::bad("prompt: empty")),
        Some(len) => Err(ApiError::bad(format!("prompt: {len} tokens; at most {LONGEST_PROMPT}"))),
        None => Ok(prompts),
    }
}

/// Seconds and nanoseconds since 1970.
fn now() -> (u64, u64) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), u64::from(since.subsec_nanos()))
}

/// An answer while it is written; as a stream it gives the events of OpenAI's form.
struct Writing {
    receiver: UnboundedReceiver<Result<(usize, WrittenToken), String>>,
    texts: Vec<OneText>,
    id: String,
    created: u64,
    with_logprobs: bool,
    max_tokens: usize,
    /// Set once `[DONE]` was sent.
    ended: bool,
    _permit: Permit,
}

#[derive(Clone)]
struct OneText {
    stops: Stops,
    length: usize,
    n_tokens: usize,
    finished: bool,
}

impl Writing {
    fn new(
        receiver: UnboundedReceiver<Result<(usize, WrittenToken), String>>,
        n_prompts: usize,
        stops: Stops,
        request: &CompletionRequest,
        max_tokens: usize,
        permit: Permit,
    ) -> Self {
        let (created, nanoseconds) = now();
        let text = OneText { stops, length: 0, n_tokens: 0, finished: false };
        Self {
            receiver,
            texts: vec![text; n_prompts],
            id: format!("cmpl-{created:x}{nanoseconds:08x}"),
            created,
            with_logprobs: request.logprobs.is_some(),
            max_tokens,
            ended: false,
            _permit: permit,
        }
    }

    /// What a token adds to its text; `None` where the text has ended.
    fn take(&mut self, index: usize, token: &WrittenToken) -> Option<CompletionChoice> {
        let (with_logprobs, max_tokens) = (self.with_logprobs, self.max_tokens);
        let text = self.texts.get_mut(index).filter(|text| !text.finished)?;
        let piece = piece(token.token);
        let (shown, stopped) = text.stops.push(piece);
        text.n_tokens = text.n_tokens.saturating_add(1);
        let at_limit = text.n_tokens >= max_tokens;
        text.finished = stopped || token.ends_answer || at_limit;
        let finish_reason = match (stopped || token.ends_answer, at_limit) {
            (true, _) => Some("stop"),
            (false, true) => Some("length"),
            (false, false) => None,
        };
        let mut shown = shown;
        if text.finished && !stopped {
            shown.push_str(&text.stops.rest());
        }
        let logprobs = with_logprobs.then(|| LogProbs {
            tokens: vec![piece.to_owned()],
            token_logprobs: vec![token.log_probability],
            top_logprobs: vec![
                token.top.iter().map(|&(top, log)| (self::piece(top).to_owned(), log)).collect(),
            ],
            text_offset: vec![text.length],
        });
        text.length = text.length.saturating_add(piece.len());
        Some(CompletionChoice { text: shown, index, logprobs, finish_reason })
    }

    fn completion(&self, choices: Vec<CompletionChoice>, usage: Option<CompletionUsage>) -> Completion {
        let (id, created) = (self.id.clone(), self.created);
        Completion { id, object: "text_completion", created, model: MODEL, choices, usage }
    }

    /// The whole answer at once.
    async fn whole(mut self, prompt_tokens: usize) -> Result<Completion, ApiError> {
        let mut choices: Vec<CompletionChoice> = (0..self.texts.len())
            .map(|index| CompletionChoice {
                text: String::new(),
                index,
                logprobs: self.with_logprobs.then(LogProbs::default),
                finish_reason: None,
            })
            .collect();
        while let Some(next) = self.receiver.recv().await {
            let (index, token) = next.map_err(ApiError::Failed)?;
            if let (Some(more), Some(choice)) = (self.take(index, &token), choices.get_mut(index)) {
                choice.append(more);
            }
            if self.texts.iter().all(|text| text.finished) {
                break;
            }
        }
        for choice in &mut choices {
            // Time was up before the text ended.
            choice.finish_reason.get_or_insert("length");
        }
        let completion_tokens = self.texts.iter().map(|text| text.n_tokens).sum();
        let usage = CompletionUsage {
            prompt_tokens,
            completion_tokens,
            total_tokens: usize::saturating_add(prompt_tokens, completion_tokens),
        };
        Ok(self.completion(choices, Some(usage)))
    }
}

impl Stream for Writing {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            let over = self.texts.iter().all(|text| text.finished);
            let next = if over { None } else { ready!(self.receiver.poll_recv(context)) };
            match next {
                None => {
                    self.ended = true;
                    return Poll::Ready(Some(Ok(Event::default().data("[DONE]"))));
                }
                Some(Ok((index, token))) => {
                    let Some(choice) = self.take(index, &token) else { continue };
                    let chunk = self.completion(vec![choice], None);
                    let event =
                        Event::default().json_data(chunk).unwrap_or_else(|_| Event::default().data("{}"));
                    return Poll::Ready(Some(Ok(event)));
                }
                Some(Err(reason)) => {
                    self.ended = true;
                    let fault = ApiError::Failed(reason).fault();
                    let event =
                        Event::default().json_data(fault).unwrap_or_else(|_| Event::default().data("{}"));
                    return Poll::Ready(Some(Ok(event)));
                }
            }
        }
    }
}

fn piece(token: Token) -> &'static str {
    mavis_lang::vocabulary().string(token).unwrap_or_default()
}
