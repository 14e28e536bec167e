//! Greedy decoding of many requests at once, one token a step or several where a draft holds.

use super::{
    Drafting, MavDecoder, Prompt, draft_state,
    fan::tracked,
    list::{ListOrder, ListRule},
    token_of,
};
use crate::{
    ModelError,
    fan_out::{legal_set, value_distribution},
    reading::ReadText,
};
use mavis_game::{Game, Move, Position};
use mavis_lang::{
    Answer, AnswerProgress, Hallucination, Request, Start, Step, Token, Top, parse_answer, vocab::VALUES,
    vocabulary,
};
use mavis_net::{Brief, KvCacheId, Logits, Want};
use mavis_stable::seed;
use mavis_value::{Distribution, N_BUCKETS};
use rayon::prelude::*;
use std::ops::Range;

/// Passes that check what is left of a draft after it was wrong once; then the state is written token by token.
const MOST_REDRAFTS: usize = 4;

/// Streams that a core takes at once. One takes some four microseconds, and waking a thread takes several times that: 16 drafts on one core
/// took 67 us, on two 94 to 101.
pub(super) const STREAMS_PER_JOB: usize = 32;

/// How far greedy decoding goes, and by what means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreedySettings {
    /// Tokens an answer may have; longer ones are cut and do not parse. `%top_all` of the widest game, Hex 19 x 19 with a next state, fits.
    pub max_tokens: usize,
    /// Where drafts come from. The answer is the same with and without.
    pub drafting: Drafting,
    /// Whether a list may name a move a second time where that is the likeliest text, as programs write it that know no grammar.
    /// The parser refuses such a list; otherwise the likeliest token that is none of the listed moves is written.
    pub repeats: bool,
    /// The order of the moves of `%top_all`. The K best are always written by likelihood.
    pub list_order: ListOrder,
}

impl Default for GreedySettings {
    fn default() -> Self {
        Self { max_tokens: 1_536, drafting: Drafting::None, repeats: false, list_order: ListOrder::Likeliest }
    }
}

/// What a model wrote.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The answer, its opening included.
    pub tokens: Vec<Token>,
    /// The value distribution of each listed move, in their order.
    pub values: Vec<(Move, Distribution)>,
    /// Passes of the network it took; the first reads the prompt.
    pub n_passes: usize,
}

impl Decoded {
    /// What it means.
    ///
    /// # Errors
    /// The first thing that is not of the language.
    pub fn answer(&self, request: &Request) -> Result<Answer, Hallucination> {
        parse_answer(request, &self.tokens)
    }

    /// What it says; a token outside the vocabulary prints as such.
    #[must_use]
    pub fn text(&self) -> String {
        let vocabulary = vocabulary();
        self.tokens.iter().map(|&token| vocabulary.string(token).unwrap_or("<no token>")).collect()
    }
}

impl MavDecoder {
    /// Decodes each request to its end, all of them in the same passes.
    ///
    /// # Errors
    /// When the network fails.
    pub fn greedy(
        &mut self,
        requests: &[Request],
        settings: &GreedySettings,
    ) -> Result<Vec<Decoded>, ModelError> {
        self.with_caches(requests.len(), |decoder, caches| {
            let mut streams: Vec<Stream<'_>> = requests
                .iter()
                .zip(caches)
                .map(|(request, &cache)| Stream::new(request, cache, settings, Goal::Answer))
                .collect();
            decoder.run(&mut streams)?;
            Ok(streams.into_iter().map(|stream| stream.decoded).collect())
        })
    }

