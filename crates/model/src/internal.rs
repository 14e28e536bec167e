//! Internal search as a service: one model on its own thread, and any number of players that have it write traces.
//!
//! Traces of all players share the passes: those that come while others are under way join the next one, and each leaves when it is
//! finished, so a league of many games keeps the batches full. What is written comes back pass by pass. Dropping the receiver
//! gives the trace up.

use crate::{
    MavModel, ModelError,
    decode::{MavDecoder, TraceDecodeSettings, TraceStream, each_trace},
    evaluator::pool,
};
use mavis_game::Position;
use mavis_lang::{Token, trace::Shape};
use mavis_net::{Device, Precision};
use std::{
    num::NonZeroUsize,
    sync::mpsc::{Receiver, Sender, TryRecvError, channel},
};

/// Tokens that a pass may hold beside those of the trace: first readings of drafted states, and moves that are tried as branches.
const BESIDE: usize = 1_024;

/// How the service runs.
#[derive(Clone, Debug)]
pub struct InternalSettings {
    /// Tokens of all traces under way at most; further ones wait. A GPU has keys and values of 131,072 tokens.
    pub cache_tokens: usize,
    /// Threads of a pass on the processor; `None` means all cores.
    pub threads: Option<NonZeroUsize>,
}

impl Default for InternalSettings {
    fn default() -> Self {
        Self { cache_tokens: 131_072, threads: None }
    }
}

impl InternalSettings {
    /// How many traces of so many tokens may be under way at once; at least one.
    #[must_use]
    pub fn n_traces(&self, max_tokens: usize) -> usize {
        (self.cache_tokens / (max_tokens + BESIDE)).max(1)
    }
}

/// What comes back while a trace is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Written {
    /// The tokens of one pass.
    Tokens(Vec<Token>),
    /// Nothing follows: the trace is finished, broken, or as long as it may be.
    End,
    /// The network failed.
    Failed(String),
}

/// The stub of a model that searches by itself; clones share it. Its thread ends when all are dropped.
#[derive(Clone, Debug)]
pub struct Internal {
    jobs: Sender<Job>,
}

/// Takes what is written, and says whether more is wanted.
type Reply = Box<dyn FnMut(Written) -> bool + Send>;

struct Job {
    shape: Shape,
    position: Position,
    settings: TraceDecodeSettings,
    reply: Reply,
}

impl Internal {
    /// Puts a decoder on its own thread.
    ///
    /// # Errors
    /// When the network has too few tokens for the language, or there is no thread.
    pub fn start(mut decoder: MavDecoder, settings: InternalSettings) -> Result<Self, ModelError> {
        crate::decode::check_vocabulary(decoder.network().config().vocab)?;
        let pool = settings.threads.map(pool).transpose()?;
        let (jobs, taken) = channel();
        let mut worker = Worker { decoder, jobs: taken, waiting: None, running: Vec::new(), settings };
        std::thread::Builder::new()
            .name("mavis-internal".to_owned())
            .spawn(move || match pool {
                Some(pool) => pool.install(|| worker.run()),
                None => worker.run(),
            })
            .map_err(crate::evaluator::no_thread)?;
        Ok(Self { jobs })
    }

    /// A model on a device.
    ///
    /// # Errors
    /// As [`Internal::start`], or when the device is missing or the shape is refused.
    pub fn open(
        model: &MavModel,
        precision: Precision,
        device: Device,
        settings: InternalSettings,
    ) -> Result<Self, ModelError> {
        Self::start(MavDecoder::open(model, precision, device)?, settings)
    }

    /// Has a trace written. The receiver gets its tokens pass by pass, then the end.
    #[must_use]
    pub fn search(
        &self,
        shape: Shape,
        position: &Position,
        settings: TraceDecodeSettings,
    ) -> Receiver<Written> {
        let (reply, written) = channel();
        self.search_with(shape, position, settings, move |news| reply.send(news).is_ok());
        written
    }

    /// The same, where `reply` gets what is written, on the thread of the model, and says whether more is wanted.
    pub fn search_with(
        &self,
        shape: Shape,
        position: &Position,
        settings: TraceDecodeSettings,
        reply: impl FnMut(Written) -> bool + Send + 'static,
    ) {
        let job = Job { shape, position: position.clone(), settings, reply: Box::new(reply) };
        if let Err(mut unsent) = self.jobs.send(job) {
            let _is_wanted = (unsent.0.reply)(Written::Failed("the model's thread has stopped".to_owned()));
        }
    }
}

