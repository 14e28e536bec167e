//! The model in OpenAI's form.

use super::support::{Server, get, model, post};
use mavis_game::{Position, Rules};
use mavis_lang::{Commands, Request};
use mavis_model::decode::{GreedySettings, MavDecoder};
use mavis_net::Precision;
use serde_json::{Value, json};

fn question() -> Request {
    Request::at(Position::start(Rules::Connect4), Commands::top_all(Rules::Connect4))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_an_answer_of_the_language_with_log_probabilities() {
    let server = Server::new();
    let (_, models) = server.send(get("/v1/models")).await;
    assert!(models.contains("\"id\":\"mavis\""));
    let body = json!({ "model": "mavis", "prompt": question().prompt_text(), "max_tokens": 64, "temperature": 0, "logprobs": 5 });
    let completion = server.post("/v1/completions", body.clone()).await;
    let choice = &completion["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    let text = choice["text"].as_str().unwrap();
    // The likeliest words of the model, opening and mistakes included: a completion knows no grammar.
    let mut decoder = MavDecoder::cpu(&model().unwrap(), Precision::default()).unwrap();
    let settings = GreedySettings { repeats: true, ..GreedySettings::default() };
    let greedy = decoder.greedy(&[question()], &settings).unwrap().remove(0);
    assert_eq!(text, greedy.text());
    assert!(text.starts_with("[%top_all "), "{text}");
    let logprobs = &choice["logprobs"];
    let n = completion["usage"]["completion_tokens"].as_u64().unwrap() as usize;
    for list in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        assert_eq!(logprobs[list].as_array().unwrap().len(), n, "{list}");
    }
    let joined: String =
        logprobs["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!(joined, text);
    // Temperature 0 takes the likeliest token, which is the first of the list.
    let best = logprobs["top_logprobs"][2].as_object().unwrap().values().map(|log| log.as_f64().unwrap());
    let best = best.fold(f64::NEG_INFINITY, f64::max);
    assert!((best - logprobs["token_logprobs"][2].as_f64().unwrap()).abs() < 1e-6);

    let mut streamed = body;
    streamed["stream"] = json!(true);
    let (_, events) = server.send(post("/v1/completions", &streamed.to_string())).await;
    let data: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data.last(), Some(&"[DONE]"));
    let pieces = data[..data.len() - 1].iter().map(|data| serde_json::from_str::<Value>(data).unwrap());
    let whole: String =
        pieces.map(|piece| piece["choices"][0]["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(whole, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_come_as_tokens_in_lists_with_stops_and_seeds() {
    let server = Server::new();
    let prompt: Vec<u16> = question().prompt();
    let body = json!({ "prompt": [prompt, prompt], "max_tokens": 40, "temperature": 0, "stop": ["]\n"] });
    let completion = server.post("/v1/completions", body).await;
    let texts: Vec<&str> = completion["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| choice["text"].as_str().unwrap())
        .collect();
    assert!(texts.len() == 2 && texts[0] == texts[1] && !texts[0].contains(']'), "{texts:?}");
    let warm = json!({ "prompt": question().prompt_text(), "max_tokens": 30, "temperature": 2.0, "seed": 7 });
    let draw = async || server.post("/v1/completions", warm.clone()).await["choices"][0]["text"].clone();
    assert_eq!(draw().await, draw().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_completed_is_refused() {
    let server = Server::new();
    for (body, expected) in [
        (json!({ "prompt": "no word of ours ~" }), "no token of the vocabulary begins"),
        (json!({ "prompt": "" }), "empty"),
        (json!({ "prompt": [] }), "prompts"),
        (json!({ "prompt": [[60000]] }), "60000 is not a token"),
        (json!({ "prompt": [1, 999999] }), "999999 is not a token"),
        (json!({ "prompt": [-1] }), "-1 is not a token"),
        (json!({ "prompt": 7 }), "expected a text, a list of texts, token ids or lists of token ids"),
        (json!({ "prompt": "[%state", "max_tokens": 0 }), "max_tokens"),
        (json!({ "prompt": "[%state", "logprobs": 65 }), "logprobs"),
        (json!({ "prompt": "[%state", "temperature": -1 }), "temperature"),
        (json!({ "prompt": "[%state", "model": "gpt" }), "the only model is 'mavis'"),
        (json!({ "prompt": "[%state", "n": 2 }), "only 1"),
    ] {
        let message = server.refuse("/v1/completions", &body.to_string(), 400).await;
        assert!(message.contains(expected), "{body}: {message}");
    }
}
