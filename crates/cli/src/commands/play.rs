//! `mavis play`: one game between two players; also what `mavis` alone does without a terminal.

use super::{answer, answer_json, serve::Serve};
use crate::{
    input::{BadInput, OrBadInput, Place, move_time},
    registry,
};
use clap::Args;
use mavis_game::{Chess, Game, Position, Rules};
use mavis_play::{GameRecord, MoveRecord, PlayerSpec, Referee, TimeControl, referee::Observer};
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::io::IsTerminal;

/// Plays one game between two players.
///
/// Example: mavis play --game connect4 --first human --second mcts:sims=50000
#[derive(Args)]
#[command(after_long_help = registry::help())]
pub(crate) struct Play {
    #[command(flatten)]
    place: Place,
    /// The player who moves first from the start position (White in chess)
    #[arg(long)]
    first: String,
    /// The other player
    #[arg(long)]
    second: String,
    /// Makes the game repeat exactly; draws the start position of Chess960
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Clock of each player: seconds, or seconds+increment
    #[arg(long)]
    clock: Option<TimeControl>,
    /// Seconds a move for both players
    #[arg(long)]
    movetime: Option<f64>,
    /// Ends the game as a draw after so many plies
    #[arg(long)]
    max_plies: Option<u32>,
    /// Plays on where a draw could be claimed (threefold repetition, fifty moves)
    #[arg(long)]
    no_claims: bool,
    /// Only the moves and the result, no boards
    #[arg(long)]
    quiet: bool,
    /// The whole game as one JSON object
    #[arg(long)]
    json: bool,
}

impl Play {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let start = self.start()?;
        let registry = registry::players();
        let build = |text: &str, seed| -> Result<_, BadInput> {
            let spec: PlayerSpec = text.parse().or_bad_input()?;
            let mut player = registry.build(&spec, seed).or_bad_input()?;
            player.ready_for(start.rules()).or_bad_input()?;
            Ok(player)
        };
        // Two players of one kind must not mirror each other, so their seeds differ.
        let mut first = build(&self.first, self.seed.wrapping_mul(2))?;
        let mut second = build(&self.second, self.seed.wrapping_mul(2).wrapping_add(1))?;
        let mut referee = Referee {
            time_control: self.clock,
            claim_draws: !self.no_claims,
            max_plies: self.max_plies,
            ..Referee::default()
        };
        let time = move_time(self.movetime)?;
        referee.limits.iter_mut().for_each(|limit| limit.time = time);
        let mut watch = Watch { boards: !self.quiet && !self.json, json: self.json, failed: None };
        if watch.boards {
            answer(&start.drawing())?;
        }
        let record = referee.play_observed(&start, [&mut *first, &mut *second], &mut watch);
        if let Some(error) = watch.failed {
            return Err(error);
        }
        let names = [first.name(), second.name()];
        if self.json { answer_json(&Played::new(&record, names)) } else { print_result(&record, &names) }
    }
}

impl Play {
    /// The position given; without one the start, which the seed draws in Chess960.
    fn start(&self) -> Result<Position, BadInput> {
        let array = || Xoshiro256PlusPlus::seed_from_u64(self.seed).random_range(0..960);
        match (self.place.rules()?, &self.place.position) {
            (Rules::Chess960, None) => {
                Chess::start960(array()).map(Position::Chess).ok_or_else(|| BadInput::new("no such array"))
            }
            _ => self.place.position(),
        }
    }
}

/// Prints each move as it is played.
struct Watch {
    boards: bool,
    json: bool,
    failed: Option<anyhow::Error>,
}

impl Observer for Watch {
    fn moved(&mut self, made: &MoveRecord, position: &Position) -> Option<mavis_play::Verdict> {
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
        place: Place { game: "chess".to_owned(), position: None },
        first: "mav".to_owned(),
        second: "mav".to_owned(),
        seed: 0,
        clock: None,
        movetime: None,
        max_plies: Some(120),
        no_claims: false,
        quiet: false,
        json: false,
    }
    .run()
}
