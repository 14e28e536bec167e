//! What a GUI says to an engine.

use std::fmt;
use std::time::Duration;

/// A line from the GUI.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// `uci`
    Uci,
    /// `debug on` or `debug off`
    Debug(bool),
    /// `isready`
    IsReady,
    /// `setoption name NAME [value VALUE]`
    SetOption {
        /// The option's name, which may hold spaces.
        name: String,
        /// Its new value; buttons have none.
        value: Option<String>,
    },
    /// `ucinewgame`
    NewGame,
    /// `position ...`
    Position {
        /// Where the moves start.
        start: Start,
        /// Moves in the engine's notation.
        moves: Vec<String>,
    },
    /// `go ...`
    Go(Go),
    /// `stop`
    Stop,
    /// `ponderhit`
    PonderHit,
    /// `quit`
    Quit,
    /// Anything else, an empty line included.
    Unknown(String),
}

/// The position a list of moves starts from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// `startpos`
    StartPosition,
    /// `fen FEN`
    Fen(String),
}

/// The limits of a search; all unset means the engine's own choice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Go {
    /// White's and Black's clock.
    pub clock: [Option<Duration>; 2],
    /// White's and Black's increment.
    pub increment: [Option<Duration>; 2],
    /// Moves to the next time control.
    pub moves_to_go: Option<u32>,
    /// Plies to search.
    pub depth: Option<u32>,
    /// Nodes to search.
    pub nodes: Option<u64>,
    /// Look for a mate in this many moves.
    pub mate: Option<u32>,
    /// Think exactly this long.
    pub move_time: Option<Duration>,
    /// Think until `stop`.
    pub infinite: bool,
    /// Think in the opponent's time.
    pub ponder: bool,
    /// Consider only these moves; empty means all.
    pub search_moves: Vec<String>,
}

impl Command {
    /// Reads a line.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let unknown = || Self::Unknown(line.to_owned());
        match word {
            "uci" => Self::Uci,
            "debug" => match rest.trim() {
                "on" => Self::Debug(true),
                "off" => Self::Debug(false),
                _ => unknown(),
            },
            "isready" => Self::IsReady,
            "setoption" => parse_option(rest).unwrap_or_else(unknown),
            "ucinewgame" => Self::NewGame,
            "position" => parse_position(rest).unwrap_or_else(unknown),
            "go" => Self::Go(Go::parse(rest)),
            "stop" => Self::Stop,
            "ponderhit" => Self::PonderHit,
            "quit" => Self::Quit,
            _ => unknown(),
        }
    }
}

fn parse_option(rest: &str) -> Option<Command> {
    let mut words = rest.split_whitespace();
    (words.next() == Some("name")).then_some(())?;
    let name: Vec<_> = words.by_ref().take_while(|&word| word != "value").collect();
    (!name.is_empty()).then_some(())?;
    let value: Vec<_> = words.collect();
    let has_value = rest.split_whitespace().skip(1).any(|word| word == "value");
    Some(Command::SetOption { name: name.join(" "), value: has_value.then(|| value.join(" ")) })
}

fn parse_position(rest: &str) -> Option<Command> {
    let mut words = rest.split_whitespace();
    let kind = words.next()?;
    let before: Vec<_> = words.by_ref().take_while(|&word| word != "moves").collect();
    let start = match kind {
        "startpos" => Start::StartPosition,
        "fen" if !before.is_empty() => Start::Fen(before.join(" ")),
        _ => return None,
    };
    Some(Command::Position { start, moves: words.map(str::to_owned).collect() })
}

impl Go {
    fn parse(rest: &str) -> Self {
        let mut go = Self::default();
        let mut words = rest.split_whitespace().peekable();
        while let Some(word) = words.next() {
            // A clock may run below zero; then no time is left.
            let duration = |text: Option<&str>| {
                text.and_then(|text| text.parse::<i64>().ok())
                    .map(|ms| Duration::from_millis(ms.max(0) as u64))
            };
            let [white_clock, black_clock] = &mut go.clock;
            let [white_increment, black_increment] = &mut go.increment;
            match word {
                "wtime" => *white_clock = duration(words.next()),
                "btime" => *black_clock = duration(words.next()),
                "winc" => *white_increment = duration(words.next()),
                "binc" => *black_increment = duration(words.next()),
                "movetime" => go.move_time = duration(words.next()),
                "movestogo" => go.moves_to_go = words.next().and_then(|text| text.parse().ok()),
                "depth" => go.depth = words.next().and_then(|text| text.parse().ok()),
                "nodes" => go.nodes = words.next().and_then(|text| text.parse().ok()),
                "mate" => go.mate = words.next().and_then(|text| text.parse().ok()),
                "infinite" => go.infinite = true,
                "ponder" => go.ponder = true,
                "searchmoves" => {
                    while let Some(text) = words.next_if(|text| looks_like_move(text)) {
                        go.search_moves.push(text.to_owned());
                    }
                }
                _ => {}
            }
        }
        go
    }
}

