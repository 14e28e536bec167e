//! `mavis play`: one game, with a person at the terminal or between two players; also what `mavis` alone does without a
//! terminal.

mod seats;

use super::{answer, answer_json, serve::Serve, wrote};
use crate::{
    input::{BadInput, OrBadInput, move_time},
    registry, stop,
    terminal::{Continued, SavedGame, Seat, Style, TerminalGame},
};
use clap::Args;
use mavis_game::{Game as _, Move, Position};
use mavis_play::{
    GameRecord, Limit, MoveRecord, Player, PlayerSpec, Referee, TimeControl, referee::Observer,
};
use seats::{HUMAN, Seats};
use serde::Serialize;
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

/// Plays a game: you against a player, or two players against each other.
///
/// Examples: mavis play hex; mavis play chess --against casual --side black;
/// mavis play othello --first mav --second mcts:sims=5000
#[derive(Args)]
#[command(after_long_help = seats::levels_help())]
pub(crate) struct Play {
    #[command(flatten)]
    seats: Seats,
    /// Makes the game repeat exactly; draws the start position of Chess960
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Clock of each player: seconds, or seconds+increment
    #[arg(long)]
    clock: Option<TimeControl>,
    /// Seconds per move of the players
    #[arg(long)]
    movetime: Option<f64>,
    /// Ends the game as a draw after this many plies
    #[arg(long)]
    max_plies: Option<u32>,
    /// Plays on where a draw could be claimed (threefold repetition, fifty moves)
    #[arg(long)]
    no_claims: bool,
    /// Only the moves and the result, no boards
    #[arg(long)]
    quiet: bool,
    /// The whole game as one JSON object; for games between two players
    #[arg(long)]
    json: bool,
    /// Continues an unfinished game: its file, or the latest one
    #[arg(long = "continue", value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["name", "game", "position"])]
    continued: Option<Option<PathBuf>>,
    /// A new or empty file where the game is saved as PGN (default: a new file in ~/.local/share/mavis/games when you play, none otherwise)
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

impl Play {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if let Some(path) = &self.continued {
            let game = Continued::open(path.clone())?;
            self.check_save(Some(&game.path))?;
            let names = self.seats.names_or(game.names);
            return self.run_game(game.start, game.moves, names, Some(game.path));
        }
        self.check_save(None)?;
        let start = self.seats.start(self.seed)?;
        let names = self.seats.names(start.rules())?;
        self.run_game(start, Vec::new(), names, None)
    }

    /// `--save` names a new file, or the one that is continued.
    fn check_save(&self, continued: Option<&Path>) -> Result<(), BadInput> {
        let other = self.save.as_deref().filter(|save| Some(*save) != continued);
        other.map_or(Ok(()), SavedGame::check_free)
    }

    fn run_game(
        self,
        start: Position,
        moves: Vec<Move>,
        names: [String; 2],
        path: Option<PathBuf>,
    ) -> anyhow::Result<()> {
        let registry = registry::players();
        let limit = Limit { time: move_time(self.movetime)?, ..Limit::default() };
        let build = |text: &str, seed| -> Result<Box<dyn Player>, BadInput> {
            let spec: PlayerSpec = text.parse().or_bad_input()?;
            let mut player = registry.build(&spec, seed).or_bad_input()?;
            player.ready_for(start.rules()).or_bad_input()?;
            Ok(player)
        };
        // Two players of one kind must not mirror each other, so their seeds differ.
        let seeds = [self.seed.wrapping_mul(2), self.seed.wrapping_mul(2).wrapping_add(1)];
        let [first, second] = [(&names[0], seeds[0]), (&names[1], seeds[1])].map(|(name, seed)| {
            Ok::<_, BadInput>(if name == HUMAN { Seat::Person } else { Seat::Player(build(name, seed)?) })
        });
        let seats = match [first?, second?] {
            [Seat::Player(first), Seat::Player(second)] if path.is_none() => {
                return self.between_players(&start, [first, second], limit, &names);
            }
            [Seat::Player(_), Seat::Player(_)] => {
                return Err(BadInput::new("--continue needs a person on one side").into());
            }
            seats => seats,
        };
        if self.json {
            return Err(BadInput::new("--json is for games between two players").into());
        }
        let saved = SavedGame::new(self.save.or(path), &start, names)?;
        TerminalGame {
            start,
            moves,
            seats,
            limit,
            clock: self.clock,
            claim_draws: !self.no_claims,
            max_plies: self.max_plies,
            saved,
            registry,
            style: Style::of_terminal(),
            quiet: self.quiet,
            cancel: stop::cancel("the game, which can be continued"),
        }
        .run()
    }

