//! A GTP engine in a child process as a player: any game, HTP for Hex.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::{Choice, Limit, Player, PlayerError, Thought, Turn};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_oracle::{
    gtp::{GtpCommand, GtpEngine, Response, color},
    htp,
    process::{EngineError, Patience},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// How often a running search looks whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(5);
/// The command by which our own engine takes any position; others know only the start.
pub const POSITION_COMMAND: &str = "mavis-position";

/// How to run a GTP engine as a player.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GtpSettings {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Commands sent once after the start, such as parameters.
    pub preparation: Vec<String>,
    /// How long an answer may be overdue before the engine counts as hung.
    pub patience: Patience,
    /// Whether it plays Hex alone.
    pub hex_only: bool,
}

/// An engine that gets the game, searches, and answers.
///
/// An engine that dies, hangs or answers nonsense is replaced once in a move; if the second fails too, so does the
/// player.
pub struct GtpPlayer {
    settings: GtpSettings,
    name: String,
    /// The running engine and what it knows; gone after a failure.
    engine: Option<Conversation>,
    n_restarts: u32,
}

/// A running engine and the game as it was sent.
struct Conversation {
    engine: GtpEngine,
    /// The start and the moves on the engine's board; `None` before the first game.
    sent: Option<(Position, Vec<Move>)>,
    /// Whether it takes the time that is left.
    takes_time: bool,
}

/// Why a move was not made: the engine's fault, or nobody's.
enum Trouble {
    Engine(EngineError),
    Player(PlayerError),
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl GtpPlayer {
    /// Starts the engine.
    ///
    /// # Errors
    /// When it cannot be started, does not speak GTP, or refuses a command of its preparation.
    pub fn start(settings: GtpSettings) -> Result<Self, EngineError> {
        let mut conversation = Conversation::start(&settings)?;
        let name = conversation.engine.ask(&GtpCommand::new("name", &[]))?;
        Ok(Self { settings, name, engine: Some(conversation), n_restarts: 0 })
    }

    /// How often the engine was replaced.
    #[must_use]
    pub fn n_restarts(&self) -> u32 {
        self.n_restarts
    }

    /// The process id of the running engine.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.engine.as_ref().map(|conversation| conversation.engine.process_id())
    }

    fn attempt(&mut self, turn: &Turn<'_>) -> Result<Move, Trouble> {
        let mut conversation = match self.engine.take() {
            Some(conversation) => conversation,
            None => {
                self.n_restarts += 1;
                Conversation::start(&self.settings)?
            }
        };
        let answer = conversation.send_position(turn).and_then(|()| conversation.move_for(turn));
        if !matches!(answer, Err(Trouble::Engine(_) | Trouble::Player(PlayerError::Stopped))) {
            self.engine = Some(conversation);
        }
        answer
    }
}

impl Player for GtpPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), PlayerError> {
        if self.settings.hex_only && !matches!(rules, Rules::Hex { .. }) {
            return Err(PlayerError::unsupported(&self.name, rules));
        }
        let tried = match &mut self.engine {
            Some(conversation) => conversation.begin(rules),
            None => Ok(true),
        };
        match tried {
            Ok(true) => Ok(()),
            Ok(false) => Err(PlayerError::unsupported(&self.name, rules)),
            Err(Trouble::Player(error)) => Err(error),
            Err(Trouble::Engine(error)) => Err(PlayerError::Failed(error.to_string())),
        }
    }

    fn new_game(&mut self, _: Rules) {
        if let Some(conversation) = &mut self.engine {
            conversation.sent = None;
        }
    }

    /// The protocol has no words for values.
    fn evaluates(&self) -> bool {
        false
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> Result<Choice, PlayerError> {
        let rules = turn.position.rules();
        if self.settings.hex_only && !matches!(rules, Rules::Hex { .. }) {
            return Err(PlayerError::unsupported(&self.name, rules));
        }
        let mut first = None;
        loop {
            match (self.attempt(turn), first.take()) {
                (Ok(mv), _) => {
                    let thought = Thought { line: vec![mv], ..Thought::default() };
                    return Ok(Choice { mv, thought });
                }
                (Err(Trouble::Player(error)), _) => return Err(error),
                (Err(Trouble::Engine(error)), None) => first = Some(error),
                (Err(Trouble::Engine(second)), Some(first)) => {
                    let reason = format!("{} failed twice: {first}; then {second}", self.name);
                    return Err(PlayerError::Failed(reason));
                }
            }
        }
    }
}

impl Conversation {
    fn start(settings: &GtpSettings) -> Result<Self, EngineError> {
        let GtpSettings { program, arguments, preparation, patience, .. } = settings;
        let mut engine = GtpEngine::start(program, arguments, preparation, *patience)?;
        let takes_time = engine.knows("time_left");
        Ok(Self { engine, sent: None, takes_time })
    }