/// Whether a word reads `e2e4`, `e7e8q` or the like, so that the list of moves ends where the next limit begins.
fn looks_like_move(word: &str) -> bool {
    let mut chars = word.chars();
    let mut square = || matches!((chars.next(), chars.next()), (Some('a'..='h'), Some('1'..='8')));
    square() && square()
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uci => f.write_str("uci"),
            Self::Debug(on) => write!(f, "debug {}", if *on { "on" } else { "off" }),
            Self::IsReady => f.write_str("isready"),
            Self::SetOption { name, value: None } => write!(f, "setoption name {name}"),
            Self::SetOption { name, value: Some(value) } => write!(f, "setoption name {name} value {value}"),
            Self::NewGame => f.write_str("ucinewgame"),
            Self::Position { start, moves } => {
                match start {
                    Start::StartPosition => f.write_str("position startpos")?,
                    Start::Fen(fen) => write!(f, "position fen {fen}")?,
                }
                if !moves.is_empty() {
                    write!(f, " moves {}", moves.join(" "))?;
                }
                Ok(())
            }
            Self::Go(go) => write!(f, "go{go}"),
            Self::Stop => f.write_str("stop"),
            Self::PonderHit => f.write_str("ponderhit"),
            Self::Quit => f.write_str("quit"),
            Self::Unknown(line) => f.write_str(line),
        }
    }
}

impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ponder {
            f.write_str(" ponder")?;
        }
        for (names, durations) in [(["wtime", "btime"], self.clock), (["winc", "binc"], self.increment)] {
            for (name, duration) in names.into_iter().zip(durations) {
                if let Some(duration) = duration {
                    write!(f, " {name} {}", duration.as_millis())?;
                }
            }
        }
        let numbers = [
            ("movestogo", self.moves_to_go.map(u64::from)),
            ("depth", self.depth.map(u64::from)),
            ("nodes", self.nodes),
            ("mate", self.mate.map(u64::from)),
            ("movetime", self.move_time.map(|time| time.as_millis() as u64)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(f, " {name} {number}")?;
            }
        }
        if self.infinite {
            f.write_str(" infinite")?;
        }
        if !self.search_moves.is_empty() {
            write!(f, " searchmoves {}", self.search_moves.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(line: &str) {
        assert_eq!(Command::parse(line).to_string(), line);
        assert!(!matches!(Command::parse(line), Command::Unknown(_)), "{line}");
    }

    #[test]
    fn lines_come_back() {
        check("uci");
        check("debug on");
        check("setoption name Clear Hash");
        check("setoption name Skill Level value 20");
        check("setoption name SyzygyPath value /a path/with spaces");
        check("position startpos moves e2e4 e7e5");
        check("position fen 8/8/8/8/8/8/8/K1k5 w - - 0 1 moves a1a2");
        check("go wtime 300000 btime 290000 winc 2000 binc 2000 movestogo 40");
        check("go nodes 5000 searchmoves e2e4 d2d4");
        check("go infinite");
        check("go");
    }

    #[test]
    fn loose_lines_are_understood() {
        assert_eq!(
            Command::parse("  go searchmoves e2e4 e7e8q depth 5 wtime -20 fancy 3 "),
            Command::Go(Go {
                search_moves: vec!["e2e4".into(), "e7e8q".into()],
                depth: Some(5),
                clock: [Some(Duration::ZERO), None],
                ..Go::default()
            })
        );
        for line in ["", "position", "position fen", "setoption", "setoption name", "debug", "joho uci"] {
            assert_eq!(Command::parse(line), Command::Unknown(line.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_and_its_text_is_stable(line in "\\PC{0,60}|(go|position|setoption|debug)( (name|value|fen|moves|depth|nodes|wtime|-?[0-9]{1,25}|\\PC{1,5})){0,6}") {
            let once = Command::parse(&line);
            prop_assert_eq!(&Command::parse(&once.to_string()), &once);
        }
    }
}
