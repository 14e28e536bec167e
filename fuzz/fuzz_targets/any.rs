//! The target that the environment names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mavis_fuzz::Target;
use std::sync::OnceLock;

fn chosen() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("TARGET").unwrap_or_default();
        let known = || mavis_fuzz::TARGETS.map(|target| target.name).join(" ");
        mavis_fuzz::target(&name).unwrap_or_else(|| panic!("set TARGET to one of: {}", known()))
    })
}

fuzz_target!(|input: &[u8]| (chosen().run)(input));
