//! A model as the oracle of traces: the values of many positions in large passes.

use crate::{
    MavModel, ModelError,
    decode::MavDecoder,
    fan_out::{Asked, ValueLogits},
};
use mavis_data::Labeler;
use mavis_game::{Game as _, Move, Position};
use mavis_lang::trace::Evaluation;
use mavis_net::{Device, Precision, Room};
use mavis_oracle::Identity;
use mavis_stable::seed::hash_bytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Roots whose trees grow together. The last level of their trees is several full passes of a GPU.
const N_ROOTS: u64 = 64;
/// Tokens of one pass where the device would take more.
const PASS_TOKENS: usize = 32_768;

/// A model that values moves; clones share its decoders, so that as many threads as there are cores prepare and read while
/// passes run.
///
/// What shares a pass depends on the positions alone, so that on one device the values are the same in every run.
#[derive(Clone)]
pub struct ModelLabels {
    decoders: Arc<Vec<Mutex<MavDecoder>>>,
    /// Most tokens and rows of a pass.
    room: Room,
    identity: Identity,
    /// The decoder to wait for where all are busy.
    turn: usize,
}

impl ModelLabels {
    /// A model on a device.
    ///
    /// # Errors
    /// When the device is missing, or the shape or the vocabulary is refused.
    pub fn open(model: &MavModel, precision: Precision, device: Device) -> Result<Self, ModelError> {
        let on_gpu = precision != Precision::Int8 && device.resolved()? == Device::Cuda;
        let mut first = MavDecoder::open(model, precision, device)?;
        crate::decode::check_vocabulary(first.network().config().vocab)?;
        let Room { tokens, rows } = first.network().room();
        let mut decoders = vec![Mutex::new(first)];
        if on_gpu {
            // The second uploads and downloads while the pass of the first runs. Without the memory for it there is one.
            decoders.extend(MavDecoder::open(model, precision, device).ok().map(Mutex::new));
        }
        let numbers = if on_gpu { "cuda".to_owned() } else { format!("cpu {precision:?}").to_lowercase() };
        let bytes: Vec<u8> = model.parameters.iter().flat_map(|weight| weight.to_le_bytes()).collect();
        Ok(Self {
            decoders: Arc::new(decoders),
            room: Room { tokens: tokens.min(PASS_TOKENS), rows },
            identity: Identity {
                name: "model".to_owned(),
                version: format!("{:016x}", hash_bytes(0, &bytes)),
                settings: format!("mean of the values, {numbers}"),
            },
            turn: 0,
        })
    }

    /// So many that share the decoders, one for each thread.
    #[must_use]
    pub fn shared(self, n: usize) -> Vec<Self> {
        (0..n.max(1)).map(|turn| Self { turn: turn % self.decoders.len(), ..self.clone() }).collect()
    }

    fn pass(&self, asked: &[&Asked]) -> Result<Vec<ValueLogits>, ModelError> {
        let free = self.decoders.iter().find_map(|decoder| decoder.try_lock().ok());
        let mut decoder =
            free.unwrap_or_else(|| self.decoders[self.turn].lock().unwrap_or_else(PoisonError::into_inner));
        decoder.value_logits(asked)
    }
}

impl Labeler for ModelLabels {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn n_roots(&self) -> u64 {
        N_ROOTS
    }

    fn label(&mut self, positions: &[Position]) -> Result<Vec<Result<Evaluation, String>>, String> {
        let asked: Vec<(Vec<Move>, Asked)> = positions
            .iter()
            .map(|position| {
                let moves: Vec<Move> = position.legal_moves().into_iter().collect();
                let asked = Asked::new(position, &moves);
                (moves, asked)
            })
            .collect();
        let mut labels = Vec::with_capacity(positions.len());
        for pass in passes(&asked, self.room) {
            let questions: Vec<&Asked> = pass.iter().map(|(_, asked)| asked).collect();
            let answers = self.pass(&questions).map_err(|error| error.to_string())?;
            labels
                .extend(pass.iter().zip(answers).map(|((moves, _), logits)| Ok(evaluation(moves, &logits))));
        }
        Ok(labels)
    }
}

/// Questions in passes that have room for them, in their order.
fn passes(mut asked: &[(Vec<Move>, Asked)], room: Room) -> Vec<&[(Vec<Move>, Asked)]> {
    let mut passes = Vec::new();
    while !asked.is_empty() {
        let (mut tokens, mut rows) = (0, 0);
        let mut fits = |(_, question): &&(Vec<Move>, Asked)| {
            tokens += question.n_tokens();
            rows += question.n_moves();
            tokens <= room.tokens && rows <= room.rows
        };
        let n = asked.iter().take_while(&mut fits).count().max(1);
        let (pass, rest) = asked.split_at(n);
        passes.push(pass);
        asked = rest;
    }
    passes
}

fn evaluation(moves: &[Move], logits: &ValueLogits) -> Evaluation {
    let moves: Vec<(Move, f32)> =
        moves.iter().copied().zip(logits.distributions().map(|values| values.mean())).collect();
    let best = moves.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
    Evaluation { best: best.map(|(mv, _)| mv), moves }
}
