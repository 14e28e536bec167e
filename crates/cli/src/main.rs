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
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let result = match arguments.command {
        Some(command) => command.run(),
        None => commands::main_job(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed pipe (`mavis ... | head`) is the reader's choice, not a failure.
            if error.chain().any(|cause| {
                cause
                    .downcast_ref::<std::io::Error>()
                    .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
            }) {
                return ExitCode::SUCCESS;
            }
            #[expect(clippy::print_stderr, reason = "the one place where a failed command speaks")]
            {
                eprintln!("mavis: {}", input::one_line(&error));
            }
            if error.is::<input::BadInput>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}
