//! Internal search: whole traces by greedy decoding, in far fewer passes than they have tokens.
//!
//! Most of a trace follows from what stands before it: headers, paths and previous states by the grammar, states by the rules,
//! decisions by the values. All that is drafted at once and checked in one pass, as drafted states are. What is left are the
//! lists. Moves that may be listed are run as branches of the place where the list opens; their values, and the likelihood of each
//! move as the next one, draft the list. A few moves are run in the pass that checks the draft before the list, many in the pass after
//! it, when the likeliest of them are known. A token is written only where plain greedy decoding would write it after all tokens
//! before it, so the text is the same. That token is the one that the network likes best, unless the settings say otherwise.

mod grammar;
mod hints;

pub use grammar::Grammar;

use super::{MavDecoder, SHORT_HEAD, list::ListRule, token_of};
use crate::{InputAttention, ModelError, fan_out::value_distribution, reading::ReadText};
use hints::Hints;
use mavis_game::{Move, Position};
use mavis_lang::{
    Step, Token, moves,
    trace::{Due, Shape, TraceProgress},
    value::{bucket_of, value_token},
    vocab::{self, VALUES},
};
use mavis_net::{Batch, Brief, KvCacheId, Logits, Want};
use mavis_value::{Bucket, N_BUCKETS, Scoring};
use rayon::prelude::*;

/// Tokens of a draft at most; a pass of more takes memory without need.
const MOST_DRAFTED: usize = 768;

/// Up to so many legal moves are run as branches before it is known which of them are likely: that saves a pass, and a branch costs about
/// an eighth of one on a processor.
const FEW_BRANCHES: usize = 9;

/// What a pass costs beside its tokens, in tokens. On two cores of a Xeon in bf16 one row after 128 cached tokens took 1.0 ms and each of
/// 200 rows 0.2 ms, after 1,500 cached tokens 5.7 and 0.33 ms: four tokens and sixteen. On a Zen 4 it is six in `exact` and nine in
/// bf16 after a short prompt (docs/performance.md). On a GPU tokens cost next to nothing.
const PASS_ON_PROCESSOR: f32 = 6.0;
const PASS_ON_GPU: f32 = 1_000.0;

/// Cached tokens that make a pass dearer by one token: their keys and values are read once for all its rows.
const CACHED_A_TOKEN: f32 = 150.0;

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceDecodeSettings {
    /// Tokens of the trace at most, its prompt included; a longer one is cut.
    pub max_tokens: usize,
    /// Whether drafts are checked. The text is the same without them.
    pub drafting: bool,
    /// Which value of a move is written: that of the highest probability, or the one next to the mean of the distribution.
    pub scoring: Scoring,
    /// Whether a list may name a move a second time where the network likes that best, which breaks the trace; otherwise the
    /// likeliest token that is none of the listed moves is written.
    pub repeats: bool,
    /// Who writes what the grammar demands.
    pub grammar: Grammar,
}

impl TraceDecodeSettings {
    /// The likeliest text, with drafts.
    #[must_use]
    pub fn new(max_tokens: usize) -> Self {
        Self { max_tokens, drafting: true, scoring: Scoring::Max, repeats: true, grammar: Grammar::Free }
    }
}

/// A trace that is being written.
pub struct TraceStream {
    cache: KvCacheId,
    input: InputAttention,
    progress: TraceProgress,
    settings: TraceDecodeSettings,
    /// Tokens in the cache.
    cached: usize,
    hints: Hints,
    /// The tokens and rows that it takes in the next pass, once the draft for it is made.
    prepared: Option<(usize, usize)>,
    /// What the next pass checks: tokens that may follow, then moves that each may.
    draft: Vec<Token>,
    /// Whether a list may go on in the place of each of these tokens and after the last.
    in_list: Vec<bool>,
    branches: Vec<Move>,
    /// The place of the list that the branches belong to: they see the tokens before it.
    anchor: usize,
    /// What a pass costs beside its tokens and what is cached, in tokens.
    pass_cost: f32,
    n_passes: usize,
    n_mended: usize,
}

