//! Questions in the language out, meaning in.

use super::{
    evaluator::{Asking, PromptForm, RemoteSettings},
    servers::Servers,
    wire::{Choice, CompletionRequest, Prompt},
};
use mavis_eval::{EndOrMoves, EvalError, Evaluation, MoveValue, Reply, Request, Value, WorldModel};
use mavis_game::{Game as _, Move, Position};
use mavis_lang::{
    Answer, Commands, Listing, Request as Question, Token, moves, parse_answer,
    state::state_len,
    value::bucket_of,
    vocab::{self, LINE_END},
    vocabulary,
};
use mavis_model::evaluator::eval_error;
use mavis_value::{Bucket, Distribution, Mistake};
use std::sync::Arc;

/// What ends every line of an answer.
const END_OF_LINE: &str = "]\n";
/// More moves than any game has at once.
const MOST_MOVES: usize = 362;

/// Asks the servers and reads their answers.
pub(super) struct Asker {
    pub(super) servers: Servers,
    pub(super) settings: RemoteSettings,
}

/// One line that a model wrote.
struct Line {
    /// Its tokens, the end of the line included.
    tokens: Vec<Token>,
    /// Its values with their distributions, where the server gave them.
    values: Vec<(Bucket, Option<Distribution>)>,
}

impl Asker {
    pub(super) async fn answer(&self, request: &Request) -> Reply {
        match self.settings.world {
            WorldModel::Rules => {
                let illegal = || {
                    let reason = "the move cannot be played in the parent state";
                    EvalError::hallucination(Mistake::IllegalMove, reason)
                };
                let state = request.by_rules().ok_or_else(illegal)?;
                if let Some(outcome) = request.end(&state) {
                    return Ok(Evaluation { state, content: EndOrMoves::Ended(outcome) });
                }
                let answer = match self.settings.question {
                    Asking::Moves => self.values(&state, &request.legal(&state)).await?,
                    Asking::List => self.list(&state, request.legal(&state).len()).await?,
                };
                match answer {
                    content @ EndOrMoves::Moves(_) => Ok(Evaluation { state, content }),
                    EndOrMoves::Ended(_) => {
                        Err(EvalError::hallucination(Mistake::WrongEnd, format!("{state} is not over")))
                    }
                }
            }
            WorldModel::Model => {
                let state = match request {
                    Request::State { position, .. } => position.clone(),
                    Request::Child { parent, mv } => Arc::new(self.track(parent, *mv).await?),
                };
                let content = self.list(&state, MOST_MOVES).await?;
                Ok(Evaluation { state, content })
            }
        }
    }

    /// The model's choice among listed moves.
    pub(super) async fn best_action(
        &self,
        state: &Position,
        listed: &[MoveValue],
    ) -> Result<Option<Move>, EvalError> {
        if listed.len() < 2 {
            return Ok(listed.first().map(|entry| entry.mv));
        }
        let commands = Commands::top_all_best(state.rules());
        let mut prompt = Question::at(state.clone(), commands).prompt();
        let list = listed.iter().map(|entry| (entry.mv, entry.value.bucket())).collect();
        Answer { listing: Some(Listing::Moves(list)), ..Answer::default() }.write(&commands, &mut prompt);
        prompt.push(vocab::BEST_ACTION);
        let line = self.write(prompt, 2).await?;
        let chosen = line.tokens.first().and_then(|&token| moves::move_of(state.rules(), token));
        Ok(chosen.filter(|mv| listed.iter().any(|entry| entry.mv == *mv)))
    }

    /// The legal moves of a state with their values, each asked for by itself; one without a value is left out.
    async fn values(&self, state: &Position, legal: &[Move]) -> Result<EndOrMoves, EvalError> {
        let question = Question::at(state.clone(), Commands::top_all(state.rules()));
        let mut opening = question.prompt();
        opening.extend(question.opening());
        let prompts = legal.iter().map(|&mv| {
            let token = moves::token_of(state.rules(), mv).unwrap_or(vocab::UNK);
            opening.iter().copied().chain([token]).collect()
        });
        let choices = self.complete(prompts.collect(), 1, None).await?;
        let entries: Vec<MoveValue> = legal
            .iter()
            .zip(&choices)
            .filter_map(|(&mv, choice)| Some(MoveValue { mv, value: only_value(choice)? }))
            .collect();
        if entries.is_empty() {
            let wrote = choices.first().map_or("", |choice| choice.text.as_str());
            let reason = format!("'{wrote}' where a value is expected");
            return Err(EvalError::hallucination(Mistake::Malformed, reason));
        }
        Ok(EndOrMoves::Moves(entries))
    }

