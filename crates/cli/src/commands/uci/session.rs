//! What the GUI says, and what follows.

use super::{
    options::{EngineOptions, Set, offered},
    search::{Order, Searcher, note},
};
use crate::{
    commands::answer,
    input::{BadInput, OrBadInput},
    registry,
};
use mavis_game::{Game as _, Move, Position, Rules};
use mavis_oracle::uci::{Command, EngineMessage, Go, Start};
use mavis_play::{Clock, Limit, PlayerSpec, Registry};
use std::time::{Duration, Instant};

/// No search is longer, whatever the GUI says.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// One conversation with a GUI.
pub(super) struct UciSession {
    registry: Registry,
    spec: PlayerSpec,
    seed: u64,
    options: EngineOptions,
    /// Unknown lines are answered only for someone who debugs.
    debug: bool,
    start: Position,
    moves: Vec<Move>,
    position: Position,
    /// The limit that holds once the move pondered on is played.
    pondering: Option<Limit>,
    searcher: Searcher,
}

impl UciSession {
    pub(super) fn start(spec: PlayerSpec, seed: u64) -> anyhow::Result<Self> {
        let registry = registry::players();
        if spec.kind == "human" {
            return Err(BadInput::new("a human cannot be the engine: stdin belongs to the GUI").into());
        }
        let mut player = registry.build(&spec, seed).or_bad_input()?;
        // A GUI may ask for either; a player that knows one of them is an engine for it.
        registry::check_plays(&mut *player, &[Rules::Chess, Rules::Chess960])?;
        let position = Position::start(Rules::Chess);
        Ok(Self {
            registry,
            spec,
            seed,
            options: EngineOptions::default(),
            debug: false,
            start: position.clone(),
            moves: Vec::new(),
            position,
            pondering: None,
            searcher: Searcher::start(player)?,
        })
    }

    /// Acts on one line; `false` when it is the last.
    pub(super) fn handle(&mut self, line: &str) -> anyhow::Result<bool> {
        match Command::parse(line) {
            Command::Uci => self.introduce()?,
            Command::Debug(on) => self.debug = on,
            Command::IsReady => answer(&EngineMessage::ReadyOk.to_string())?,
            Command::SetOption { name, value } => self.set_option(&name, value.as_deref()),
            Command::NewGame => self.searcher.new_game(self.rules()),
            Command::Position { start, moves } => {
                if let Err(reason) = self.set_position(&start, &moves) {
                    note(&format!("{reason}; the position stays as it was"));
                }
            }
            Command::Go(go) => self.go(&go),
            Command::Stop => self.searcher.stop(),
            Command::PonderHit => {
                let limit = self.pondering.take();
                let time = limit.and_then(|limit| time_of(&limit));
                self.searcher.ponder_hit(time);
            }
            Command::Quit => return Ok(false),
            Command::Unknown(text) if self.debug && !text.is_empty() => {
                note(&format!("unknown command: {text}"));
            }
            Command::Unknown(_) => {}
        }
        Ok(true)
    }

    /// Ends everything.
    pub(super) fn end(self) {
        self.searcher.end();
    }

    fn rules(&self) -> Rules {
        if self.options.chess960 { Rules::Chess960 } else { Rules::Chess }
    }

    fn introduce(&self) -> anyhow::Result<()> {
        let name = format!("Mavis {} ({})", env!("CARGO_PKG_VERSION"), self.spec);
        let mut lines =
            vec![EngineMessage::Name(name), EngineMessage::Author("the Mavis developers".to_owned())];
        let kind = self.registry.check(&self.spec).or_bad_input()?;
        lines.extend(offered(kind, &self.spec).into_iter().map(EngineMessage::Option));
        lines.push(EngineMessage::UciOk);
        answer(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) {
        let Ok(kind) = self.registry.check(&self.spec) else { return };
        match self.options.set(kind, name, value) {
            Set::Done => {}
            Set::Refused(reason) => note(&reason),
            Set::Player(key) => {
                let mut spec = self.spec.clone();
                match value {
                    // An empty text is the way back to the player's default.
                    None | Some("" | "<empty>") => drop(spec.options.remove(&key)),
                    Some(value) => drop(spec.options.insert(key, value.to_owned())),
                }
                match self.registry.build(&spec, self.seed) {
                    Ok(player) => {
                        self.spec = spec;
                        self.searcher.replace(player);
                    }
                    Err(error) => note(&error.to_string()),
                }
            }
        }
    }

    fn set_position(&mut self, start: &Start, texts: &[String]) -> Result<(), String> {
        let start = match start {
            Start::StartPosition => Position::start(self.rules()),
            Start::Fen(fen) => Position::parse(self.rules(), fen).map_err(|error| error.to_string())?,
        };
        let mut position = start.clone();
        let mut moves = Vec::with_capacity(texts.len());
        for text in texts {
            moves.push(position.play_text(text).map_err(|error| error.to_string())?);
        }
        (self.start, self.moves, self.position) = (start, moves, position);
        Ok(())
    }

    fn go(&mut self, go: &Go) {
        let mut limit = self.limit(go);
        if limit.only.len() < go.search_moves.len() {
            note("searchmoves holds illegal moves, which are left out");
        }
        self.pondering = go.ponder.then(|| limit.clone());
        if go.ponder || go.infinite {
            limit.time = None;
            limit.clock = None;
            limit.infinite = true;
        }
        self.searcher.go(Order {
            start: self.start.clone(),
            moves: self.moves.clone(),
            position: self.position.clone(),
            limit,
            wdl: self.options.show_wdl,
            wait: go.ponder || go.infinite,
        });
    }

    /// The limits of a search, with the way to the GUI and back taken off every time.
    fn limit(&self, go: &Go) -> Limit {
        let overhead = self.options.move_overhead;
        let less = |time: Duration| time.min(LONGEST).saturating_sub(overhead);
        let side = self.position.side_to_move();
        let capped = |time: Option<Duration>| time.unwrap_or_default().min(LONGEST);
        let clock = side.of(&go.clock).map(|left| Clock {
            own: less(left),
            other: side.other().of(&go.clock).unwrap_or(left).min(LONGEST),
            increment: capped(*side.of(&go.increment)),
            other_increment: capped(*side.other().of(&go.increment)),
            moves_to_go: go.moves_to_go.filter(|&moves| moves > 0),
        });
        let by_mate = go.mate.map(|moves| moves.saturating_mul(2).saturating_sub(1).max(1));
        let only = go.search_moves.iter().filter_map(|text| self.position.parse_move(text).ok()).collect();
        Limit {
            // Half of a short time is left to think.
            time: go.move_time.map(|time| less(time).max(time.min(LONGEST) / 2)),
            nodes: go.nodes,
            depth: go.depth.or(by_mate),
            clock,
            infinite: false,
            only,
            lines: self.options.multi_pv,
        }
    }
}

/// How long a search may take by a limit, from now on.
fn time_of(limit: &Limit) -> Option<Duration> {
    let now = Instant::now();
    limit.deadline(now, Duration::ZERO).map(|deadline| deadline.saturating_duration_since(now))
}