impl TraceStream {
    /// The trace so far.
    #[must_use]
    pub fn progress(&self) -> &TraceProgress {
        &self.progress
    }

    /// Passes of the network so far.
    #[must_use]
    pub fn n_passes(&self) -> usize {
        self.n_passes
    }

    /// Tokens that the grammar demanded and the network would not have written; with [`Grammar::Free`] there are none.
    #[must_use]
    pub fn n_mended(&self) -> usize {
        self.n_mended
    }

    /// Whether there is more to write.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.progress.step() == Step::More && self.progress.tokens().len() < self.settings.max_tokens
    }
}

impl MavDecoder {
    /// Begins a trace; [`MavDecoder::close_trace`] frees its memory.
    ///
    /// # Errors
    /// When the device has no memory left.
    pub fn open_trace(
        &mut self,
        shape: Shape,
        position: &Position,
        settings: TraceDecodeSettings,
    ) -> Result<TraceStream, ModelError> {
        let on_processor = self.decoder.room().tokens == usize::MAX;
        Ok(TraceStream {
            cache: self.decoder.open()?,
            input: self.input,
            progress: TraceProgress::new(shape, position),
            settings,
            cached: 0,
            hints: Hints::default(),
            prepared: None,
            draft: Vec::new(),
            in_list: Vec::new(),
            branches: Vec::new(),
            anchor: 0,
            pass_cost: if on_processor { PASS_ON_PROCESSOR } else { PASS_ON_GPU },
            n_passes: 0,
            n_mended: 0,
        })
    }

    /// Ends a trace, finished or not.
    pub fn close_trace(&mut self, stream: &TraceStream) {
        self.decoder.close(stream.cache);
    }

    /// One pass over all traces that are not finished; each is longer by at least one token.
    ///
    /// # Errors
    /// When the network fails.
    pub fn advance_traces(&mut self, streams: &mut [&mut TraceStream]) -> Result<(), ModelError> {
        // Drafts and answers of a trace are its own matter, and of many traces they take longer than a pass on a GPU.
        each(streams, |stream| {
            if stream.is_open() {
                stream.prepare();
            }
        });
        let has_places = self.has_places();
        let mut batch = Batch::default();
        let (mut rows, mut is_brief) = (Vec::new(), Vec::new());
        let mut caches = Vec::new();
        let mut open: Vec<(&mut TraceStream, ReadText, usize)> = Vec::new();
        for stream in streams.iter_mut().map(|stream| &mut **stream).filter(|stream| stream.is_open()) {
            self.decoder.truncate(stream.cache, stream.cached)?;
            let first_row = rows.len();
            let read = stream.push(&mut batch, &mut rows);
            if has_places {
                read.give_places(&mut batch, &stream.text());
            }
            is_brief.extend(stream.is_brief());
            caches.push(stream.cache);
            open.push((stream, read, first_row));
        }
        if open.is_empty() {
            return Ok(());
        }
        let brief = Brief { is_brief, n_columns: SHORT_HEAD };
        let want = Want { rows, columns: None, brief: Some(brief) };
        let logits = self.decoder.extend(&caches, &batch, &want)?;
        each(&mut open, |(stream, read, first_row)| {
            let n_written = stream.progress.tokens().len();
            let n_accepted = stream.take(&logits, *first_row);
            stream.cached = read.kept(n_written + n_accepted);
        });
        for (stream, ..) in open {
            self.decoder.truncate(stream.cache, stream.cached)?;
        }
        Ok(())
    }

    /// Writes a whole trace by itself.
    ///
    /// # Errors
    /// When the network fails.
    pub fn write_trace(
        &mut self,
        shape: Shape,
        position: &Position,
        settings: TraceDecodeSettings,
    ) -> Result<TraceStream, ModelError> {
        let mut stream = self.open_trace(shape, position, settings)?;
        let mut written = Ok(());
        while stream.is_open() && written.is_ok() {
            written = self.advance_traces(&mut [&mut stream]);
        }
        self.close_trace(&stream);
        written.map(|()| stream)
    }
}