    /// Passes until every stream has reached its goal.
    pub(super) fn run(&mut self, streams: &mut [Stream<'_>]) -> Result<(), ModelError> {
        while self.advance(streams)? {}
        Ok(())
    }

    /// One pass over all streams that are not finished; whether there was any.
    fn advance(&mut self, streams: &mut [Stream<'_>]) -> Result<bool, ModelError> {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let has_places = self.has_places();
        let (mut rows, mut is_brief) = (Vec::new(), Vec::new());
        let mut caches = Vec::new();
        let mut open: Vec<(&mut Stream<'_>, ReadText, Range<usize>)> = Vec::new();
        for stream in streams.iter_mut().filter(|stream| stream.is_open()) {
            stream.draft_forced();
            let input_len = stream.input_len;
            let n_written = stream.text.len();
            // The draft is read behind the text, and taken off again before any of it is written.
            stream.text.extend_from_slice(&stream.draft);
            let text = &stream.text;
            stream.cached = self.input.still_read(text, input_len, stream.cached);
            self.decoder.truncate(stream.cache, stream.cached)?;
            let read = self.input.push(&mut batch, text, input_len, stream.cached, n_written);
            if has_places {
                read.give_places(&mut batch, text);
            }
            let first_row = rows.len();
            rows.extend((n_written..=text.len()).map(|at| read.row_before(at)));
            stream.text.truncate(n_written);
            // States and what the grammar demands are drafted, neither of which asks for more than the likeliest token, save the end of a
            // list of K moves: lists have a rule of their own, which reads whole rows.
            let in_list = stream.progress.awaits_listed();
            is_brief.extend((0..stream.draft.len()).map(|at| at > 0 || !in_list).chain([false]));
            caches.push(stream.cache);
            open.push((stream, read, first_row..rows.len()));
        }
        if open.is_empty() {
            return Ok(false);
        }
        // No value is read where a token is drafted: neither a state nor what the grammar demands has one.
        let brief = is_brief.contains(&true).then_some(Brief { is_brief, n_columns: 0 });
        let want = Want { rows, columns: None, brief };
        let logits = self.decoder.extend(&caches, &batch, &want)?;
        self.batch = batch;
        // Between two passes a GPU waits for this, so all cores do it where it is more than the next token of each stream.
        let is_much = logits.n_rows() > 4 * open.len();
        let per_job = if is_much { STREAMS_PER_JOB } else { open.len() };
        open.par_iter_mut().with_min_len(per_job).for_each(|(stream, read, rows)| {
            let n_written = stream.text.len();
            let accepted = stream.take(&logits, rows.clone());
            stream.cached = read.kept(n_written + accepted);
        });
        for (stream, ..) in open {
            self.decoder.truncate(stream.cache, stream.cached)?;
        }
        Ok(true)
    }
}

/// How far a stream is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// To the end of the answer.
    Answer,
    /// To the first move of the list, which is not written: the legal set that its logits give is kept.
    List,
}

/// One request under way.
pub(super) struct Stream<'a> {
    pub(super) cache: KvCacheId,
    pub(super) request: &'a Request,
    /// All that is read and written: the input, then the answer.
    text: Vec<Token>,
    input_len: usize,
    progress: AnswerProgress,
    settings: GreedySettings,
    rule: ListRule,
    goal: Goal,
    pub(super) decoded: Decoded,
    /// The legal set and whether the game is over, once a stream that goes no further has come to its list.
    pub(super) legal_set: Option<(Vec<Move>, bool)>,
    /// The state that stands before that list, if the request tracks one.
    pub(super) tracked: Option<Result<Position, Hallucination>>,
    /// Tokens in the cache.
    pub(super) cached: usize,
    /// What may come after the text.
    draft: Vec<Token>,
    n_redrafts: usize,
}

impl<'a> Stream<'a> {
    pub(super) fn new(request: &'a Request, cache: KvCacheId, settings: &GreedySettings, goal: Goal) -> Self {
        let prompt = Prompt::new(request);
        let mut progress = AnswerProgress::new(&request.commands);
        for &token in prompt.opening() {
            progress.push(token);
        }
        let decoded = Decoded { tokens: prompt.opening().to_vec(), values: Vec::new(), n_passes: 0 };
        let Prompt { tokens: text, input_len } = prompt;
        let mut stream = Self {
            cache,
            request,
            text,
            input_len,
            progress,
            settings: *settings,
            rule: list_rule(request, settings),
            goal,
            decoded,
            legal_set: None,
            tracked: None,
            cached: 0,
            draft: Vec::new(),
            n_redrafts: 0,
        };
        stream.draft_state();
        stream
    }

    fn is_open(&self) -> bool {
        self.progress.step() == Step::More
            && self.legal_set.is_none()
            && self.decoded.tokens.len() < self.settings.max_tokens
    }

