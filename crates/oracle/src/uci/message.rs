//! What an engine says to a GUI.

use super::{Info, UciOption};
use std::fmt;

/// A line from the engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineMessage {
    /// `id name NAME`
    Name(String),
    /// `id author AUTHOR`
    Author(String),
    /// `uciok`
    UciOk,
    /// `readyok`
    ReadyOk,
    /// `option ...`
    Option(UciOption),
    /// `info ...`
    Info(Box<Info>),
    /// `bestmove MOVE [ponder MOVE]`
    BestMove {
        /// The move; `None` when there is none to play.
        best: Option<String>,
        /// The reply to think about.
        ponder: Option<String>,
    },
    /// Anything else: banners, diagnostics, empty lines.
    Other(String),
}

impl EngineMessage {
    /// Reads a line.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let other = || Self::Other(line.to_owned());
        match word {
            "id" => match rest.split_once(char::is_whitespace) {
                Some(("name", name)) => Self::Name(name.trim().to_owned()),
                Some(("author", author)) => Self::Author(author.trim().to_owned()),
                _ => other(),
            },
            "uciok" => Self::UciOk,
            "readyok" => Self::ReadyOk,
            "option" => UciOption::parse(rest).map_or_else(other, Self::Option),
            "info" => Self::Info(Box::new(Info::parse(rest))),
            "bestmove" => {
                let mut words = rest.split_whitespace();
                let Some(best) = words.next() else { return other() };
                let ponder = (words.next() == Some("ponder")).then(|| words.next()).flatten();
                let best = (!matches!(best, "(none)" | "0000")).then(|| best.to_owned());
                Self::BestMove { best, ponder: ponder.map(str::to_owned) }
            }
            _ => other(),
        }
    }
}

impl fmt::Display for EngineMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "id name {name}"),
            Self::Author(author) => write!(f, "id author {author}"),
            Self::UciOk => f.write_str("uciok"),
            Self::ReadyOk => f.write_str("readyok"),
            Self::Option(option) => write!(f, "option {option}"),
            Self::Info(info) => write!(f, "info{info}"),
            Self::BestMove { best, ponder } => {
                write!(f, "bestmove {}", best.as_deref().unwrap_or("(none)"))?;
                match ponder {
                    Some(ponder) => write!(f, " ponder {ponder}"),
                    None => Ok(()),
                }
            }
            Self::Other(line) => f.write_str(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bound, OptionKind, UciScore};
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(line: &str) {
        assert_eq!(EngineMessage::parse(line).to_string(), line);
        assert!(!matches!(EngineMessage::parse(line), EngineMessage::Other(_)), "{line}");
    }

    #[test]
    fn lines_of_stockfish_come_back() {
        check("id name Stockfish 15.1");
        check("id author the Stockfish developers (see AUTHORS file)");
        check("option name Debug Log File type string default <empty>");
        check("option name Clear Hash type button");
        check("option name MultiPV type spin default 1 min 1 max 500");
        check("option name Analysis Contempt type combo default Both var Off var White var Black var Both");
        check("option name UCI_Chess960 type check default false");
        check("uciok");
        check("readyok");
        check(
            "info depth 12 seldepth 15 multipv 2 score cp -31 upperbound wdl 10 900 90 nodes 5042 nps 720000 \
             hashfull 1 tbhits 0 time 7 pv e7e5 g1f3",
        );
        check("info depth 0 score mate 0");
        check("info string NNUE evaluation using nn-ad9b42354671.nnue enabled");
        check("info currmove e2e4 currmovenumber 1");
        check("bestmove e2e4 ponder e7e5");
        check("bestmove (none)");
    }

    #[test]
    fn fields_are_read() {
        let EngineMessage::Info(info) =
            EngineMessage::parse("info score mate -3 lowerbound multipv 4 blah 7 pv a2a3")
        else {
            panic!()
        };
        assert_eq!((info.score, info.multi_pv), (Some(UciScore::Mate(-3, Bound::Lower)), Some(4)));
        assert_eq!(info.pv, ["a2a3"]);
        let EngineMessage::Option(option) =
            EngineMessage::parse("option name A default type spin default -5 min -9 max 9")
        else {
            panic!()
        };
        assert_eq!(
            (option.name.as_str(), option.kind),
            ("A default", OptionKind::Spin { default: -5, min: -9, max: 9 })
        );
        assert_eq!(EngineMessage::parse("bestmove"), EngineMessage::Other("bestmove".into()));
        assert_eq!(
            EngineMessage::parse("bestmove 0000"),
            EngineMessage::BestMove { best: None, ponder: None }
        );
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in "\\PC{0,60}|(info|option|id|bestmove)( (name|type|spin|combo|default|var|score|cp|pv|wdl|string|-?[0-9]{1,25}|\\PC{1,5})){0,8}") {
            let once = EngineMessage::parse(&line);
            if !matches!(once, EngineMessage::Option(_)) {
                prop_assert_eq!(&EngineMessage::parse(&once.to_string()), &once);
            }
        }
    }
}