    /// Sets up the start of a game; whether the engine, as far as it reports, has the same board.
    fn begin(&mut self, rules: Rules) -> Result<bool, Trouble> {
        let start = Position::start(rules);
        self.set_up(&start)?;
        if !self.engine.knows(POSITION_COMMAND) {
            return Ok(true);
        }
        let text = self.engine.ask(&GtpCommand::new(POSITION_COMMAND, &[]))?;
        Ok(Position::parse(rules, &text).is_ok_and(|board| board == start))
    }

    /// Brings the engine's board to the turn's position: only new moves are sent.
    fn send_position(&mut self, turn: &Turn<'_>) -> Result<(), Trouble> {
        let known = match &self.sent {
            Some((start, moves)) if start == turn.start && turn.moves.starts_with(moves) => moves.len(),
            _ => {
                self.set_up(turn.start)?;
                0
            }
        };
        let mut position = turn.start.clone();
        for (number, &mv) in turn.moves.iter().enumerate() {
            if number >= known {
                let text = self.words(&position, mv);
                let color = color(position.rules(), position.side_to_move());
                self.engine.ask(&GtpCommand::new("play", &[color, &text]))?;
            }
            position.play_unchecked(mv);
        }
        self.sent = Some((turn.start.clone(), turn.moves.to_vec()));
        Ok(())
    }

    fn set_up(&mut self, start: &Position) -> Result<(), Trouble> {
        self.sent = None;
        if let Position::Hex(hex) = start {
            return Ok(htp::set_up(&mut self.engine, hex)?);
        }
        if *start == Position::start(start.rules()) && start.ply() == 0 {
            self.engine.ask(&GtpCommand::new("clear_board", &[]))?;
        } else if self.engine.knows(POSITION_COMMAND) {
            let text = start.to_string();
            let words: Vec<&str> = text.split_whitespace().collect();
            self.engine.ask(&GtpCommand::new(POSITION_COMMAND, &words))?;
        } else {
            let reason = format!("a GTP engine begins at the start of the game, not at {start}");
            return Err(Trouble::Player(PlayerError::Failed(reason)));
        }
        Ok(())
    }

    /// A move as the engine's protocol writes it.
    fn words(&self, position: &Position, mv: Move) -> String {
        match (position, position.move_text(mv)) {
            // The stone changes color and is mirrored, which HTP calls so.
            (Position::Hex(_), text) if text == "swap" => "swap-pieces".to_owned(),
            (_, text) => text,
        }
    }

    fn move_for(&mut self, turn: &Turn<'_>) -> Result<Move, Trouble> {
        let position = turn.position;
        let color = color(position.rules(), position.side_to_move());
        let time = self.send_time(color, &turn.limit)?;
        self.engine.send(&GtpCommand::new("genmove", &[color]))?;
        let began = Instant::now();
        let patience = self.engine.patience();
        let response = loop {
            if let Some(response) = self.engine.receive(Instant::now() + GLANCE)? {
                break response;
            }
            // GTP has no way to stop a search: the engine goes with the turn.
            if turn.cancel.is_cancelled() {
                return Err(Trouble::Player(PlayerError::Stopped));
            }
            if time.is_some_and(|time| began.elapsed() > time.saturating_add(patience)) {
                let late = EngineError::Late { expected: "move", after: began.elapsed() };
                return Err(Trouble::Engine(late));
            }
        };
        let nonsense = |got: String| EngineError::Nonsense { expected: "a legal move", got };
        let text = match response {
            Response { result: Ok(text), .. } => text.to_ascii_lowercase(),
            Response { result: Err(reason), .. } => return Err(nonsense(reason).into()),
        };
        if text == "resign" {
            self.sent = None;
            return Err(Trouble::Player(PlayerError::Resign));
        }
        let word = if text == "swap-pieces" { "swap" } else { &text };
        let mv = position.parse_move(word).map_err(|_| nonsense(text.clone()))?;
        if let Some((_, moves)) = &mut self.sent {
            moves.push(mv);
        }
        Ok(mv)
    }

    /// Tells the time left, and gives the longest this move may take.
    fn send_time(&mut self, color: &str, limit: &Limit) -> Result<Option<Duration>, EngineError> {
        let (left, stones) = match (limit.time, limit.clock) {
            (Some(time), _) => (time, 1),
            (None, Some(clock)) => (clock.own, 0),
            (None, None) => return Ok(None),
        };
        if self.takes_time {
            if let Some(time) = limit.time {
                self.offer(&GtpCommand::new("time_settings", &["0", &seconds(time), "1"]))?;
            }
            self.offer(&GtpCommand::new("time_left", &[color, &seconds(left), &stones.to_string()]))?;
        }
        Ok(Some(left))
    }

    /// A command that the engine may refuse.
    fn offer(&mut self, command: &GtpCommand) -> Result<(), EngineError> {
        match self.engine.ask(command) {
            Err(EngineError::Nonsense { .. }) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Whole seconds as the protocol has them, rounded down; below one, where that would be no time at all, with decimals.
fn seconds(time: Duration) -> String {
    if time >= Duration::from_secs(1) {
        time.as_secs().to_string()
    } else {
        format!("{:.3}", time.as_secs_f64())
    }
}
