//! Where the time of answers goes: in the passes of the network, and on the processor before, between and after them.

use super::joint::{joint_requests, median_of, plain_requests};
use crate::{InputAttention, ModelError, decode::MavDecoder};
use mavis_game::{Move, Position};
use mavis_lang::Request;
use mavis_net::{Batch, Decoder, KvCacheId, Logits, NetError, PassParts, Room, TransformerConfig, Want};
use serde::Serialize;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The passes of a batch of answers. Times are medians over its rounds, in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerProfile {
    /// Which answers.
    pub name: &'static str,
    /// All of it.
    pub seconds: f64,
    /// In order.
    pub passes: Vec<PassProfile>,
    /// On the processor after the last pass.
    pub after_seconds: f64,
}

/// A pass of a batch of answers.
#[derive(Clone, Debug, Serialize)]
pub struct PassProfile {
    /// Tokens it ran.
    pub n_tokens: usize,
    /// Rows of logits, rows in brief included.
    pub n_rows: usize,
    /// Rows in brief.
    pub n_brief: usize,
    /// On the processor since the pass before, or since the beginning.
    pub before_seconds: f64,
    /// In the network.
    pub seconds: f64,
    /// What the device says of it, from one round.
    pub parts: Option<PassParts>,
}

/// Profiles plain and joint answers to the same positions, each for about half of `time`, through a decoder of their own.
///
/// # Errors
/// When the network fails.
pub fn profile(
    decoder: Box<dyn Decoder>,
    input: InputAttention,
    played: &[(Position, Move)],
    time: Duration,
) -> Result<Vec<AnswerProfile>, ModelError> {
    let log = Arc::new(Mutex::new(Log::default()));
    let mut decoder = MavDecoder::new(Box::new(Clocked { decoder, log: log.clone() }), input);
    let asked = [("plain answers", plain_requests(played)), ("joint answers", joint_requests(played))];
    asked
        .into_iter()
        .map(|(name, requests)| of_answers(&mut decoder, &log, name, &requests, time / 2))
        .collect()
}

fn of_answers(
    decoder: &mut MavDecoder,
    log: &Mutex<Log>,
    name: &'static str,
    requests: &[Request],
    time: Duration,
) -> Result<AnswerProfile, ModelError> {
    let mut round = |with_parts: bool| -> Result<(Duration, Log), ModelError> {
        *log.lock().unwrap_or_else(PoisonError::into_inner) = Log { with_parts, ..Log::default() };
        let begin = Instant::now();
        decoder.fan_out(requests)?;
        let mut log = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        log.ends.insert(0, begin);
        Ok((begin.elapsed(), log))
    };
    // Graphs are recorded and products are timed before the clock runs.
    round(false)?;
    let (begin, mut rounds) = (Instant::now(), Vec::new());
    while rounds.len() < 5 || begin.elapsed() < time {
        rounds.push(round(false)?);
    }
    let (_, with_parts) = round(true)?;
    let median = |part: &dyn Fn(&(Duration, Log)) -> Duration| {
        median_of(rounds.iter().map(|round| part(round).as_secs_f64()).collect())
    };
    let passes = with_parts.passes.into_iter().enumerate().map(|(at, (pass, _))| PassProfile {
        before_seconds: median(&|(_, log)| log.passes[at].1 - log.ends[at]),
        seconds: median(&|(_, log)| log.ends[at + 1] - log.passes[at].1),
        ..pass
    });
    let passes: Vec<PassProfile> = passes.collect();
    let in_log = |log: &Log| log.ends[passes.len()] - log.ends[0];
    Ok(AnswerProfile {
        name,
        seconds: median(&|(all, _)| *all),
        after_seconds: median(&|(all, log)| *all - in_log(log)),
        passes,
    })
}

/// The passes of a round.
#[derive(Default)]
struct Log {
    /// Whether the device is asked for the parts of each pass, which takes many times as long as the pass.
    with_parts: bool,
    /// Passes without their times, and when they began.
    passes: Vec<(PassProfile, Instant)>,
    /// When the round began, and when each pass ended.
    ends: Vec<Instant>,
}

/// A decoder whose passes are logged.
struct Clocked {
    decoder: Box<dyn Decoder>,
    log: Arc<Mutex<Log>>,
}

impl Clocked {
    fn clocked(
        &mut self,
        sizes: (usize, &Want),
        pass: impl FnOnce(&mut dyn Decoder) -> Result<Logits, NetError>,
    ) -> Result<Logits, NetError> {
        let begin = Instant::now();
        let logits = pass(&mut *self.decoder)?;
        let end = Instant::now();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = if log.with_parts { self.decoder.parts_of_last_pass()? } else { None };
        let (n_tokens, want) = sizes;
        let is_brief = want.brief.iter().flat_map(|brief| &brief.is_brief);
        let pass = PassProfile {
            n_tokens,
            n_rows: want.rows.len(),
            n_brief: is_brief.filter(|is_brief| **is_brief).count(),
            before_seconds: f64::NAN,
            seconds: f64::NAN,
            parts,
        };
        log.passes.push((pass, begin));
        log.ends.push(end);
        Ok(logits)
    }
}

impl Decoder for Clocked {
    fn config(&self) -> &TransformerConfig {
        self.decoder.config()
    }

    fn room(&self) -> Room {
        self.decoder.room()
    }

    fn open(&mut self) -> Result<KvCacheId, NetError> {
        self.decoder.open()
    }

    fn fork(&mut self, cache: KvCacheId, len: usize) -> Result<KvCacheId, NetError> {
        self.decoder.fork(cache, len)
    }

    fn close(&mut self, cache: KvCacheId) {
        self.decoder.close(cache);
    }

    fn cache_len(&self, cache: KvCacheId) -> Result<usize, NetError> {
        self.decoder.cache_len(cache)
    }

    fn truncate(&mut self, cache: KvCacheId, len: usize) -> Result<(), NetError> {
        self.decoder.truncate(cache, len)
    }

    fn extend(&mut self, caches: &[KvCacheId], batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.clocked((batch.len(), want), |decoder| decoder.extend(caches, batch, want))
    }

    fn logits(&mut self, batch: &Batch, want: &Want) -> Result<Logits, NetError> {
        self.clocked((batch.len(), want), |decoder| decoder.logits(batch, want))
    }
}