impl TraceStream {
    /// Rows of logits that a pass gives it: after the last token, after each drafted one, after each branch.
    fn n_rows(&self) -> usize {
        1 + self.draft.len() + self.branches.len()
    }

    /// Which of them are read in part: all where no list may go on, for whose next move every likelihood counts.
    fn is_brief(&self) -> impl Iterator<Item = bool> {
        self.in_list.iter().map(|in_list| !in_list).chain(self.branches.iter().map(|_| true))
    }

    /// Drafts what may come next; the tokens and rows it takes in a pass.
    pub(crate) fn prepare(&mut self) -> (usize, usize) {
        if let Some(sizes) = self.prepared {
            return sizes;
        }
        self.draft();
        let (prompt_len, n_written) = (self.progress.prompt_len(), self.progress.tokens().len());
        let text = self.text();
        self.cached = self.input.still_read(&text, prompt_len, self.cached);
        let n_tokens = self.input.n_tokens(&text, prompt_len, self.cached, n_written);
        *self.prepared.insert((n_tokens + self.branches.len(), self.n_rows()))
    }

    fn draft(&mut self) {
        self.draft.clear();
        self.in_list.clear();
        self.branches.clear();
        let mut ahead = self.progress.clone();
        if self.settings.drafting {
            self.draft_after(&mut ahead);
        }
        // What was cut off again was written down too, and the place after the last token was not, if nothing was.
        self.in_list.push(ahead.listed().is_some());
        self.in_list.truncate(self.draft.len() + 1);
    }

    fn draft_after(&mut self, ahead: &mut TraceProgress) {
        let room = self.settings.max_tokens.saturating_sub(self.progress.tokens().len());
        let pass_cost = self.pass_cost + self.cached as f32 / CACHED_A_TOKEN;
        // How likely all guesses of the draft are right.
        let mut odds = 1.0;
        while self.draft.len() < room.min(MOST_DRAFTED) {
            let first = self.draft.len();
            while let Some(Due::Token(token)) =
                ahead.due().filter(|_| self.draft.len() < room.min(MOST_DRAFTED))
            {
                self.draft_token(ahead, token);
            }
            // Tokens that follow guesses save a pass if those are right, and are read in vain if not.
            let n_sure = (self.draft.len() - first) as f32;
            if odds * pass_cost < (1.0 - odds) * n_sure.max(1.0) {
                self.draft.truncate(first);
                return;
            }
            let Some(due) = ahead.due().filter(|due| !matches!(due, Due::Token(_))) else { return };
            let Some(token) = self.guess(ahead, due) else { return };
            odds *= self.hints.trust(due);
            self.draft_token(ahead, token);
        }
    }

    fn draft_token(&mut self, ahead: &mut TraceProgress, token: Token) {
        self.in_list.push(ahead.listed().is_some());
        ahead.push(token);
        self.draft.push(token);
    }

    /// A guess at what is due; where there are no hints for it, branches that will give some.
    fn guess(&mut self, ahead: &TraceProgress, due: Due) -> Option<Token> {
        let is_known = self.hints.know(ahead);
        match due {
            Due::Listed if !is_known => {
                if ahead.opens_list() && ahead.unlisted().count() <= FEW_BRANCHES {
                    self.branches.extend(ahead.unlisted());
                    self.anchor = ahead.tokens().len();
                }
                None
            }
            Due::Value(_) if !is_known => {
                if let Some((anchor, likely)) = self.hints.likely(ahead) {
                    self.branches = likely;
                    self.anchor = anchor;
                }
                None
            }
            _ => self.hints.guess(ahead, due),
        }
    }

    /// What is written, and the draft after it.
    fn text(&self) -> Vec<Token> {
        self.progress.tokens().iter().chain(&self.draft).copied().collect()
    }

