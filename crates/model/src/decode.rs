//! Decoding: requests in, answers out, through KV caches, which keep the keys and values of what was read.
//!
//! [`MavDecoder`] is a network and how it reads its input. It decodes any command greedily ([`MavDecoder::greedy`]), all listed moves at
//! once ([`MavDecoder::fan_out`]), state tracking with a draft that is checked instead of written ([`Drafting`]), and whole internal
//! searches ([`MavDecoder::write_trace`]).

mod best;
mod draft;
mod fan;
mod greedy;
mod list;
mod text;
mod trace;

pub use draft::{Drafting, draft_state};
pub use fan::FanOutAnswer;
pub use greedy::{Decoded, GreedySettings};
pub use list::ListOrder;
pub use text::{TextSettings, WrittenToken};
pub(crate) use trace::each as each_trace;
pub use trace::{Grammar, TraceDecodeSettings, TraceStream};

use crate::{InputAttention, MavModel, ModelError};
use mavis_lang::{Request, Token, vocab::VALUES};
use mavis_net::{Batch, Decoder, Device, KvCacheId, NetError, Precision};
use mavis_value::N_BUCKETS;

/// A network that answers requests.
pub struct MavDecoder {
    decoder: Box<dyn Decoder>,
    input: InputAttention,
    /// What the last pass read: the next one takes its memory.
    batch: Batch,
}

impl MavDecoder {
    /// A decoder of any device. `input` says how the network reads its input.
    #[must_use]
    pub fn new(decoder: Box<dyn Decoder>, input: InputAttention) -> Self {
        Self { decoder, input, batch: Batch::default() }
    }

    /// A model on a device.
    ///
    /// # Errors
    /// When the device is missing or the shape is refused.
    pub fn open(model: &MavModel, precision: Precision, device: Device) -> Result<Self, ModelError> {
        Ok(Self::new(model.decoder(precision, device)?, model.input))
    }

    /// A model on the processor.
    ///
    /// # Errors
    /// When the shape is refused.
    pub fn cpu(model: &MavModel, precision: Precision) -> Result<Self, ModelError> {
        Ok(Self::new(Box::new(model.cpu_decoder(precision)?), model.input))
    }

    /// The network.
    pub fn network(&mut self) -> &mut dyn Decoder {
        &mut *self.decoder
    }

    /// How it reads its input.
    #[must_use]
    pub fn input(&self) -> InputAttention {
        self.input
    }

    /// Whether the network looks at the places of tokens.
    fn has_places(&self) -> bool {
        self.decoder.config().variant.places.is_some()
    }

    /// Runs something on fresh KV caches and closes them, whatever comes of it.
    fn with_caches<T>(
        &mut self,
        n: usize,
        run: impl FnOnce(&mut Self, &[KvCacheId]) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let mut caches = Vec::with_capacity(n);
        let mut opened = Ok(());
        for _ in 0..n {
            match self.decoder.open() {
                Ok(cache) => caches.push(cache),
                Err(error) => {
                    opened = Err(error);
                    break;
                }
            }
        }
        let result = opened.map_err(ModelError::from).and_then(|()| run(self, &caches));
        caches.into_iter().for_each(|cache| self.decoder.close(cache));
        result
    }
}

/// What is read before the first token is written.
struct Prompt {
    /// Input and opening.
    tokens: Vec<Token>,
    /// Tokens of the input.
    input_len: usize,
}

impl Prompt {
    fn new(request: &Request) -> Self {
        let mut tokens = request.prompt();
        let input_len = tokens.len();
        tokens.extend(request.opening());
        Self { tokens, input_len }
    }

    fn opening(&self) -> &[Token] {
        &self.tokens[self.input_len..]
    }
}

/// What the pass after a list may answer, and all that a trace reads of a row whose token is checked rather than chosen: an outcome or a value.
/// Both have low ids.
const SHORT_HEAD: u32 = VALUES.start as u32 + N_BUCKETS as u32;

/// The likeliest token, the lowest of equals.
fn likeliest(logits: &[f32]) -> Token {
    token_of(mavis_net::likeliest(logits))
}

/// Ids above 65,535 do not exist in the language.
fn token_of(column: usize) -> Token {
    Token::try_from(column).unwrap_or(Token::MAX)
}

/// Refuses a network whose vocabulary cannot be ours.
pub(crate) fn check_vocabulary(vocab: usize) -> Result<(), NetError> {
    let n_tokens = mavis_lang::vocabulary().len();
    if vocab < n_tokens {
        return Err(NetError::Length { what: "vocabulary", expected: n_tokens, got: vocab });
    }
    Ok(())
}
