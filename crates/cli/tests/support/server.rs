//! `mavis serve` as a program.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// A server on a free port of loopback. It ends with the test, whatever becomes of it.
pub(crate) struct Server {
    /// The process.
    pub(crate) child: Child,
    /// Host and port.
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at("0", arguments)
    }

    /// A server on a port, such as that of one that was killed.
    pub(crate) fn start_at(port: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mavis"));
        command.args(["serve", "--port", port]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("Mavis is at http://").expect("an address");
        let address = address.trim_end_matches('/').to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
