//! The `mavis` binary: arguments in, answers on stdout, everything else on stderr.
//!
//! Only this crate reads arguments, settings and the environment. Parsing does nothing else; each command then checks
//! its input and acts. Bad input ends with one line on stderr and exit code 2, any other failure with code 1.

#![cfg_attr(not(test), deny(clippy::panic, clippy::unwrap_used, clippy::expect_used))]

mod annotated;
mod arguments;
mod commands;
mod input;
mod positions;
mod progress;
mod registry;
mod stop;
mod terminal;
mod tunables;

use arguments::Arguments;
use mavis_bundled as bundled;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    keep_contained_panics_quiet();
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let result = match arguments.command {
        Some(command) => command.run(),
        None => commands::main_job(),
    };
    let code = exit_code(result);
    // What cannot be written now is lost either way.
    let _ = (std::io::stdout().flush(), std::io::stderr().flush());
    mavis_net::exit_after_cuda(code);
    ExitCode::from(code)
}

/// The Parquet library panics on some damaged files. That becomes an error of one line, and the message of the panic would stand
/// above it.
fn keep_contained_panics_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mavis_data::table::panics_are_errors() {
            usual(panic);
        }
    }));
}

/// Says why a command failed; 2 is for bad input, 1 for other failures.
fn exit_code(result: anyhow::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            // A closed pipe (`mavis ... | head`) is the reader's choice, not a failure.
            if error.chain().any(|cause| {
                cause
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            }) {
                return 0;
            }
            #[expect(clippy::print_stderr, reason = "the one place where a failed command speaks")]
            {
                eprintln!("mavis: {}", input::one_line(&error));
            }
            if error.is::<input::BadInput>() { 2 } else { 1 }
        }
    }
}
