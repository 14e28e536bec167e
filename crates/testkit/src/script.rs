//! Programs that tests write.

use std::path::Path;
use std::process::Command;

/// Makes `program` a shell script with these lines.
///
/// A child writes it: a file that this process has open for writing is also open in every child that another test starts at that moment,
/// and until that child runs its own program the file cannot be started ("Text file busy").
///
/// # Panics
/// When it cannot be written.
pub fn install_script(program: &Path, lines: &str) {
    let write =
        "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2.new\" && chmod +x \"$2.new\" && mv \"$2.new\" \"$2\"";
    let status = Command::new("/bin/sh").args(["-c", write, "sh", lines]).arg(program).status();
    assert!(status.expect("a shell").success(), "cannot write {}", program.display());
}