    /// Appends what the network has not read of that, and the branches, as one sequence; the rows that give it logits go to `rows`.
    fn push(&self, batch: &mut Batch, rows: &mut Vec<u32>) -> ReadText {
        let (n_written, text) = (self.progress.tokens().len(), self.text());
        let read = self.input.push(batch, &text, self.progress.prompt_len(), self.cached, n_written);
        rows.extend((n_written..=text.len()).map(|at| read.row_before(at)));
        let rules = self.progress.shape().rules;
        for &mv in &self.branches {
            let token = moves::token_of(rules, mv).unwrap_or(vocab::UNK);
            rows.push(batch.len() as u32);
            batch.push_branch(&[u32::from(token)], self.anchor, self.anchor, self.cached);
        }
        read
    }

    /// The token that the network writes next: the likeliest, but for what the settings say of values and lists.
    fn next_token(&self, logits: &Logits, row: usize, due: Option<Due>) -> Token {
        if let Some(listed) = self.progress.listed() {
            let rule = ListRule { repeats: self.settings.repeats, drawn: None };
            return rule.next_token(logits.row(row), self.progress.shape().rules, listed);
        }
        let token = token_of(logits.likeliest(row));
        match due {
            Some(Due::Value(_)) if self.settings.scoring == Scoring::Mean && bucket_of(token).is_some() => {
                value_token(written_value(logits.row(row), self.settings.scoring).0)
            }
            _ => token,
        }
    }

    /// Goes through the rows of a pass: each gives a token, and the draft holds as long as it agrees. Returns how much of it did.
    fn take(&mut self, logits: &Logits, first_row: usize) -> usize {
        self.n_passes += 1;
        self.prepared = None;
        let draft = std::mem::take(&mut self.draft);
        let n_read = self.progress.tokens().len();
        let mut n_accepted = 0;
        loop {
            let row = first_row + n_accepted;
            let due = self.progress.due();
            if due == Some(Due::Listed) {
                self.hints.order(&self.progress, logits.row(row));
            }
            let own = self.next_token(logits, row, due);
            let demanded = self.progress.demanded().filter(|_| self.settings.grammar == Grammar::Demanded);
            let token = demanded.unwrap_or(own);
            self.n_mended += usize::from(token != own);
            self.progress.push(token);
            if !self.is_open() {
                break;
            }
            let Some(&drafted) = draft.get(n_accepted) else { break };
            if let Some(due) = due {
                self.hints.learn(due, drafted == token);
            }
            if drafted != token {
                break;
            }
            n_accepted += 1;
        }
        // Branches of a draft that did not hold say nothing.
        if self.anchor <= n_read + n_accepted {
            let values = (first_row + draft.len() + 1..).map(|row| logits.row(row));
            let values = self.branches.iter().copied().zip(values);
            self.hints.values(&self.progress, self.settings.scoring, values);
        }
        n_accepted
    }
}

/// Does something to each trace, on all cores if there are several.
pub(crate) fn each<T: Send>(traces: &mut [T], act: impl Fn(&mut T) + Sync + Send) {
    match traces {
        // One would only wait for the pool, which others may keep busy.
        [trace] => act(trace),
        traces => traces.par_iter_mut().for_each(act),
    }
}

/// The value that is written after a move, by the logits there, and the mean of the distribution.
fn written_value(logits: &[f32], scoring: Scoring) -> (Bucket, f32) {
    let distribution = value_distribution(&logits[usize::from(VALUES.start)..][..N_BUCKETS]);
    let mean = distribution.mean();
    let bucket = match scoring {
        Scoring::Mean => Bucket::from_win_probability(mean),
        Scoring::Max => distribution.mode(),
    };
    (bucket, mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_written_where_two_values_are_likely() {
        let mut logits = vec![-30.0; usize::from(VALUES.start) + N_BUCKETS];
        let at = |bucket: Bucket| usize::from(value_token(bucket));
        logits[at(Bucket::LOST)] = 1.0;
        logits[at(Bucket::WON)] = 0.9;
        assert_eq!(written_value(&logits, Scoring::Max).0, Bucket::LOST);
        let (bucket, mean) = written_value(&logits, Scoring::Mean);
        assert!((0.46..0.5).contains(&mean), "{mean}");
        assert_eq!(bucket, Bucket::from_win_probability(mean));
    }
}