    /// The moves of a state with their values, or its end.
    async fn list(&self, state: &Position, n_moves: usize) -> Result<EndOrMoves, EvalError> {
        let question = Question::at(state.clone(), Commands::top_all(state.rules()));
        let (answer, values) = self.ask(&question, 2 * n_moves + 2).await?;
        match answer.listing {
            Some(Listing::Over(outcome)) => Ok(EndOrMoves::Ended(outcome)),
            Some(Listing::Moves(listed)) => {
                // Distributions count only if they are those of the very values that were read.
                let told =
                    values.iter().map(|(bucket, _)| bucket).eq(listed.iter().map(|(_, bucket)| bucket));
                let mut distributions = values.into_iter().map(|(_, distribution)| distribution);
                let entries = listed.into_iter().map(|(mv, bucket)| {
                    let distribution = distributions.next().flatten().filter(|_| told);
                    let certain = || Value::certain(bucket.win_probability());
                    MoveValue { mv, value: distribution.map_or_else(certain, Value::from) }
                });
                Ok(EndOrMoves::Moves(entries.collect()))
            }
            None => Err(EvalError::hallucination(Mistake::Malformed, "no list in the answer")),
        }
    }

    /// The state after a move, in the model's own words.
    async fn track(&self, parent: &Position, mv: Move) -> Result<Position, EvalError> {
        let rules = parent.rules();
        if moves::token_of(rules, mv).is_none() {
            let reason = format!("{mv:?} is not a move of this game");
            return Err(EvalError::hallucination(Mistake::IllegalMove, reason));
        }
        let commands = Commands { top: None, best: false, ..Commands::tracking(rules) };
        let question = Question::after(parent.clone(), mv, commands);
        let (answer, _) = self.ask(&question, state_len(rules) + 2).await?;
        let lost = || EvalError::hallucination(Mistake::WrongState, "no state in the answer");
        answer.tracked.ok_or_else(lost)
    }

    /// Asks a question whose answer is one line.
    async fn ask(
        &self,
        question: &Question,
        n_tokens: usize,
    ) -> Result<(Answer, Vec<(Bucket, Option<Distribution>)>), EvalError> {
        let opening = question.opening();
        let mut prompt = question.prompt();
        prompt.extend(&opening);
        let line = self.write(prompt, n_tokens).await?;
        let tokens: Vec<Token> = opening.into_iter().chain(line.tokens).collect();
        Ok((parse_answer(question, &tokens).map_err(eval_error)?, line.values))
    }

    /// Has a line written to its end.
    async fn write(&self, prompt: Vec<Token>, n_tokens: usize) -> Result<Line, EvalError> {
        let malformed = |reason: String| EvalError::hallucination(Mistake::Malformed, reason);
        let choices = self.complete(vec![prompt], n_tokens, Some([END_OF_LINE])).await?;
        let Some(Choice { text, finish_reason, logprobs, .. }) = choices.into_iter().next() else {
            return Err(EvalError::Failed("a completion without a choice".to_owned()));
        };
        // Most servers leave the end of the line out, some keep it, some write on.
        let text = match text.split_once(END_OF_LINE) {
            Some((line, _)) => line,
            None if finish_reason.as_deref() == Some("length") => {
                return Err(malformed("the line has no end".to_owned()));
            }
            None => &text,
        };
        let mut tokens = vocabulary().encode(text).map_err(|error| malformed(error.to_string()))?;
        tokens.push(LINE_END);
        Ok(Line { tokens, values: logprobs.map(|logprobs| logprobs.values()).unwrap_or_default() })
    }

    /// Has prompts completed, all in one request.
    async fn complete(
        &self,
        mut prompts: Vec<Vec<Token>>,
        n_tokens: usize,
        stop: Option<[&'static str; 1]>,
    ) -> Result<Vec<Choice>, EvalError> {
        let n_prompts = prompts.len();
        let single = n_prompts == 1;
        let prompt = match self.settings.prompt {
            PromptForm::Tokens if single => Prompt::Tokens(prompts.pop().unwrap_or_default()),
            PromptForm::Tokens => Prompt::TokenLists(prompts),
            PromptForm::Text => {
                let texts = prompts.iter().map(|prompt| vocabulary().decode(prompt));
                let texts: Result<Vec<String>, _> = texts.collect();
                let mut texts = texts.map_err(|error| EvalError::Failed(error.to_string()))?;
                if single { Prompt::Text(texts.pop().unwrap_or_default()) } else { Prompt::Texts(texts) }
            }
        };
        let request = CompletionRequest {
            model: self.settings.model.clone(),
            prompt,
            max_tokens: if self.settings.max_tokens > 0 { self.settings.max_tokens } else { n_tokens },
            temperature: 0.0,
            logprobs: Some(self.settings.logprobs).filter(|&n| n > 0),
            stop,
        };
        let choices = self.servers.complete(&request).await?.choices();
        if choices.len() != n_prompts {
            let reason = format!("{} completions of {n_prompts} prompts", choices.len());
            return Err(EvalError::Failed(reason));
        }
        Ok(choices)
    }
}

/// The value that an answer to a single move begins with.
fn only_value(choice: &Choice) -> Option<Value> {
    let told = choice.logprobs.as_ref().and_then(|logprobs| logprobs.values().into_iter().next());
    if let Some((_, Some(distribution))) = told {
        return Some(distribution.into());
    }
    let tokens = vocabulary().encode(choice.text.lines().next()?).ok()?;
    let bucket = tokens.first().copied().and_then(bucket_of)?;
    Some(Value::certain(bucket.win_probability()))
}
