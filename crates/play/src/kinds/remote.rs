//! Kinds of player over models on servers.

use super::{
    model::{greedy_keys, greedy_settings},
    search_keys, search_name, search_settings,
};
use crate::{
    BuildError, GreedyPlayer, Key, Kind, Options, Registry, SearchPlayer, SharedEvaluators,
    remote::{Asking, PromptForm, Remote, RemoteSettings, ServerSettings},
};
use mavis_eval::WorldModel;
use mavis_eval::{Cache, Evaluator};
use std::{sync::Arc, time::Duration};

/// Evaluations of a model that are remembered; one takes some ten kilobytes.
const REMEMBERED: usize = 20_000;

/// Adds `openai` and `openai-mcts`. Players of one server share connections and answers. `key` is sent to servers as a
/// bearer token.
pub fn add_servers(registry: &mut Registry, key: Option<String>) {
    let shared = SharedEvaluators::default();
    let server_keys = || {
        vec![
            Key::new(
                "argument",
                "http://HOST:PORT or https://HOST of a server, or several in braces with commas between them",
            ),
            Key::new("model", "the model's name on the server (default: the server's choice)"),
            Key::new("patience", "timeout of an answer in milliseconds (default 30000)"),
            Key::new(
                "retries",
                "how often a failed request is tried again, beyond one try for each server (default 3)",
            ),
            Key::new(
                "ca",
                "a PEM file of authorities that https servers may be signed by, besides the system's",
            ),
            Key::new("logprobs", "log-probabilities to request at each token, 0 for none (default 20)"),
            Key::new("prompt", "text, or token ids of the MAV vocabulary (default text)"),
            Key::new("ask", "moves: a value for each legal move; list: all in one answer (default moves)"),
            Key::new("max_tokens", "most tokens of an answer (default: what it needs in the MAV vocabulary)"),
        ]
    };
    let mut keys = server_keys();
    keys.extend(greedy_keys());
    let (evaluators, token) = (shared.clone(), key.clone());
    registry.add(Kind {
        name: "openai",
        help: "a MAV model on an OpenAI-compatible completion server, without search",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let settings = greedy_settings(options)?;
            let (name, evaluator) = evaluator(options, &evaluators, &token, WorldModel::Rules)?;
            Ok(Box::new(GreedyPlayer::new(name, evaluator, settings, seed)))
        }),
    });
    let mut keys = server_keys();
    keys.extend(search_keys());
    registry.add(Kind {
        name: "openai-mcts",
        help: "MCTS over the values of a MAV model on a completion server",
        keys,
        open: false,
        build: Box::new(move |options, seed| {
            let (settings, fixed) = search_settings(options, seed)?;
            let (name, evaluator) = evaluator(options, &shared, &key, settings.world)?;
            let name = search_name(&name, &settings, seed);
            Ok(Box::new(SearchPlayer::new(name, evaluator, settings, fixed)))
        }),
    });
}

/// The evaluator and the name of its players.
fn evaluator(
    options: &mut Options<'_>,
    shared: &SharedEvaluators,
    key: &Option<String>,
    world: WorldModel,
) -> Result<(String, Arc<dyn Evaluator>), BuildError> {
    let kind = options.kind().to_owned();
    let addresses = options.argument::<String>()?.unwrap_or_default();
    let addresses: Vec<&str> = addresses.split([',', ';', ' ']).filter(|part| !part.is_empty()).collect();
    let mut servers = ServerSettings::at(&addresses);
    servers.key.clone_from(key);
    servers.patience = options.value("patience")?.map_or(servers.patience, Duration::from_millis);
    servers.retries = options.value("retries")?.unwrap_or(servers.retries);
    servers.ca = options.value("ca")?;
    let mut settings = RemoteSettings { world, ..RemoteSettings::new(servers) };
    settings.model = options.value("model")?;
    settings.logprobs = options.value("logprobs")?.unwrap_or(settings.logprobs);
    settings.prompt = options.value::<PromptForm>("prompt")?.unwrap_or_default();
    settings.question = options.value::<Asking>("ask")?.unwrap_or_default();
    settings.max_tokens = options.value("max_tokens")?.unwrap_or(settings.max_tokens);
    let name = settings.model.as_ref().map_or_else(|| kind.clone(), |model| format!("{kind} {model}"));
    let load = || -> Result<Arc<dyn Evaluator>, String> {
        let remote = Remote::new(settings.clone()).map_err(|error| error.to_string())?;
        Ok(Arc::new(Cache::new(remote, REMEMBERED)))
    };
    let evaluator = shared
        .find_or_load(&format!("{settings:?}"), load)
        .map_err(|reason| BuildError::Unavailable { player: kind, reason })?;
    Ok((name, evaluator))
}
