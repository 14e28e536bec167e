//! The engine's report of a search in progress.

use std::fmt;

/// An `info` line; what it did not say is `None` or empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Plies searched.
    pub depth: Option<u32>,
    /// Plies of the deepest line.
    pub selective_depth: Option<u32>,
    /// Which line this is, from 1, when several are shown.
    pub multi_pv: Option<u32>,
    /// The line's score.
    pub score: Option<UciScore>,
    /// Chances of win, draw and loss in permille.
    pub wdl: Option<[u32; 3]>,
    /// Nodes searched.
    pub nodes: Option<u64>,
    /// Nodes a second.
    pub nps: Option<u64>,
    /// How full the hash is, in permille.
    pub hash_full: Option<u32>,
    /// Tablebase hits.
    pub tb_hits: Option<u64>,
    /// Milliseconds searched.
    pub time: Option<u64>,
    /// The move being searched.
    pub current_move: Option<String>,
    /// Its number, from 1.
    pub current_move_number: Option<u32>,
    /// The expected line.
    pub pv: Vec<String>,
    /// Free text.
    pub string: Option<String>,
}

/// A score as UCI states it, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UciScore {
    /// Centipawns, and whether they are only a bound.
    Centipawns(i32, Bound),
    /// Moves to mate, negative when the engine is mated, and whether that is only a bound.
    Mate(i32, Bound),
}

impl UciScore {
    /// The largest number of a score that is read, either way. Scores are negated, doubled and added to each other later on, and no
    /// engine means more than this.
    pub const LARGEST: i32 = 1_000_000_000;

    /// Reads the two words of a score and the one behind them, which may say that it is a bound.
    fn parse(kind: Option<&str>, value: Option<i32>, behind: Option<&str>) -> Option<Self> {
        let bound = match behind {
            Some("lowerbound") => Bound::Lower,
            Some("upperbound") => Bound::Upper,
            _ => Bound::Exact,
        };
        let value = value.filter(|value| (-Self::LARGEST..=Self::LARGEST).contains(value))?;
        match kind? {
            "cp" => Some(Self::Centipawns(value, bound)),
            "mate" => Some(Self::Mate(value, bound)),
            _ => None,
        }
    }

    /// Whether it only fills its place: an engine of Stockfish's family that is stopped within its first ply reports 0
    /// centipawns for a line it has not looked at, which is known by a deepest line of no plies.
    fn is_filler(self, depth: Option<u32>, selective_depth: Option<u32>) -> bool {
        matches!(self, Self::Centipawns(0, _))
            && selective_depth == Some(0)
            && depth.is_none_or(|depth| depth <= 1)
    }

    /// How sure the score is.
    #[must_use]
    pub fn bound(self) -> Bound {
        match self {
            Self::Centipawns(_, bound) | Self::Mate(_, bound) => bound,
        }
    }
}

/// How sure a score is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The score itself.
    Exact,
    /// At least this.
    Lower,
    /// At most this.
    Upper,
}

impl Info {
    /// Reads what follows the word `info`; unknown words are skipped.
    #[must_use]
    pub fn parse(rest: &str) -> Self {
        let mut info = Self::default();
        let mut words = rest.split_whitespace().peekable();
        while let Some(word) = words.next() {
            match word {
                "depth" => info.depth = number(words.next()),
                "seldepth" => info.selective_depth = number(words.next()),
                "multipv" => info.multi_pv = number(words.next()),
                "nodes" => info.nodes = number(words.next()),
                "nps" => info.nps = number(words.next()),
                "hashfull" => info.hash_full = number(words.next()),
                "tbhits" => info.tb_hits = number(words.next()),
                "time" => info.time = number(words.next()),
                "currmove" => info.current_move = words.next().map(str::to_owned),
                "currmovenumber" => info.current_move_number = number(words.next()),
                "wdl" => {
                    info.wdl = match [(); 3].map(|()| number(words.next())) {
                        [Some(win), Some(draw), Some(loss)] => Some([win, draw, loss]),
                        _ => None,
                    };
                }
                "score" => {
                    let (kind, value) = (words.next(), number(words.next()));
                    info.score = UciScore::parse(kind, value, words.peek().copied());
                }
                "pv" => {
                    // The line runs to the end; a few engines write a comment behind it.
                    while let Some(text) = words.next_if(|&text| text != "string") {
                        info.pv.push(text.to_owned());
                    }
                }
                "string" => {
                    let text: Vec<_> = words.by_ref().collect();
                    info.string = Some(text.join(" "));
                }
                _ => {}
            }
        }
        info.score = info.score.filter(|score| !score.is_filler(info.depth, info.selective_depth));
        info
    }
}

/// What an `info` line says of one line of a search, as far as a judge of moves needs it. Engines write some hundred of them a
/// position, so nothing is copied and nothing is read behind the first move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineReport<'a> {
    /// Which line this is, from 1; 1 where the engine does not say.
    pub number: u32,
    /// Plies searched.
    pub depth: Option<u32>,
    /// The line's score.
    pub score: UciScore,
    /// Its first move.
    pub first_move: &'a str,
}

