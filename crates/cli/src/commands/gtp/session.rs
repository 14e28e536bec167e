//! What the controller says, and what follows.

use super::{
    board::{Board, move_text, parse_move},
    clock::{SideClock, TimeSettings, seconds},
};
use crate::{
    input::{BadInput, OrBadInput},
    registry,
};
use mavis_game::{Game as _, Position, Rules, Side};
use mavis_oracle::gtp::{GtpCommand, Response, color, side_of_color};
use mavis_play::{Clock, Limit, POSITION_COMMAND, Player, PlayerError, PlayerSpec, Thought, Turn};
use mavis_search::Cancel;
use std::{
    io::Write,
    time::{Duration, Instant},
};

/// Time kept for the way to the controller and back, as `Move Overhead` of `mavis uci`.
const OVERHEAD: Duration = Duration::from_millis(100);

/// One conversation with a controller.
pub(super) struct GtpSession {
    rules: Rules,
    spec: String,
    player: Box<dyn Player>,
    board: Board,
    /// The board before each command that changed it, for `undo`.
    past: Vec<Board>,
    time: Option<TimeSettings>,
    clocks: [Option<SideClock>; 2],
    over: bool,
}

/// What a command gives: text, or the reason of its failure.
type Outcome = Result<String, String>;
type Handler = fn(&mut GtpSession, &[&str]) -> Outcome;

/// Every command. The words of the protocol come first, then HTP's, then ours.
const COMMANDS: &[(&str, Handler)] = &[
    ("protocol_version", |_, arguments| nothing(arguments, "2")),
    ("name", |_, arguments| nothing(arguments, "Mavis")),
    ("version", |session, arguments| {
        nothing(arguments, &format!("{} ({})", env!("CARGO_PKG_VERSION"), session.spec))
    }),
    ("known_command", |_, arguments| Ok(matches!(arguments, [name] if find(name).is_some()).to_string())),
    ("list_commands", |_, arguments| {
        let names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        nothing(arguments, &names.join("\n"))
    }),
    ("quit", |session, arguments| {
        let answer = nothing(arguments, "")?;
        session.over = true;
        Ok(answer)
    }),
    ("boardsize", GtpSession::board_size),
    ("clear_board", |session, arguments| {
        let answer = nothing(arguments, "")?;
        session.begin(Position::start(session.rules));
        Ok(answer)
    }),
    ("komi", |_, arguments| match arguments {
        // Other games know no such thing, but controllers of Go send it to everybody.
        [number] if number.parse::<f64>().is_ok() => Ok(String::new()),
        _ => Err(SYNTAX.to_owned()),
    }),
    ("play", GtpSession::play),
    ("genmove", |session, arguments| session.choose(arguments, true)),
    ("reg_genmove", |session, arguments| session.choose(arguments, false)),
    ("undo", |session, arguments| {
        let answer = nothing(arguments, "")?;
        session.board = session.past.pop().ok_or("cannot undo")?;
        Ok(answer)
    }),
    ("showboard", |session, arguments| {
        let position = &session.board.position;
        let turn = match position.outcome() {
            Some(outcome) => format!("the game is over: {outcome}"),
            None => format!("{} to move", color(session.rules, position.side_to_move())),
        };
        nothing(arguments, &format!("{}, {turn}\n{}", session.rules, position.drawing()))
    }),
    ("time_settings", GtpSession::time_settings),
    ("time_left", GtpSession::time_left),
    ("final_score", |session, arguments| {
        let outcome = session.board.position.outcome().ok_or("cannot score: the game is not over")?;
        let score = |winner: Side| {
            let initial = if color(session.rules, winner) == "black" { "B+" } else { "W+" };
            format!("{initial}{}", margin(&session.board.position, winner))
        };
        nothing(arguments, &outcome.winner().map_or_else(|| "0".to_owned(), score))
    }),
    ("all_legal_moves", |session, arguments| {
        let position = &session.board.position;
        let moves: Vec<String> =
            position.legal_moves().into_iter().map(|mv| move_text(position, mv)).collect();
        nothing(arguments, &moves.join(" "))
    }),
    (POSITION_COMMAND, |session, arguments| match arguments {
        [] => Ok(session.board.position.to_string()),
        words => {
            let start =
                Position::parse(session.rules, &words.join(" ")).map_err(|error| error.to_string())?;
            session.begin(start);
            Ok(String::new())
        }
    }),
    ("mavis-values", GtpSession::values),
];

