//! A remote model behind the trait that every search uses.

use super::{
    answer::Asker,
    servers::{RemoteError, ServerSettings, Servers},
};
use mavis_eval::{BestAction, EvalError, Evaluator, MoveValue, Replies, Request, WorldModel};
use mavis_game::Position;
use std::{str::FromStr, sync::Arc};
use tokio::task::JoinSet;

/// How a remote model is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteSettings {
    /// Where it is served.
    pub servers: ServerSettings,
    /// Its name there; `None` leaves the choice to the server.
    pub model: Option<String>,
    /// Where states, legal moves and ends come from.
    pub world: WorldModel,
    /// How prompts are written.
    pub prompt: PromptForm,
    /// What is asked of a position by the rules.
    pub question: Asking,
    /// Log-probabilities asked for at each token, from which distributions of values come; 0 asks for none.
    pub logprobs: u32,
    /// Tokens an answer may have; 0 means what it needs in our vocabulary.
    pub max_tokens: usize,
}

impl RemoteSettings {
    /// Servers with the settings that suit most of them; vLLM gives 20 log-probabilities by default.
    #[must_use]
    pub fn new(servers: ServerSettings) -> Self {
        Self {
            servers,
            model: None,
            world: WorldModel::Rules,
            prompt: PromptForm::Text,
            question: Asking::Moves,
            logprobs: 20,
            max_tokens: 0,
        }
    }
}

/// How prompts are written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PromptForm {
    /// `text`: for any tokenizer.
    #[default]
    Text,
    /// `tokens`: ids of our vocabulary, for a server of an exported model without its tokenizer.
    Tokens,
}

impl FromStr for PromptForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "tokens" => Ok(Self::Tokens),
            other => Err(format!("a prompt is text or tokens, not '{other}'")),
        }
    }
}

/// What is asked of a position whose legal moves are known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Asking {
    /// `moves`: the value of each legal move, all in one request with a prompt for each, one token an answer. Moves do not
    /// see each other, which is how our models are trained.
    #[default]
    Moves,
    /// `list`: the whole list in one answer, written token by token.
    List,
}

impl FromStr for Asking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "moves" => Ok(Self::Moves),
            "list" => Ok(Self::List),
            other => Err(format!("`ask` must be `moves` or `list`, not '{other}'")),
        }
    }
}

/// A model on one server or several; clones share connections.
///
/// Its futures must be polled inside a tokio runtime.
#[derive(Clone)]
pub struct Remote {
    asker: Arc<Asker>,
    description: Arc<str>,
}

impl Remote {
    /// A remote model. Nothing is asked yet, so servers may come up later.
    ///
    /// # Errors
    /// When an address is none.
    pub fn new(settings: RemoteSettings) -> Result<Self, RemoteError> {
        let servers = Servers::new(settings.servers.clone())?;
        let name = settings.model.as_deref().unwrap_or("model");
        let description = format!("{name} at {}", settings.servers.addresses.join(" and ")).into();
        Ok(Self { asker: Arc::new(Asker { servers, settings }), description })
    }
}

impl Evaluator for Remote {
    fn evaluate(&self, mut requests: Vec<Request>) -> Replies {
        let asker = self.asker.clone();
        if requests.len() == 1
            && let Some(request) = requests.pop()
        {
            return Box::pin(async move { vec![asker.answer(&request).await] });
        }
        Box::pin(async move {
            let failed = || Err(EvalError::Failed("the request was cancelled".to_owned()));
            let mut replies: Vec<_> = requests.iter().map(|_| failed()).collect();
            // Dropping the set drops what is under way.
            let mut under_way = JoinSet::new();
            for (number, request) in requests.into_iter().enumerate() {
                let asker = asker.clone();
                under_way.spawn(async move { (number, asker.answer(&request).await) });
            }
            while let Some(done) = under_way.join_next().await {
                if let Ok((number, reply)) = done
                    && let Some(place) = replies.get_mut(number)
                {
                    *place = reply;
                }
            }
            replies
        })
    }

    fn best_action(&self, state: Arc<Position>, listed: Vec<MoveValue>) -> BestAction {
        let asker = self.asker.clone();
        Box::pin(async move { asker.best_action(&state, &listed).await })
    }

    fn describe(&self) -> String {
        self.description.to_string()
    }
}
