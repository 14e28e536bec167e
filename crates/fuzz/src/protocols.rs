//! Lines of GUIs, controllers and engines.

use mavis_oracle::gtp::{GtpCommand, Response};
use mavis_oracle::uci::{Command, EngineMessage};

/// Each line as a command of a GUI and as an answer of an engine.
pub(crate) fn uci(input: &[u8]) {
    for line in String::from_utf8_lossy(input).lines() {
        let command = Command::parse(line);
        let printed = command.to_string();
        assert_eq!(Command::parse(&printed).to_string(), printed, "{line:?}");
        let answer = EngineMessage::parse(line);
        let printed = answer.to_string();
        assert_eq!(EngineMessage::parse(&printed).to_string(), printed, "{line:?}");
    }
}

/// Each line as a command, and the whole as a response.
pub(crate) fn gtp(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for command in text.lines().filter_map(GtpCommand::parse) {
        assert_eq!(GtpCommand::parse(&command.to_string()).as_ref(), Some(&command), "{text:?}");
    }
    if let Some(response) = Response::parse(&text) {
        let printed = response.to_string();
        assert_eq!(Response::parse(&printed).map(|again| again.to_string()), Some(printed), "{text:?}");
    }
}