const SYNTAX: &str = "syntax error";

/// By how much a side has won a finished game, in the games that are counted: discs of Othello with the empty squares for the
/// winner, kumalaks of Togyz Kumalak.
fn margin(position: &Position, winner: Side) -> String {
    match position {
        Position::Othello(othello) => othello.final_score().abs().to_string(),
        Position::Togyz(togyz) => {
            togyz.final_kazan(winner).abs_diff(togyz.final_kazan(winner.other())).to_string()
        }
        _ => String::new(),
    }
}

fn find(name: &str) -> Option<Handler> {
    COMMANDS.iter().find(|(known, _)| *known == name).map(|(_, handler)| *handler)
}

/// The answer of a command that takes no arguments.
fn nothing(arguments: &[&str], answer: &str) -> Outcome {
    if arguments.is_empty() { Ok(answer.to_owned()) } else { Err(SYNTAX.to_owned()) }
}

impl GtpSession {
    pub(super) fn start(rules: Rules, spec: &PlayerSpec, seed: u64) -> anyhow::Result<Self> {
        if spec.kind == "human" {
            return Err(BadInput::new("a human cannot be the engine: stdin belongs to the controller").into());
        }
        let mut player = registry::players().build(spec, seed).or_bad_input()?;
        registry::check_plays(&mut *player, &[rules])?;
        player.new_game(rules);
        Ok(Self {
            rules,
            spec: spec.to_string(),
            player,
            board: Board::at(Position::start(rules)),
            past: Vec::new(),
            time: None,
            clocks: [None; 2],
            over: false,
        })
    }

