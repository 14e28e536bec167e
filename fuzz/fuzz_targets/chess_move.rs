//! Move text of chess, after moves that the input chooses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mavis_fuzz::property;
use mavis_game::Rules;

fuzz_target!(|input: (&str, &[u8])| property::mv(Rules::Chess, input.1, input.0));