/// One trace under way.
struct Running {
    stream: TraceStream,
    reply: Reply,
    /// Tokens that it may need; 0 once nobody waits for more.
    most: usize,
    /// Tokens that were sent already, the prompt included.
    sent: usize,
}

struct Worker {
    decoder: MavDecoder,
    jobs: Receiver<Job>,
    /// A job that does not fit beside those under way.
    waiting: Option<Job>,
    running: Vec<Running>,
    settings: InternalSettings,
}

impl Worker {
    /// Passes over all traces until nobody is left who could ask for one.
    fn run(&mut self) {
        while self.admit() {
            self.pass();
        }
    }

    /// Takes new jobs as far as there is room, and waits for one if there is nothing to do; `false` once none can come.
    fn admit(&mut self) -> bool {
        loop {
            let job = match self.waiting.take() {
                Some(job) => job,
                None if self.running.is_empty() => match self.jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return false,
                },
                None => match self.jobs.try_recv() {
                    Ok(job) => job,
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => return true,
                },
            };
            let used: usize = self.running.iter().map(|running| running.most).sum();
            let most = job.settings.max_tokens + BESIDE;
            if !self.running.is_empty() && used + most > self.settings.cache_tokens {
                self.waiting = Some(job);
                return true;
            }
            self.begin(job);
        }
    }

    fn begin(&mut self, job: Job) {
        let Job { shape, position, settings, mut reply } = job;
        match self.decoder.open_trace(shape, &position, settings) {
            Ok(stream) => {
                let sent = stream.progress().prompt_len();
                let most = settings.max_tokens + BESIDE;
                self.running.push(Running { stream, reply, most, sent });
            }
            // Who asked may have given up meanwhile.
            Err(error) => {
                let _is_wanted = reply(Written::Failed(error.to_string()));
            }
        }
    }

    fn pass(&mut self) {
        let room = self.decoder.network().room();
        each_trace(&mut self.running, |running| {
            running.stream.prepare();
        });
        let mut streams: Vec<&mut TraceStream> = Vec::new();
        let (mut tokens, mut rows) = (0, 0);
        for running in &mut self.running {
            let (more_tokens, more_rows) = running.stream.prepare();
            if !streams.is_empty() && (tokens + more_tokens > room.tokens || rows + more_rows > room.rows) {
                break;
            }
            tokens += more_tokens;
            rows += more_rows;
            streams.push(&mut running.stream);
        }
        let n_streams = streams.len();
        let failed = self.decoder.advance_traces(&mut streams).err().map(|error| error.to_string());
        for running in &mut self.running[..n_streams] {
            running.report(failed.as_deref());
        }
        let decoder = &mut self.decoder;
        self.running.retain(|running| {
            let is_open = running.stream.is_open() && running.most > 0;
            if !is_open {
                decoder.close_trace(&running.stream);
            }
            is_open
        });
        // Those that did not fit come first next time.
        let n_kept = self.running.len();
        self.running.rotate_left(n_streams.min(n_kept));
    }
}

impl Running {
    /// Sends what is new. A trace that failed, or that nobody waits for, gets no further tokens.
    fn report(&mut self, failed: Option<&str>) {
        let tokens = self.stream.progress().tokens();
        let new = Written::Tokens(tokens[self.sent..].to_vec());
        self.sent = tokens.len();
        let mut news = vec![new];
        match failed {
            Some(reason) => news.push(Written::Failed(reason.to_owned())),
            None if !self.stream.is_open() => news.push(Written::End),
            None => {}
        }
        let is_wanted = news.into_iter().all(|news| (self.reply)(news));
        if !is_wanted || failed.is_some() {
            self.most = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_traces_are_under_way_than_fit_and_always_one() {
        let settings = InternalSettings::default();
        for most in [1, 500, 4_000, 8_192] {
            let n = settings.n_traces(most);
            let needed = |n: usize| n * (most + BESIDE);
            assert!(
                needed(n) <= settings.cache_tokens && needed(n + 1) > settings.cache_tokens,
                "{most}: {n}"
            );
        }
        assert_eq!(settings.n_traces(1_000_000), 1);
    }
}
