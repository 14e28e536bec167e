//! One running engine and our side of the conversation.

use super::{UciSettings, position_command::PositionCommand};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_oracle::{
    process::{ChildProcess, EngineError},
    uci::{Command, EngineMessage, Go, Info, OptionKind, UciOption, option_names},
};
use mavis_search::Cancel;
use mavis_stable::time::after;
use std::time::{Duration, Instant};

/// How often a running search looks whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(5);

/// A started engine that has said `uciok` and taken its options.
pub(super) struct Conversation {
    process: ChildProcess,
    name: String,
    offered: Vec<UciOption>,
    patience: Duration,
    chess960: bool,
    n_lines: u32,
    position_command: PositionCommand,
}

/// One search.
pub(super) struct Order<'a> {
    pub(super) start: &'a Position,
    pub(super) moves: &'a [Move],
    pub(super) go: Go,
    pub(super) n_lines: u32,
    /// When the engine should be done by itself, if time limits it.
    pub(super) hard_limit: Option<Duration>,
    pub(super) cancel: &'a Cancel,
}

impl Conversation {
    pub(super) fn start(settings: &UciSettings) -> Result<Self, EngineError> {
        let process = ChildProcess::start(&settings.program, &settings.arguments)?;
        let mut engine = Self {
            process,
            name: String::new(),
            offered: Vec::new(),
            patience: settings.patience.startup,
            chess960: false,
            n_lines: 1,
            position_command: PositionCommand::default(),
        };
        engine.say(&Command::Uci)?;
        let deadline = after(engine.patience);
        loop {
            match EngineMessage::parse(&engine.expect_line(deadline, "uciok")?) {
                EngineMessage::Name(name) => engine.name = name,
                EngineMessage::Option(option) => engine.offered.push(option),
                EngineMessage::UciOk => break,
                _ => {}
            }
        }
        for (name, value) in &settings.options {
            engine.set_option(name, value)?;
        }
        engine.ready()?;
        engine.patience = settings.patience.answer;
        Ok(engine)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn plays_chess960(&self) -> bool {
        self.find("UCI_Chess960").is_some()
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn new_game(&mut self) -> Result<(), EngineError> {
        self.say(&Command::NewGame)?;
        self.ready()
    }

    /// Searches and gives the best move as the engine writes it; `None` if it has none.
    pub(super) fn search(
        &mut self,
        order: &Order<'_>,
        report: &mut dyn FnMut(&Info),
    ) -> Result<Option<String>, EngineError> {
        self.prepare(order)?;
        // In one write, so that the engine wakes up once.
        let position = self.position_command.text(order.start, order.moves);
        self.process.send(&format!("{position}\ngo{}\n", order.go))?;
        let mut stop = order.cancel.is_cancelled().then(Instant::now);
        let began = Instant::now();
        let mut stopped = false;
        loop {
            if stop.is_some() && !stopped {
                self.say(&Command::Stop)?;
                stopped = true;
            }
            if let Some(line) = self.process.line(Instant::now() + GLANCE)? {
                match EngineMessage::parse(&line) {
                    EngineMessage::Info(info) => report(&info),
                    EngineMessage::BestMove { best, .. } => return Ok(best),
                    _ => {}
                }
            }
            if stop.is_none() && order.cancel.is_cancelled() {
                stop = Some(Instant::now());
            }
            self.check_patience(order, began, stop)?;
        }
    }

    /// Fails when the engine is overdue: after its time, after `stop`, or, if nothing ends its search, never.
    fn check_patience(
        &self,
        order: &Order<'_>,
        began: Instant,
        stop: Option<Instant>,
    ) -> Result<(), EngineError> {
        let due = match (stop, order.hard_limit) {
            (Some(stop), _) => Some(stop),
            (None, Some(time)) => began.checked_add(time),
            (None, None) => None,
        };
        match due {
            Some(due) if due.elapsed() > self.patience => {
                Err(EngineError::Late { expected: "bestmove", after: began.elapsed() })
            }
            _ => Ok(()),
        }
    }

    /// Sets what the position and the limit ask for.
    fn prepare(&mut self, order: &Order<'_>) -> Result<(), EngineError> {
        let chess960 = order.start.rules() == Rules::Chess960;
        if chess960 != self.chess960 {
            self.set_option("UCI_Chess960", &chess960.to_string())?;
            self.chess960 = chess960;
        }
        if order.n_lines != self.n_lines && self.find("MultiPV").is_some() {
            self.set_option("MultiPV", &order.n_lines.to_string())?;
            self.n_lines = order.n_lines;
        }
        Ok(())
    }

    /// Sets an option the engine offers; upper and lower case do not matter, and `_` may stand for a space.
    fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let Some(option) = self.find(name) else {
            return Err(EngineError::NoOption {
                name: name.to_owned(),
                offered: option_names(&self.offered),
            });
        };
        let accepted = match &option.kind {
            OptionKind::Check { .. } => matches!(value, "true" | "false"),
            OptionKind::Spin { min, max, .. } => {
                value.parse::<i64>().is_ok_and(|number| (*min..=*max).contains(&number))
            }
            OptionKind::Combo { choices, .. } => {
                choices.iter().any(|choice| choice.eq_ignore_ascii_case(value))
            }
            OptionKind::Button | OptionKind::Text { .. } => true,
        };
        if !accepted {
            return Err(EngineError::OptionValue { option: option.to_string(), value: value.to_owned() });
        }
        let name = option.name.clone();
        self.say(&Command::SetOption { name, value: Some(value.to_owned()) })
    }

    fn find(&self, name: &str) -> Option<&UciOption> {
        let same =
            |option: &&UciOption| option.name.replace(' ', "_").eq_ignore_ascii_case(&name.replace(' ', "_"));
        self.offered.iter().find(same)
    }

    fn ready(&mut self) -> Result<(), EngineError> {
        self.say(&Command::IsReady)?;
        let deadline = after(self.patience);
        while self.expect_line(deadline, "readyok")? != "readyok" {}
        Ok(())
    }

    fn say(&mut self, command: &Command) -> Result<(), EngineError> {
        self.process.send(&format!("{command}\n"))
    }

    fn expect_line(&mut self, deadline: Instant, expected: &'static str) -> Result<String, EngineError> {
        let after = self.patience;
        self.process.line(deadline)?.ok_or(EngineError::Late { expected, after })
    }
}
