//! Builds the Connect Four opening book, or resumes building it: `connect4_book FILE [MEBIBYTES]`.

use mavis_oracle::connect4::build_book;
use std::path::PathBuf;

#[allow(clippy::print_stderr, reason = "a command-line example reports its progress")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: connect4_book FILE [MEBIBYTES]")?);
    let mebibytes: usize = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let book = build_book(&path, mebibytes << 20, |step| {
        eprintln!("{}/{}  {}  {} nodes", step.n_done, step.n_total, step.line, step.n_nodes);
    })?;
    eprintln!("{} positions", book.len());
    Ok(())
}
