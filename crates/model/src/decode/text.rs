//! Free text: any prompt is continued token by token, with the probabilities of each step.

use super::MavDecoder;
use crate::ModelError;
use mavis_lang::{AnswerProgress, Step, Token, parse_request, vocabulary};
use mavis_net::{Batch, KvCacheId, Want};

/// How a text is continued.
#[derive(Clone, Debug, PartialEq)]
pub struct TextSettings {
    /// Tokens to write at most, for each prompt.
    pub max_tokens: usize,
    /// 0 takes the likeliest token; above, tokens are drawn from `softmax(logits / temperature)`.
    pub temperature: f32,
    /// The likeliest tokens listed with each written one.
    pub n_top: usize,
    /// Randomness of the draws.
    pub seed: u64,
}

/// One token that a model wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenToken {
    /// The token.
    pub token: Token,
    /// Its log-probability.
    pub log_probability: f32,
    /// The likeliest tokens in its place with their log-probabilities, best first.
    pub top: Vec<(Token, f32)>,
    /// Whether the answer to the prompt's request is complete with it, or can no longer become one.
    pub ends_answer: bool,
}

impl MavDecoder {
    /// Continues prompts, all in the same passes. `written` gets the number of the prompt with each token and says whether
    /// that prompt is to be continued.
    ///
    /// A prompt that begins with a request is read as the model was trained to read it, and its answer ends the text; any
    /// other prompt is read causally and continued to the limit. An empty prompt is left alone.
    ///
    /// # Errors
    /// When the network fails.
    pub fn write_text(
        &mut self,
        prompts: &[Vec<Token>],
        settings: &TextSettings,
        written: &mut dyn FnMut(usize, &WrittenToken) -> bool,
    ) -> Result<(), ModelError> {
        let indices: Vec<usize> = (0..prompts.len()).filter(|&index| !prompts[index].is_empty()).collect();
        if settings.max_tokens == 0 {
            return Ok(());
        }
        self.with_caches(indices.len(), |decoder, caches| {
            let mut texts: Vec<Text> = indices
                .iter()
                .zip(caches)
                .map(|(&index, &cache)| Text::new(index, cache, &prompts[index], settings.seed))
                .collect();
            while !texts.is_empty() {
                let caches: Vec<KvCacheId> = texts.iter().map(|text| text.cache).collect();
                let mut batch = Batch::default();
                for text in &mut texts {
                    let (tokens, input_len) = (&text.tokens, text.input_len);
                    text.cached = decoder.input.still_read(tokens, input_len, text.cached);
                    decoder.decoder.truncate(text.cache, text.cached)?;
                    decoder.input.push(&mut batch, tokens, input_len, text.cached, tokens.len());
                    text.cached = tokens.len();
                }
                let logits = decoder.decoder.extend(&caches, &batch, &Want::last(&batch))?;
                for (row, text) in texts.iter_mut().enumerate() {
                    text.step(logits.row(row), settings, written);
                }
                texts.retain(|text| !text.ended);
            }
            Ok(())
        })
    }
}

/// One prompt under way.
struct Text {
    index: usize,
    cache: KvCacheId,
    input_len: usize,
    /// Follows the answer where the prompt begins with a request.
    progress: Option<AnswerProgress>,
    /// The prompt and what is written.
    tokens: Vec<Token>,
    /// How many of them are in the cache.
    cached: usize,
    n_written: usize,
    random: u64,
    ended: bool,
}

impl Text {
    fn new(index: usize, cache: KvCacheId, prompt: &[Token], seed: u64) -> Self {
        let request = parse_request(prompt).ok();
        let input_len = request.as_ref().map_or(0, |(_, len)| *len);
        let progress = request.map(|(request, len)| {
            let mut progress = AnswerProgress::new(&request.commands);
            for &token in &prompt[len..] {
                progress.push(token);
            }
            progress
        });
        Self {
            index,
            cache,
            input_len,
            progress,
            tokens: prompt.to_vec(),
            cached: 0,
            n_written: 0,
            random: seed.wrapping_add(index as u64),
            ended: false,
        }
    }

    fn step(
        &mut self,
        logits: &[f32],
        settings: &TextSettings,
        written: &mut dyn FnMut(usize, &WrittenToken) -> bool,
    ) {
        // Rows beyond the vocabulary are padding.
        let logits = &logits[..logits.len().min(vocabulary().len())];
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = logits.iter().map(|logit| (logit - most).exp()).sum();
        let log_total = most + total.ln();
        let token = self.draw(logits, most, settings.temperature);
        if let Some(progress) = &mut self.progress {
            progress.push(token);
        }
        let ends_answer = self.progress.as_ref().is_some_and(|progress| progress.step() != Step::More);
        let step = WrittenToken {
            token,
            log_probability: logits[usize::from(token)] - log_total,
            top: likeliest(logits, settings.n_top)
                .into_iter()
                .map(|id| (id as Token, logits[id] - log_total))
                .collect(),
            ends_answer,
        };
        self.n_written += 1;
        self.tokens.push(token);
        let goes_on = written(self.index, &step);
        self.ended = !goes_on || ends_answer || self.n_written >= settings.max_tokens;
    }

    fn draw(&mut self, logits: &[f32], most: f32, temperature: f32) -> Token {
        if temperature > 0.0 {
            let weight = |logit: &f32| ((logit - most) / temperature).exp();
            let total: f32 = logits.iter().map(weight).sum();
            let mut left = self.uniform() * total;
            for (id, logit) in logits.iter().enumerate() {
                left -= weight(logit);
                if left < 0.0 {
                    return id as Token;
                }
            }
        }
        super::likeliest(logits)
    }

    /// A number from 0 to 1 by SplitMix64: one draw a token needs no better generator.
    fn uniform(&mut self) -> f32 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1_u32 << 24) as f32
    }
}

/// The ids of the `n` highest logits, best first, the lower id first among equals.
fn likeliest(logits: &[f32], n: usize) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..logits.len()).collect();
    let n = n.min(ids.len());
    let order = |a: &usize, b: &usize| logits[*b].total_cmp(&logits[*a]).then(a.cmp(b));
    if n > 0 && n < ids.len() {
        ids.select_nth_unstable_by(n - 1, order);
    }
    ids.truncate(n);
    ids.sort_by(order);
    ids
}