    /// Goes through the rows of a pass: each gives a token, and the draft holds as long as it agrees. Returns how much of it did.
    fn take(&mut self, logits: &Logits, rows: Range<usize>) -> usize {
        self.decoded.n_passes += 1;
        let draft = std::mem::take(&mut self.draft);
        let mut accepted = self.take_fields(&draft, logits, rows.start);
        for row in rows.skip(accepted) {
            if self.goal == Goal::List && self.progress.opens_list() {
                let commands = &self.request.commands;
                self.legal_set = Some(legal_set(commands.rules, logits.row(row)));
                self.tracked = commands.is_tracking().then(|| tracked(self));
                return accepted;
            }
            if let Some(mv) = self.progress.awaits_value() {
                let values = &logits.row(row)[usize::from(VALUES.start)..][..N_BUCKETS];
                self.decoded.values.push((mv, value_distribution(values)));
            }
            let token = self.next_token(logits, row);
            self.decoded.tokens.push(token);
            self.text.push(token);
            self.progress.push(token);
            if !self.is_open() {
                return accepted;
            }
            match draft.get(accepted) {
                Some(&drafted) if drafted == token => accepted += 1,
                Some(_) => {
                    // The fields of a state keep their places, so what follows the wrong one may still be right.
                    if self.n_redrafts < MOST_REDRAFTS {
                        self.n_redrafts += 1;
                        self.draft = draft[accepted + 1..].to_vec();
                    }
                    return accepted;
                }
                None => break,
            }
        }
        self.draft_state();
        accepted
    }

    /// Takes the first of the drafted tokens at once, as far as they are fields of a state and the likeliest in their rows. Returns how
    /// many; the answer is not complete with them.
    fn take_fields(&mut self, draft: &[Token], logits: &Logits, first_row: usize) -> usize {
        let room = self.settings.max_tokens.saturating_sub(self.decoded.tokens.len() + 1);
        let n_fields = self.progress.fields_left().min(room);
        let rows = draft.iter().take(n_fields).zip(first_row..);
        let n_likeliest = rows.take_while(|(token, row)| token_of(logits.likeliest(*row)) == **token).count();
        let fields = &draft[..n_likeliest];
        let fields = &fields[..self.progress.push_fields(fields)];
        self.decoded.tokens.extend_from_slice(fields);
        self.text.extend_from_slice(fields);
        fields.len()
    }

    /// The token that is written next: the likeliest, but for what the settings say of lists.
    fn next_token(&self, logits: &Logits, row: usize) -> Token {
        if !self.progress.awaits_listed() {
            return token_of(logits.likeliest(row));
        }
        self.rule.next_token(logits.row(row), self.request.commands.rules, self.progress.listed())
    }

    /// Drafts the fields of a state that is about to be written.
    fn draft_state(&mut self) {
        if self.settings.drafting == Drafting::None || !self.progress.opens_state() {
            return;
        }
        self.n_redrafts = 0;
        match (self.progress.best(), &self.request.start) {
            (Some(best), _) => match self.current() {
                Some(position) => draft_state(self.settings.drafting, &position, best, &mut self.draft),
                None => return,
            },
            (None, Start::After { previous, action }) => {
                draft_state(self.settings.drafting, previous, *action, &mut self.draft);
            }
            (None, Start::At(_)) => return,
        }
        // If the state is right, the opening of the next line is too: one pass less.
        self.draft.extend(self.progress.forced_after_state());
    }

    /// The position the moves were listed for: the given one, or the one the answer itself tracked.
    fn current(&self) -> Option<Position> {
        match &self.request.start {
            Start::At(position) => Some(position.clone()),
            Start::After { previous, .. } => {
                // The answer begins with the word that opens it.
                let fields = mavis_lang::state::state_len(previous.rules());
                let state = self.decoded.tokens.get(1..1 + fields)?;
                mavis_lang::state::read_state(previous.rules(), state).ok()
            }
        }
    }

    /// Adds what the grammar demands next, if there is no draft yet.
    fn draft_forced(&mut self) {
        if self.settings.drafting != Drafting::None && self.draft.is_empty() {
            self.draft = self.progress.forced();
        }
    }
}

/// How the list of an answer is written. Only lists of all moves have an order to draw.
fn list_rule(request: &Request, settings: &GreedySettings) -> ListRule {
    let is_drawn = settings.list_order == ListOrder::Drawn && request.commands.top == Some(Top::All);
    // The same question has the same answer.
    let bytes = || request.prompt().iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>();
    ListRule { repeats: settings.repeats, drawn: is_drawn.then(|| seed::hash_bytes(0, &bytes())) }
}