impl<'a> LineReport<'a> {
    /// Reads an `info` line; `None` if it is not about a line with a score.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (mut multi_pv, mut depth, mut selective_depth) = (Some(1), None, None);
        let mut score: Option<UciScore> = None;
        let mut words = line.split_ascii_whitespace();
        let mut next = words.next();
        while let Some(word) = next {
            next = words.next();
            // Two bytes tell the words apart that matter, so most are passed over quickly.
            match word.as_bytes() {
                [b'd', b'e', ..] if word == "depth" => depth = number(next),
                [b's', b'e', ..] if word == "seldepth" => selective_depth = number(next),
                [b'm', b'u', ..] if word == "multipv" => multi_pv = number(next),
                [b's', b'c', ..] if word == "score" => {
                    let (kind, value) = (next, number(words.next()));
                    next = words.next();
                    score = Some(UciScore::parse(kind, value, next)?);
                }
                b"pv" => {
                    let score = score.filter(|score| !score.is_filler(depth, selective_depth))?;
                    return Some(Self { number: multi_pv?, depth, score, first_move: next? });
                }
                [b's', b't', ..] if word == "string" => return None,
                _ => {}
            }
        }
        None
    }
}

fn number<T: std::str::FromStr>(text: Option<&str>) -> Option<T> {
    text.and_then(|text| text.parse().ok())
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_number = |f: &mut fmt::Formatter<'_>, name: &str, number: Option<u64>| match number {
            Some(number) => write!(f, " {name} {number}"),
            None => Ok(()),
        };
        write_number(f, "depth", self.depth.map(u64::from))?;
        write_number(f, "seldepth", self.selective_depth.map(u64::from))?;
        write_number(f, "multipv", self.multi_pv.map(u64::from))?;
        if let Some(score) = self.score {
            match score {
                UciScore::Centipawns(value, _) => write!(f, " score cp {value}")?,
                UciScore::Mate(value, _) => write!(f, " score mate {value}")?,
            }
            f.write_str(match score.bound() {
                Bound::Exact => "",
                Bound::Lower => " lowerbound",
                Bound::Upper => " upperbound",
            })?;
        }
        if let Some([win, draw, loss]) = self.wdl {
            write!(f, " wdl {win} {draw} {loss}")?;
        }
        write_number(f, "nodes", self.nodes)?;
        write_number(f, "nps", self.nps)?;
        write_number(f, "hashfull", self.hash_full.map(u64::from))?;
        write_number(f, "tbhits", self.tb_hits)?;
        write_number(f, "time", self.time)?;
        if let Some(mv) = &self.current_move {
            write!(f, " currmove {mv}")?;
        }
        write_number(f, "currmovenumber", self.current_move_number.map(u64::from))?;
        if !self.pv.is_empty() {
            write!(f, " pv {}", self.pv.join(" "))?;
        }
        match &self.string {
            Some(text) => write!(f, " string {text}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_agrees_with_the_whole_line() {
        for line in [
            "info depth 12 seldepth 15 multipv 2 score cp -31 upperbound nodes 5042 nps 72 pv e2e4 e7e5",
            "info multipv 7  score mate -3 depth 4 pv a7a8q",
            "info score cp 20 lowerbound depth 9 pv d2d4",
        ] {
            let (report, info) = (LineReport::parse(line).unwrap(), Info::parse(line));
            assert_eq!((Some(report.score), report.depth), (info.score, info.depth), "{line}");
            assert_eq!((report.number, report.first_move), (info.multi_pv.unwrap_or(1), &*info.pv[0]));
        }
        for line in [
            "info string score cp 1 pv e2e4",
            "info depth 3 score cp x pv e2e4",
            "info depth 3 score cp 1",
            "info depth 3 score cp 1 pv",
            "info depth 3 multipv -1 score cp 1 pv e2e4",
            "info depth 3 currmove e2e4",
            // What Stockfish says when it is stopped before it has looked at anything.
            "info depth 1 seldepth 0 multipv 1 score cp 0 nodes 2 nps 1000 hashfull 0 tbhits 0 time 2 pv g5g4",
        ] {
            assert_eq!(LineReport::parse(line), None, "{line}");
        }
    }

    /// Whoever reads a score may negate and double it.
    #[test]
    fn a_score_beyond_all_bounds_is_none() {
        for score in ["cp -2147483648", "mate -2147483648", "mate 2147483647", "cp 2147483648"] {
            assert_eq!(Info::parse(&format!("depth 3 score {score} pv e2e4")).score, None, "{score}");
            assert_eq!(LineReport::parse(&format!("info depth 3 score {score} pv e2e4")), None, "{score}");
        }
        let largest = Info::parse("depth 3 score mate -1000000000 pv e2e4").score;
        assert_eq!(largest, Some(UciScore::Mate(-UciScore::LARGEST, Bound::Exact)));
    }

    #[test]
    fn a_score_that_was_not_searched_is_none() {
        let check = |line, searched: bool| assert_eq!(Info::parse(line).score.is_some(), searched, "{line}");
        check("depth 1 seldepth 0 multipv 1 score cp 0 nodes 2 pv g5g4", false);
        check("depth 1 seldepth 1 multipv 1 score cp 0 nodes 20 pv g5g4", true);
        // An engine that does not count its deepest line is believed.
        check("depth 5 seldepth 0 score cp 0 pv g5g4", true);
        check("depth 1 seldepth 0 score cp 12 pv g5g4", true);
        check("depth 1 score cp 0 pv g5g4", true);
    }
}