    fn between_players(
        self,
        start: &Position,
        [mut first, mut second]: [Box<dyn Player>; 2],
        limit: Limit,
        names: &[String; 2],
    ) -> anyhow::Result<()> {
        let referee = Referee {
            limits: [limit.clone(), limit],
            time_control: self.clock,
            claim_draws: !self.no_claims,
            max_plies: self.max_plies,
            ..Referee::default()
        };
        let saving = match self.save {
            Some(path) => Some(Saving::begin(SavedGame::new(Some(path), start, names.clone())?, start)?),
            None => None,
        };
        let mut watch = Watch { boards: !self.quiet && !self.json, json: self.json, saving, failed: None };
        if watch.boards {
            answer(&start.drawing())?;
        }
        let record = referee.play_observed(start, [&mut *first, &mut *second], &mut watch);
        if let Some(error) = watch.failed {
            return Err(error);
        }
        let names_of = [first.name(), second.name()];
        if let Some((side, reason)) = &record.broken {
            anyhow::bail!("{}: the network failed: {reason}", names_of[side.index()]);
        }
        let answered = match self.json {
            true => answer_json(&Played::new(&record, names_of)),
            false => print_result(&record, &names_of),
        };
        // After the answer, which a disk that is full must not cost.
        if let Some(saving) = watch.saving {
            let result = record.verdict.as_ref().map_or("*", |verdict| verdict.outcome.as_str());
            saving.write(result)?;
            wrote(&saving.saved.path);
        }
        answered
    }
}

/// Saves and prints each move as it is played.
struct Watch {
    boards: bool,
    json: bool,
    saving: Option<Saving>,
    failed: Option<anyhow::Error>,
}

/// The file of a game between two players, and the game so far.
struct Saving {
    saved: SavedGame,
    start: Position,
    moves: Vec<Move>,
}

impl Saving {
    /// Writes the game without moves, so that a path that cannot be written is known before the first one.
    fn begin(saved: SavedGame, start: &Position) -> anyhow::Result<Self> {
        let saving = Self { saved, start: start.clone(), moves: Vec::new() };
        saving.write("*")?;
        Ok(saving)
    }

    fn write(&self, result: &str) -> anyhow::Result<()> {
        self.saved.write(&self.start, &self.moves, result)
    }
}

impl Observer for Watch {
    fn moved(&mut self, made: &MoveRecord, position: &Position) -> Option<mavis_play::Verdict> {
        if let Some(saving) = &mut self.saving {
            saving.moves.push(made.mv);
            // The game continues if this fails: the next move writes all of it again, and the last failure is reported.
            let _ = saving.write("*");
        }
        if self.json || self.failed.is_some() {
            return None;
        }
        let value = made.thought.value.map(|value| format!("  ({:.1} %)", 100.0 * value)).unwrap_or_default();
        let mut text = format!("{}. {}{value}\n", position.ply(), made.text);
        if self.boards {
            text.push_str(&position.drawing());
        }
        self.failed = answer(&text).err();
        None
    }
}

fn print_result(record: &GameRecord, names: &[String; 2]) -> anyhow::Result<()> {
    let moves: Vec<&str> = record.moves.iter().map(|made| made.text.as_str()).collect();
    let result = record
        .verdict
        .as_ref()
        .map_or_else(|| "*".to_owned(), |verdict| format!("{} ({})", verdict.outcome, verdict.termination));
    answer(&format!("{} - {}: {result}\nmoves: {}\n", names[0], names[1], moves.join(" ")))
}

#[derive(Serialize)]
struct Played {
    game: String,
    start: String,
    first: String,
    second: String,
    moves: Vec<PlayedMove>,
    end: String,
    result: Option<&'static str>,
    termination: Option<String>,
}

#[derive(Serialize)]
struct PlayedMove {
    r#move: String,
    value: Option<f32>,
    seconds: f64,
}

impl Played {
    fn new(record: &GameRecord, [first, second]: [String; 2]) -> Self {
        Self {
            game: record.start.rules().to_string(),
            start: record.start.to_string(),
            first,
            second,
            moves: record
                .moves
                .iter()
                .map(|made| PlayedMove {
                    r#move: made.text.clone(),
                    value: made.thought.value,
                    seconds: made.time.as_secs_f64(),
                })
                .collect(),
            end: record.end.to_string(),
            result: record.verdict.as_ref().map(|verdict| verdict.outcome.as_str()),
            termination: record.verdict.as_ref().map(|verdict| verdict.termination.to_string()),
        }
    }
}

/// What `mavis` does without a command: it serves the page, or, when nobody is at a terminal, lets the model play one game
/// against itself.
pub(crate) fn main_job() -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Serve::usual().run();
    }
    Play {
        seats: Seats::between("chess", "mav", "mav"),
        seed: 0,
        clock: None,
        movetime: None,
        max_plies: Some(120),
        no_claims: false,
        quiet: false,
        json: false,
        continued: None,
        save: None,
    }
    .run()
}
