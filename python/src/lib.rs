//! The compiled half of the Python package `mavis`: thin wrappers over the public API of the crates.
//!
//! What needs no speed (dataclasses, SVG, adapters) is Python, in `mavis/`; this module holds positions, models, searches,
//! players, oracles and the language. Results that Python keeps as objects cross the border as JSON text, arrays as bytes which
//! NumPy reads without a copy. Work that takes time runs without the interpreter's lock and looks for Ctrl-C (`interrupt`).
//! Threads do not survive `fork`, so what owns threads is recreated in a child process (`process`).

mod arrays;
mod callable;
mod data;
mod interrupt;
mod lang;
mod league;
mod metrics;
mod model;
mod oracle;
mod own;
mod player;
mod position;
mod probs;
mod process;
mod search;
mod source;

use pyo3::{exceptions::PyValueError, prelude::*};

/// An error of the user's input, with the message that the command line gives.
fn bad_input(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error with its causes as one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

#[pymodule]
mod _mavis {
    #[pymodule_export]
    use super::{
        data::ExampleStream,
        lang::{
            check, decode, encode, example, parse, prompt, tokenizer_config_json, tokenizer_json, vocabulary,
        },
        league::{league, rate},
        metrics::{bucket, bucket_value, calibration, elo, kendall_tau, win_probability},
        model::Model,
        oracle::{Oracle, solve},
        player::{Player, players},
        position::Position,
        probs::train_probs,
        search::{Search, Stream, search_options},
        source::{Free, Scripted},
    };
}
