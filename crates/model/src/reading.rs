//! How a network reads a text: which tokens see each other, in training and in decoding.
//!
//! A position in a prompt is read with full attention. A position that the network writes itself can only be written from left to
//! right, and was once read that way by all that follows it, which costs strength: the values of a search inside the model were worse than
//! those of the same positions given in prompts. With [`InputAttention::Reread`] a line that holds a state is read a second time as
//! soon as it is complete, its tokens with full attention among themselves, and what follows sees this reading and not the first.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use mavis_lang::{Token, places, state::state_lines};
use mavis_net::Batch;
use serde::{Deserialize, Serialize};
use std::{ops::Range, str::FromStr};

/// How a network attends over positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
pub enum InputAttention {
    /// A token sees those before it, everywhere (`false` in files).
    #[default]
    Causal,
    /// Input tokens see each other fully (`true`).
    Full,
    /// Input tokens see each other fully, and so do those of a state in the answer, once it is written (`reread`).
    Reread,
}

impl InputAttention {
    /// How many of `input_len` input tokens see each other fully.
    #[must_use]
    pub fn prefix(self, input_len: usize) -> usize {
        if self == Self::Causal { 0 } else { input_len }
    }

    /// The lines of an answer that are read again: its states, where they are complete.
    fn reread(self, text: &[Token], input_len: usize) -> Vec<Range<usize>> {
        if self == Self::Reread { state_lines(text, input_len) } else { Vec::new() }
    }

    /// Tokens that [`push`](Self::push) appends.
    pub(crate) fn n_tokens(self, text: &[Token], input_len: usize, n_read: usize, from: usize) -> usize {
        let lines = self.reread(text, input_len).into_iter().filter(|line| is_predicted(line, n_read, from));
        text.len() - n_read + lines.map(|line| line.len() - 1).sum::<usize>()
    }

    /// How much of a text that was read before still holds: a state that has been completed since is read again.
    pub(crate) fn still_read(self, text: &[Token], input_len: usize, n_read: usize) -> usize {
        // No state of the answer begins within the input: the text need not be searched for any.
        if n_read <= input_len {
            return n_read;
        }
        let inside = |line: &Range<usize>| line.start < n_read && n_read < line.end;
        self.reread(text, input_len).into_iter().find(inside).map_or(n_read, |line| line.start)
    }

    /// Appends the part of a text after its first `n_read` tokens as a sequence. Its tokens from `from` on are to be predicted, `from`
    /// being at least 1.
    ///
    /// Lines that are read again stand in the sequence as they are read the second time. Where one has tokens to predict, the
    /// first reading follows at the end as a branch that sees what stands before the line.
    pub(crate) fn push(
        self,
        batch: &mut Batch,
        text: &[Token],
        input_len: usize,
        n_read: usize,
        from: usize,
    ) -> ReadText {
        let prefix = self.prefix(input_len);
        let lines = self.reread(text, input_len);
        batch.begin();
        let first = batch.len();
        let mut at = n_read;
        let mut run_to = |end: usize, prefix_end: usize| {
            if at < end {
                let tokens = text.get(at..end).unwrap_or_default();
                batch.push_run(tokens.iter().map(|&token| u32::from(token)), at, prefix_end, 0);
                at = end;
            }
        };
        run_to(prefix.min(text.len()), prefix);
        for line in &lines {
            run_to(line.start, 0);
            run_to(line.end, line.end);
        }
        run_to(text.len(), 0);
        let mut written = Vec::new();
        for line in lines {
            if is_predicted(&line, n_read, from) {
                written.push((line.clone(), batch.len()));
                let ids: Vec<u32> = text
                    .get(line.start..line.end - 1)
                    .unwrap_or_default()
                    .iter()
                    .map(|&token| u32::from(token))
                    .collect();
                batch.push_branch(&ids, line.start, line.start, n_read);
            }
        }
        ReadText { first, n_read, written }
    }
}

/// Whether a line that is read again needs its first reading too: it is new, and has tokens to predict.
fn is_predicted(line: &Range<usize>, n_read: usize, from: usize) -> bool {
    line.start >= n_read && line.end > from
}

