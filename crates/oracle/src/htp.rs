//! Any HTP engine (GTP for Hex) as an oracle, by a command of its own that judges every move.
#![cfg_attr(
    not(test),
    deny(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use crate::gtp::{GtpCommand, GtpEngine, color};
use crate::oracle::{refuse_finished, refuse_other};
use crate::process::{EngineError, Patience};
use crate::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use mavis_game::{Game, Hex, Move, Position, Rules};
use std::path::PathBuf;
use std::time::Duration;

/// What the engine is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HtpQuestion {
    /// A command that takes a color and answers with its winning moves, such as Benzene's
    /// `dfpn-solver-find-winning`; all others count as lost.
    WinningMoves(String),
    /// A command that answers with pairs of a move and its win rate, 0 to 1, for the side to move; moves it leaves out
    /// count 0.
    Rates(String),
}

/// How to run an HTP engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HtpSettings {
    /// The program, as [`crate::process::find_engine`] found it.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Commands sent once after the start, such as parameters.
    pub preparation: Vec<String>,
    /// What to ask.
    pub question: HtpQuestion,
    /// How long an answer may take.
    pub patience: Duration,
}

/// An HTP engine; a failed one is replaced and its position tried again, twice.
#[derive(Debug)]
pub struct HtpOracle {
    settings: HtpSettings,
    identity: Identity,
    engine: Option<GtpEngine>,
}

impl HtpOracle {
    /// Starts the engine.
    ///
    /// # Errors
    /// When it cannot be started or does not answer as an HTP engine does.
    pub fn start(settings: HtpSettings) -> Result<Self, EngineError> {
        let identity = Identity { name: String::new(), version: String::new(), settings: String::new() };
        let mut oracle = Self { settings, identity, engine: None };
        let mut engine = oracle.started()?;
        let name = engine.ask(&GtpCommand::new("name", &[]))?;
        let version = engine.ask(&GtpCommand::new("version", &[]))?;
        let (HtpQuestion::WinningMoves(command) | HtpQuestion::Rates(command)) = &oracle.settings.question;
        let settings = [vec![command.clone()], oracle.settings.preparation.clone()].concat().join("; ");
        oracle.identity = Identity { name, version, settings };
        oracle.engine = Some(engine);
        Ok(oracle)
    }

    fn started(&self) -> Result<GtpEngine, EngineError> {
        let HtpSettings { program, arguments, preparation, patience, .. } = &self.settings;
        GtpEngine::start(program, arguments, preparation, Patience::always(*patience))
    }

    fn attempt(&mut self, position: &Hex) -> Result<Ranking, EngineError> {
        let mut engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.started()?,
        };
        set_up(&mut engine, position)?;
        let (HtpQuestion::WinningMoves(command) | HtpQuestion::Rates(command)) = &self.settings.question;
        let mut words = command.split_whitespace();
        let mut arguments: Vec<&str> = words.clone().skip(1).collect();
        arguments.push(color(position.rules(), position.side_to_move()));
        let answer = engine.ask(&GtpCommand::new(words.next().unwrap_or_default(), &arguments))?;
        let ranking = self.read(position, &answer)?;
        self.engine = Some(engine);
        Ok(ranking)
    }

    /// The answer as a ranking on every legal move.
    fn read(&self, position: &Hex, answer: &str) -> Result<Ranking, EngineError> {
        let nonsense =
            |got: &str| EngineError::Nonsense { expected: "moves, or moves and rates", got: got.to_owned() };
        let legal = |text: &str| position.parse_move(&text.to_lowercase()).map_err(|_| nonsense(text));
        let words: Vec<&str> = answer.split_whitespace().collect();
        let mut scores = Vec::new();
        match self.settings.question {
            HtpQuestion::WinningMoves(_) => {
                for word in words {
                    scores.push((legal(word)?, Score::Solved(1)));
                }
            }
            HtpQuestion::Rates(_) => {
                for pair in words.chunks(2) {
                    let [mv, rate] = pair else { return Err(nonsense(answer)) };
                    let rate = rate.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
                    scores.push((legal(mv)?, Score::WinRate(rate.ok_or_else(|| nonsense(answer))?)));
                }
            }
        }
        let other = match self.settings.question {
            HtpQuestion::WinningMoves(_) => Score::Solved(-1),
            HtpQuestion::Rates(_) => Score::WinRate(0.0),
        };
        let mut moves = mavis_game::Moves::new();
        position.legal_moves_into(&mut moves);
        let moves = moves.into_iter().map(|mv| {
            let score = scores.iter().find(|(known, _)| *known == mv).map_or(other, |&(_, score)| score);
            RankedMove::new(position.rules(), mv, score, None)
        });
        Ok(Ranking::sorted(moves.collect()))
    }
}

/// Puts a position on the engine's board, stone by stone.
///
/// # Errors
/// When the engine refuses or fails.
pub fn set_up(engine: &mut GtpEngine, position: &Hex) -> Result<(), EngineError> {
    engine.ask(&GtpCommand::new("boardsize", &[&position.size().to_string()]))?;
    engine.ask(&GtpCommand::new("clear_board", &[]))?;
    for code in 0..(position.size() * position.size()) as u16 {
        let (row, column) = (usize::from(code) / position.size(), usize::from(code) % position.size());
        if let Some(side) = position.cell(row, column) {
            let cell = position.move_text(Move(code));
            engine.ask(&GtpCommand::new("play", &[color(position.rules(), side), &cell]))?;
        }
    }
    Ok(())
}

impl Oracle for HtpOracle {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn ready_for(&mut self, rules: Rules) -> Result<(), OracleError> {
        refuse_other(self, rules, matches!(rules, Rules::Hex { .. }))
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        let Position::Hex(hex) = position else {
            return Err(OracleError::WrongGame {
                oracle: self.identity.name.clone(),
                rules: position.rules(),
            });
        };
        refuse_finished(hex)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(hex) {
                Ok(ranking) => return Ok(ranking),
                Err(source) if attempts == crate::engine::ATTEMPTS => {
                    return Err(OracleError::Engine { position: position.to_string(), source });
                }
                Err(_) => {}
            }
        }
    }
}
