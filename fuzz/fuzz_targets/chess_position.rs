//! Position text of chess.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mavis_fuzz::property;
use mavis_game::Rules;

fuzz_target!(|text: &str| property::position(Rules::Chess, text));
