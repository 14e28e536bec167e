//! The vocabulary for other programs.

use crate::vocab::{END, PAD, Token, UNK, VERSION, vocabulary};
use serde_json::{Map, Value, json};

/// A `tokenizer.json` that the Python packages `tokenizers` and `transformers` load.
///
/// A pre-tokenizer splits by one regular expression, the vocabulary as a prefix tree, so that its longest match is
/// ours; the model then looks whole words up. Tokens carry their spacing, so decoding joins them without a space.
#[must_use]
pub fn tokenizer_json() -> String {
    let vocabulary = vocabulary();
    let words: Map<String, Value> = vocabulary
        .strings()
        .zip(0..)
        .map(|(string, id): (_, Token)| (string.to_owned(), json!(id)))
        .collect();
    let special = |id: Token| {
        json!({
            "id": id, "content": vocabulary.string(id), "special": true, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false,
        })
    };
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [special(PAD), special(UNK), special(END)],
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Split", "pattern": { "Regex": vocabulary.pattern() }, "behavior": "Isolated", "invert": false,
        },
        "post_processor": null,
        "decoder": { "type": "Fuse" },
        "model": { "type": "WordLevel", "vocab": words, "unk_token": vocabulary.string(UNK) },
    });
    pretty(&tokenizer)
}

/// The `tokenizer_config.json` that `transformers` wants beside it; our version number stands here.
#[must_use]
pub fn tokenizer_config_json() -> String {
    let name = |id: Token| vocabulary().string(id);
    let config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": false,
        "pad_token": name(PAD),
        "unk_token": name(UNK),
        "eos_token": name(END),
        "mavis_vocabulary_version": VERSION,
    });
    pretty(&config)
}

/// Every token's string by id, under the version number: the form in which the repository pins the ids.
#[must_use]
pub fn vocabulary_json() -> String {
    let tokens: Vec<&str> = vocabulary().strings().collect();
    // In the order of their names, so that the file is the same whichever order the JSON library keeps.
    pretty(&json!({ "tokens": tokens, "version": VERSION }))
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plain values always print");
    text.push('\n');
    text
}
