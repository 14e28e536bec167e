//! Move text of Chess960, after moves that the input chooses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mavis_fuzz::property;
use mavis_game::Rules;

fuzz_target!(|input: (&str, &[u8])| property::mv(Rules::Chess960, input.1, input.0));
