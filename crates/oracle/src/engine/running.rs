//! One running engine and its side of the conversation.

use super::lines::{self, Lines};
use super::{EngineSettings, Limit};
use crate::Ranking;
use crate::process::{ChildProcess, EngineError};
use crate::uci::{Command, EngineMessage, Go, OptionKind, Start, UciOption, option_names};
use mavis_game::{Game, Move, Position, Rules};
use mavis_stable::time::after;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Longer than this the lines of a lively engine might fill the pipe, and stop it.
const LONGEST_NAP: Duration = Duration::from_millis(5);
/// No chess position has more legal moves (218 is the record).
const MOST_MOVES: i64 = 256;

/// A started engine that has said `uciok` and taken its options.
#[derive(Debug)]
pub(super) struct RunningEngine {
    process: ChildProcess,
    name: String,
    chess960: bool,
    lines: Lines,
    /// How long a search takes, on average of late.
    pace: Duration,
}

impl RunningEngine {
    pub(super) fn start(settings: &EngineSettings) -> Result<Self, EngineError> {
        let mut process = ChildProcess::start(&settings.program, &settings.arguments)?;
        process.send(&format!("{}\n", Command::Uci))?;
        let (mut name, mut offered) = (String::new(), Vec::new());
        let deadline = after(settings.patience);
        loop {
            match EngineMessage::parse(&expect_line(&mut process, deadline, "uciok", settings.patience)?) {
                EngineMessage::Name(text) => name = text,
                EngineMessage::Option(option) => offered.push(option),
                EngineMessage::UciOk => break,
                _ => {}
            }
        }
        let mut session =
            Self { process, name, chess960: false, lines: Lines::default(), pace: Duration::ZERO };
        session.set_options(settings, &offered)?;
        Ok(session)
    }

    fn set_options(&mut self, settings: &EngineSettings, offered: &[UciOption]) -> Result<(), EngineError> {
        let find = |name: &str| offered.iter().find(|option| option.name.eq_ignore_ascii_case(name));
        let given = |name: &str| settings.options.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut text = String::new();
        for (name, value) in settings.resolved_options() {
            match find(&name) {
                Some(_) => {}
                // Our own defaults are sent only to engines that know them.
                None if !given(&name) => continue,
                None => {
                    return Err(EngineError::NoOption { name, offered: option_names(offered) });
                }
            }
            text += &format!("{}\n", Command::SetOption { name, value: Some(value) });
        }
        let Some(UciOption { kind: OptionKind::Spin { max, .. }, .. }) = find("MultiPV") else {
            return Err(EngineError::Nonsense {
                expected: "an engine with the option MultiPV",
                got: self.name.clone(),
            });
        };
        let value = Some(MOST_MOVES.min(*max).to_string());
        text += &format!("{}\n", Command::SetOption { name: "MultiPV".to_owned(), value });
        self.process.send(&text)?;
        self.ready(settings.patience)
    }

    fn ready(&mut self, patience: Duration) -> Result<(), EngineError> {
        self.process.send(&format!("{}\n", Command::IsReady))?;
        let deadline = after(patience);
        while expect_line(&mut self.process, deadline, "readyok", patience)? != "readyok" {}
        Ok(())
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// `Stockfish 15.1` is the name and the version; the last word is the version where there is more than one.
    pub(super) fn name_and_version(&self) -> (String, String) {
        match self.name.rsplit_once(' ') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => (self.name.clone(), String::new()),
        }
    }

    /// Searches a position from a clean state, so that the answer does not depend on what was searched before. A limit that ends the
    /// search before every move was looked at once leaves moves without a score; they get a search of their own.
    pub(super) fn rank(
        &mut self,
        position: &Position,
        settings: &EngineSettings,
    ) -> Result<Ranking, EngineError> {
        let legal = position.legal_moves();
        let (mut scores, mut choice) = (Vec::new(), None);
        loop {
            let is_missing = |mv: &&Move| !scores.iter().any(|(scored, _)| scored == *mv);
            let missing: Vec<String> =
                legal.iter().filter(is_missing).map(|mv| position.move_text(*mv)).collect();
            let Some(first) = missing.first() else { break };
            let none = format!("none for {first}");
            let only = if scores.is_empty() { Vec::new() } else { missing };
            let began = Instant::now();
            self.ask(position, settings, only)?;
            let best = self.receive(settings, false)?;
            self.keep_pace(began.elapsed(), 1);
            let new: Vec<_> = self.lines.scores(position)?;
            let n_before = scores.len();
            scores.extend(new.into_iter().filter(|(mv, _)| legal.contains(mv)));
            scores.sort_by_key(|(mv, _)| *mv);
            scores.dedup_by_key(|(mv, _)| *mv);
            if scores.len() == n_before {
                return Err(EngineError::Nonsense { expected: "a score for every legal move", got: none });
            }
            choice.get_or_insert(best);
        }
        lines::ranking(position, &scores, &choice.unwrap_or_default())
    }

