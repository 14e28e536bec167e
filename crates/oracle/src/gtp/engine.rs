//! A running GTP engine: commands out, responses in.

use super::{GtpCommand, Response};
use crate::process::{ChildProcess, EngineError, Patience};
use mavis_stable::time::after;
use std::path::Path;
use std::time::{Duration, Instant};

/// A child process that speaks GTP. Dropping it kills it.
#[derive(Debug)]
pub struct GtpEngine {
    process: ChildProcess,
    patience: Patience,
    /// Whether it has answered a command; the first answer may take longer.
    started: bool,
    /// Lines of a response that has not ended yet.
    begun: String,
}

impl GtpEngine {
    /// Starts a program and sends it `preparation`, one command a line.
    ///
    /// # Errors
    /// When it cannot be started, or refuses a line.
    pub fn start(
        program: &Path,
        arguments: &[String],
        preparation: &[String],
        patience: Patience,
    ) -> Result<Self, EngineError> {
        let process = ChildProcess::start(program, arguments)?;
        let mut engine = Self { process, patience, started: false, begun: String::new() };
        for command in preparation.iter().filter_map(|line| GtpCommand::parse(line)) {
            engine.ask(&command)?;
        }
        Ok(engine)
    }

    /// The process id, which is also the id of its group.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// How long an answer may take.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience.answer
    }

    /// Sends a command and gives the text of its response.
    ///
    /// # Errors
    /// When the engine refuses the command, answers nonsense, is late or gone.
    pub fn ask(&mut self, command: &GtpCommand) -> Result<String, EngineError> {
        self.send(command)?;
        let patience = if self.started { self.patience.answer } else { self.patience.startup };
        let response = self.receive(after(patience))?;
        self.started = true;
        match response {
            Some(Response { result: Ok(text), .. }) => Ok(text),
            Some(Response { result: Err(reason), .. }) => Err(EngineError::Nonsense {
                expected: "a response that begins with =",
                got: format!("{command}: {reason}"),
            }),
            None => Err(EngineError::Late { expected: "response", after: patience }),
        }
    }

    /// Whether the engine says that it knows a command.
    pub fn knows(&mut self, command: &str) -> bool {
        self.ask(&GtpCommand::new("known_command", &[command])).is_ok_and(|answer| answer == "true")
    }

    /// Sends a command without waiting.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn send(&mut self, command: &GtpCommand) -> Result<(), EngineError> {
        self.process.send(&format!("{command}\n"))
    }

    /// The next response, which ends with an empty line; `None` if it is not complete by the deadline.
    ///
    /// # Errors
    /// When the engine is gone or talks nonsense.
    pub fn receive(&mut self, deadline: Instant) -> Result<Option<Response>, EngineError> {
        while let Some(line) = self.process.line(deadline)? {
            match (line.trim().is_empty(), self.begun.is_empty()) {
                (true, true) => {}
                (true, false) => {
                    let text = std::mem::take(&mut self.begun);
                    return match Response::parse(&text) {
                        Some(response) => Ok(Some(response)),
                        None => Err(EngineError::Nonsense {
                            expected: "a response that begins with = or ?",
                            got: text,
                        }),
                    };
                }
                (false, _) => {
                    self.begun.push_str(&line);
                    self.begun.push('\n');
                }
            }
        }
        Ok(None)
    }
}