    /// Acts on one line; a line without a command has no response.
    pub(super) fn handle(&mut self, line: &str) -> Option<Response> {
        let command = GtpCommand::parse(line)?;
        let arguments: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
        let result = match find(&command.name) {
            Some(handler) => handler(self, &arguments),
            None => Err("unknown command".to_owned()),
        };
        Some(Response { id: command.id, result })
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    fn begin(&mut self, start: Position) {
        self.board = Board::at(start);
        self.past.clear();
        self.clocks = [self.time.and_then(|time| time.start()); 2];
        self.player.new_game(self.rules);
    }

    fn board_size(&mut self, arguments: &[&str]) -> Outcome {
        let number = |text: &str| text.parse::<u32>().map_err(|_| SYNTAX.to_owned());
        let (width, height) = match arguments {
            [width] => (number(width)?, None),
            [width, height] => (number(width)?, Some(number(height)?)),
            _ => return Err(SYNTAX.to_owned()),
        };
        let unacceptable = || "unacceptable size".to_owned();
        let fits = |expected: (u32, u32)| width == expected.0 && height.is_none_or(|it| it == expected.1);
        match self.rules {
            Rules::Hex { swap, .. } => {
                let size = u8::try_from(width).ok().filter(|size| (3..=19).contains(size));
                let size = size.filter(|_| height.is_none_or(|height| height == width));
                let rules = Rules::Hex { size: size.ok_or_else(unacceptable)?, swap };
                // Some players know one size only.
                registry::check_plays(&mut *self.player, &[rules]).map_err(|_| unacceptable())?;
                self.rules = rules;
            }
            Rules::Connect4 if fits((7, 6)) => {}
            Rules::Chess | Rules::Chess960 | Rules::Othello if fits((8, 8)) => {}
            Rules::Togyz if fits((9, 2)) => {}
            _ => return Err(unacceptable()),
        }
        self.begin(Position::start(self.rules));
        Ok(String::new())
    }

    fn side(&self, text: &str) -> Result<Side, String> {
        side_of_color(self.rules, text).ok_or_else(|| SYNTAX.to_owned())
    }

    fn play(&mut self, arguments: &[&str]) -> Outcome {
        let [side, text] = arguments else { return Err(SYNTAX.to_owned()) };
        let side = self.side(side)?;
        let mut board = self.board.clone();
        // The protocol wants these words first; some reasons begin with them.
        let illegal = |reason: String| match reason.starts_with("illegal move") {
            true => reason,
            false => format!("illegal move: {reason}"),
        };
        board.turn_to(side).map_err(illegal)?;
        let mv = parse_move(&board.position, text).map_err(illegal)?;
        board.play(mv);
        self.past.push(std::mem::replace(&mut self.board, board));
        Ok(String::new())
    }

    /// A move of the player, played or not.
    fn choose(&mut self, arguments: &[&str], played: bool) -> Outcome {
        let [side] = arguments else { return Err(SYNTAX.to_owned()) };
        let side = self.side(side)?;
        let mut board = self.board.clone();
        board.turn_to(side)?;
        if board.position.outcome().is_some() {
            return Err("the game is over".to_owned());
        }
        let began = Instant::now();
        let limit = self.limit(side);
        let choice = self.player.choose(&mut turn(&board, limit, &mut |_| {}));
        if let (Some(time), Some(clock)) = (self.time, side.of_mut(&mut self.clocks)) {
            *clock = time.after(*clock, began.elapsed());
        }
        let mv = match choice {
            Ok(choice) if board.position.is_legal(choice.mv) => choice.mv,
            Err(PlayerError::Resign) => return Ok("resign".to_owned()),
            trouble => {
                let reason = trouble.map_or_else(
                    |error| error.to_string(),
                    |_| "the player chose an illegal move".to_owned(),
                );
                let first = board.position.legal_moves().first().copied();
                let first = first.ok_or_else(|| reason.clone())?;
                // A game continues even if the player cannot. A closed stderr is no reason to stop either.
                let _ = writeln!(std::io::stderr(), "mavis: {reason}; playing the first legal move");
                first
            }
        };
        let text = move_text(&board.position, mv);
        if played {
            board.play(mv);
            self.past.push(std::mem::replace(&mut self.board, board));
        }
        Ok(text)
    }

    /// Every move the player has an opinion on, with its win rate: what an oracle over this engine asks.
    fn values(&mut self, arguments: &[&str]) -> Outcome {
        let mut board = self.board.clone();
        let side = match arguments {
            [] => board.position.side_to_move(),
            [side] => self.side(side)?,
            _ => return Err(SYNTAX.to_owned()),
        };
        board.turn_to(side)?;
        if board.position.outcome().is_some() {
            return Err("the game is over".to_owned());
        }
        let limit = self.limit(side);
        let analysis = self.player.analyze(&mut turn(&board, limit, &mut |_| {}));
        let analysis = analysis.map_err(|error| error.to_string())?;
        let rows = analysis.moves.iter().filter_map(|entry| {
            Some(format!("{} {:.4}", move_text(&board.position, entry.mv), entry.value?.clamp(0.0, 1.0)))
        });
        Ok(rows.collect::<Vec<_>>().join("\n"))
    }

    fn time_settings(&mut self, arguments: &[&str]) -> Outcome {
        let [main, period, stones] = arguments else { return Err(SYNTAX.to_owned()) };
        let (Some(main), Some(period), Ok(stones)) = (seconds(main), seconds(period), stones.parse()) else {
            return Err(SYNTAX.to_owned());
        };
        let settings = TimeSettings { main, period, stones };
        self.time = Some(settings);
        self.clocks = [settings.start(); 2];
        Ok(String::new())
    }

    fn time_left(&mut self, arguments: &[&str]) -> Outcome {
        let [side, left, stones] = arguments else { return Err(SYNTAX.to_owned()) };
        let (side, Some(left), Ok(stones)) = (self.side(side)?, seconds(left), stones.parse()) else {
            return Err(SYNTAX.to_owned());
        };
        *side.of_mut(&mut self.clocks) = Some(SideClock { left, stones });
        Ok(String::new())
    }

    /// The limit of a move by the clock; without one the player's own holds.
    fn limit(&self, side: Side) -> Limit {
        let clock = side.of(&self.clocks).map(|clock| Clock {
            // Half of a short time is left to think.
            own: clock.left.saturating_sub(OVERHEAD).max(clock.left / 2),
            other: side.other().of(&self.clocks).map_or(clock.left, |other| other.left),
            increment: Duration::ZERO,
            other_increment: Duration::ZERO,
            moves_to_go: Some(clock.stones).filter(|&stones| stones > 0),
        });
        Limit { clock, ..Limit::default() }
    }
}

/// A turn on a board. GTP has no progress messages, so intermediate analysis is dropped.
fn turn<'a>(board: &'a Board, limit: Limit, sink: &'a mut dyn FnMut(&Thought)) -> Turn<'a> {
    let Board { start, moves, position } = board;
    Turn { start, moves, position, limit, cancel: Cancel::new(), sink }
}