/// Where the rows of a text are in a batch.
pub(crate) struct ReadText {
    first: usize,
    n_read: usize,
    /// Lines whose tokens are predicted by a first reading, and where that begins.
    written: Vec<(Range<usize>, usize)>,
}

impl ReadText {
    /// The row that predicts the token at a place of the text.
    pub(crate) fn row_before(&self, at: usize) -> u32 {
        let before = at - 1;
        let first_reading = self.written.iter().find(|(line, _)| line.start <= before && at < line.end);
        let row = match first_reading {
            Some((line, first)) => first + before - line.start,
            None => self.first + before - self.n_read,
        };
        row as u32
    }

    /// Gives the tokens of the text their places; networks without a table of places do not look at them.
    pub(crate) fn give_places(&self, batch: &mut Batch, text: &[Token]) {
        let places = places(text, self.n_read);
        let mut give = |first: usize, places: &[u32]| {
            if let Some(to) = batch.places.get_mut(first..first + places.len()) {
                to.copy_from_slice(places);
            }
        };
        give(self.first, &places);
        for (line, first) in &self.written {
            let of_line = line.start - self.n_read..line.end - 1 - self.n_read;
            give(*first, places.get(of_line).unwrap_or_default());
        }
    }

    /// How much of the text stays read if its first `n` tokens do: a state that was read as a whole goes as a whole.
    pub(crate) fn kept(&self, n: usize) -> usize {
        let cut = self.written.iter().find(|(line, _)| line.start < n && n < line.end);
        cut.map_or(n, |(line, _)| line.start)
    }
}

impl FromStr for InputAttention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "false" => Ok(Self::Causal),
            "true" => Ok(Self::Full),
            "reread" => Ok(Self::Reread),
            _ => Err(format!("full_input is '{text}' (known: false true reread)")),
        }
    }
}

impl std::fmt::Display for InputAttention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Causal => "false",
            Self::Full => "true",
            Self::Reread => "reread",
        })
    }
}

/// As it stands in settings: a truth value or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Named {
    Truth(bool),
    Word(String),
}

impl TryFrom<Named> for InputAttention {
    type Error = String;

    fn try_from(named: Named) -> Result<Self, String> {
        match named {
            Named::Truth(full) => Ok(if full { Self::Full } else { Self::Causal }),
            Named::Word(word) => word.parse(),
        }
    }
}

