//! Names of games with parameters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mavis_fuzz::property;

fuzz_target!(|text: &str| property::rules(text));