    /// Whether the engine takes commands for the next position while it searches one, and begins with them when it is done.
    /// Stockfish does, since its `ucinewgame` waits for the search; the protocol leaves it open.
    pub(super) fn queues(&self) -> bool {
        self.name.starts_with("Stockfish")
    }

    /// The ranking of the last search, if it scored every move.
    pub(super) fn ranking(&self, position: &Position, best: &str) -> Result<Option<Ranking>, EngineError> {
        let scores = self.lines.scores(position)?;
        if scores.len() < position.n_legal_moves() {
            return Ok(None);
        }
        lines::ranking(position, &scores, best).map(Some)
    }

    /// Asks for one search, of some moves or of all, from a clean state.
    pub(super) fn ask(
        &mut self,
        position: &Position,
        settings: &EngineSettings,
        search_moves: Vec<String>,
    ) -> Result<(), EngineError> {
        let chess960 = position.rules() == Rules::Chess960;
        let mut text = format!("{}\n", Command::NewGame);
        if chess960 != self.chess960 {
            let (name, value) = ("UCI_Chess960".to_owned(), Some(chess960.to_string()));
            text += &format!("{}\n", Command::SetOption { name, value });
            self.chess960 = chess960;
        }
        let start = Command::Position { start: Start::Fen(position.to_string()), moves: Vec::new() };
        let mut go = match settings.limit {
            Limit::Nodes(nodes) => Go { nodes: Some(nodes), ..Go::default() },
            Limit::Depth(depth) => Go { depth: Some(depth), ..Go::default() },
            Limit::Time(time) => Go { move_time: Some(time), ..Go::default() },
        };
        go.search_moves = search_moves;
        // One write: the engine works through the lines in order, and we wait once.
        text += &format!("{}\n{start}\n{}\n", Command::IsReady, Command::Go(go));
        self.process.send(&text)
    }

    /// Waits for the oldest search asked for; the engine's choice.
    ///
    /// Every line of the engine would wake us and cost the engine the time to do so, a tenth of its search at 5,000 nodes; what it writes
    /// while we sleep waits in the pipe. If the engine has more to do, `busy`, being late costs nothing.
    pub(super) fn receive(&mut self, settings: &EngineSettings, busy: bool) -> Result<String, EngineError> {
        let patience = match settings.limit {
            Limit::Time(time) => settings.patience.saturating_add(time),
            Limit::Nodes(_) | Limit::Depth(_) => settings.patience,
        };
        let deadline = after(patience);
        if !busy {
            std::thread::sleep((self.pace / 4).min(LONGEST_NAP));
        }
        let nap = busy.then(|| self.pace.min(LONGEST_NAP));
        let mut is_ready = false;
        loop {
            if let Some(nap) = nap.filter(|_| !self.process.has_line()) {
                std::thread::sleep(nap);
            }
            let expected = if is_ready { "bestmove" } else { "readyok" };
            let line = expect_line(&mut self.process, deadline, expected, patience)?;
            if !is_ready {
                is_ready = line == "readyok";
                self.lines.clear();
            } else if line.starts_with("info") {
                self.lines.keep(&line);
            } else if let EngineMessage::BestMove { best, .. } = EngineMessage::parse(&line) {
                let nonsense =
                    || EngineError::Nonsense { expected: "a legal best move", got: line.into_owned() };
                return best.ok_or_else(nonsense);
            }
        }
    }

    /// Takes note of how long some searches took.
    pub(super) fn keep_pace(&mut self, taken: Duration, n_searches: usize) {
        let each = taken / u32::try_from(n_searches).unwrap_or(u32::MAX).max(1);
        self.pace = if self.pace.is_zero() { each } else { (3 * self.pace + each) / 4 };
    }
}

fn expect_line<'a>(
    process: &'a mut ChildProcess,
    deadline: Instant,
    expected: &'static str,
    after: Duration,
) -> Result<Cow<'a, str>, EngineError> {
    process.line_here(deadline)?.ok_or(EngineError::Late { expected, after })
}