impl From<InputAttention> for Named {
    fn from(input: InputAttention) -> Self {
        match input {
            InputAttention::Reread => Self::Word(input.to_string()),
            _ => Self::Truth(input == InputAttention::Full),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use mavis_game::{Game, Position, Rules};
    use mavis_lang::{Answer, Commands, Forms, Listing, Request};
    use mavis_net::{Decoder, Precision, Want, cpu::CpuDecoder, initial_parameters};
    use mavis_value::Bucket;

    /// A tracked state, its list, and the state after the best move.
    fn example() -> (Vec<Token>, usize) {
        let start = Position::start(Rules::Togyz);
        let mv = start.legal_moves()[2];
        let mut after = start.clone();
        after.play_unchecked(mv);
        let moves: Vec<_> = after.legal_moves().into_iter().map(|mv| (mv, Bucket::WON)).collect();
        let best = moves[1].0;
        let mut last = after.clone();
        last.play_unchecked(best);
        let commands = Commands { next: Some(Forms::State), ..Commands::tracking(Rules::Togyz) };
        let request = Request::after(start, mv, commands);
        let mut tokens = request.prompt();
        let input_len = tokens.len();
        let answer = Answer {
            tracked: Some(after),
            listing: Some(Listing::Moves(moves)),
            best: Some(best),
            next: Some(last),
        };
        answer.write(&commands, &mut tokens);
        (tokens, input_len)
    }

    /// Logits that predict each token of the answer, all in one pass as in training.
    fn whole(
        network: &mut CpuDecoder,
        input: InputAttention,
        text: &[Token],
        input_len: usize,
    ) -> Vec<Vec<f32>> {
        let mut batch = Batch::default();
        let read = input.push(&mut batch, text, input_len, 0, input_len);
        read.give_places(&mut batch, text);
        assert_eq!(batch.len(), input.n_tokens(text, input_len, 0, input_len));
        let rows: Vec<u32> = (input_len..=text.len()).map(|at| read.row_before(at)).collect();
        let logits = network.logits(&batch, &Want::rows(rows)).unwrap();
        (input_len..=text.len()).map(|at| logits.row(at - input_len).to_vec()).collect()
    }

    fn largest_difference(one: &[Vec<f32>], other: &[Vec<f32>]) -> f32 {
        let pairs = one.iter().flatten().zip(other.iter().flatten());
        pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn what_is_written_token_by_token_was_learned_in_one_pass() {
        let mut config = Preset::Test.shape(mavis_lang::vocabulary().padded_len(), 7);
        config.variant.places = Some(mavis_lang::N_PLACES);
        let mut parameters = initial_parameters(&config).unwrap();
        parameters.iter_mut().for_each(|x| *x *= 4.0);
        let mut network = CpuDecoder::new(config, &parameters, Precision::Exact).unwrap();
        let (text, input_len) = example();
        let mut learned = Vec::new();
        for input in [InputAttention::Causal, InputAttention::Full, InputAttention::Reread] {
            let cache = network.open().unwrap();
            let mut n_read = 0;
            let mut written = Vec::new();
            for at in input_len..=text.len() {
                let text = &text[..at];
                n_read = input.still_read(text, input_len, n_read);
                network.truncate(cache, n_read).unwrap();
                let mut batch = Batch::default();
                let read = input.push(&mut batch, text, input_len, n_read, at);
                read.give_places(&mut batch, text);
                assert_eq!(batch.len(), input.n_tokens(text, input_len, n_read, at));
                let logits =
                    network.extend(&[cache], &batch, &Want::rows(vec![read.row_before(at)])).unwrap();
                written.push(logits.row(0).to_vec());
                n_read = at;
            }
            network.close(cache);
            let whole = whole(&mut network, input, &text, input_len);
            let difference = largest_difference(&whole, &written);
            assert!(difference < 1e-3, "{input}: {difference}");
            learned.push(whole);
        }
        // The second reading changes what follows a state, and nothing before its end.
        let [_, full, reread] = &learned[..] else { panic!() };
        let lines = state_lines(&text, input_len);
        let end = lines[0].end - input_len;
        assert_eq!(lines.len(), 2);
        assert!(largest_difference(&full[..end], &reread[..end]) < 1e-3);
        assert!(largest_difference(&full[end..], &reread[end..]) > 1e-2);
    }

    #[test]
    fn a_draft_that_fails_within_a_state_is_forgotten_with_it() {
        let (text, input_len) = example();
        let line = state_lines(&text, input_len)[0].clone();
        let mut batch = Batch::default();
        let read = InputAttention::Reread.push(&mut batch, &text, input_len, 0, line.start + 1);
        assert_eq!(read.kept(line.start + 5), line.start);
        assert_eq!(read.kept(line.end), line.end);
        assert_eq!(InputAttention::Reread.still_read(&text, input_len, line.start + 5), line.start);
        assert_eq!(
            InputAttention::Reread.still_read(&text[..line.end - 1], input_len, line.start + 5),
            line.start + 5
        );
        assert_eq!(InputAttention::Full.still_read(&text, input_len, line.start + 5), line.start + 5);
    }

    #[test]
    fn settings_name_every_way() {
        #[derive(Deserialize, Serialize)]
        struct Settings {
            full_input: InputAttention,
        }
        for (text, input) in [
            ("full_input = false\n", InputAttention::Causal),
            ("full_input = true\n", InputAttention::Full),
            ("full_input = \"reread\"\n", InputAttention::Reread),
        ] {
            let settings: Settings = toml::from_str(text).unwrap();
            assert_eq!(settings.full_input, input);
            assert_eq!(toml::to_string(&settings).unwrap(), text);
            assert_eq!(input.to_string().parse(), Ok(input));
        }
        assert!(toml::from_str::<Settings>("full_input = \"twice\"").is_err());
    }
}
