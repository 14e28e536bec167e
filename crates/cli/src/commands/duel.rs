//! `mavis match`: two players meet, without a file of settings.

use super::{
    answer, answer_json,
    league::{Duel, Watch, play_watched, run_options, stands},
    wrote,
};
use crate::input::{BadInput, OrBadInput};
use clap::Args;
use mavis_game::Rules;
use mavis_league::{
    Intervals, report,
    wire::{LeagueConfig, LeagueStore, PlayerConfig, SprtSection},
};
use std::path::{Path, PathBuf};

/// Plays a match of two players and estimates the difference in strength.
///
/// Every opening is played twice with sides swapped. The running line has the score, the Elo difference with its 95 %
/// interval, and the log-likelihood ratio of a sequential test, all as the first player sees it.
/// Example: mavis match mav-mcts:sims=100 mav --game connect4 --games 100
#[derive(Args)]
pub(crate) struct Match {
    /// One player: a player line (mavis players lists them)
    first: String,
    /// The other
    second: String,
    /// The game: chess, chess960, connect4, hex (hex:size=13, hex:swap), othello or togyz
    #[arg(long, default_value = "chess")]
    game: String,
    /// Games to play; an odd number is rounded up
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    games: u64,
    /// Makes pairings, openings and players repeat exactly
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Openings: a file of FEN, EPD or PGN, or table4 (default: table4 in chess, none elsewhere)
    #[arg(long)]
    book: Option<String>,
    /// Random plies after the opening (default: 2 where there is neither a book nor a random start)
    #[arg(long)]
    random_plies: Option<u32>,
    /// Clock of each side: seconds, or seconds+increment
    #[arg(long)]
    clock: Option<String>,
    /// Seconds per move, for players that set no limit of their own
    #[arg(long)]
    movetime: Option<f64>,
    /// Positions or simulations per move, for players that set no limit of their own
    #[arg(long)]
    nodes: Option<u64>,
    /// Concurrent games (default: as many as cores allow)
    #[arg(long, value_parser = crate::input::at_once)]
    concurrency: Option<usize>,
    /// Stops as soon as the sequential test decides
    #[arg(long)]
    sprt: bool,
    /// Hypothesis of the test to reject, in Elo
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    elo0: f64,
    /// Hypothesis of the test to accept, in Elo
    #[arg(long, default_value_t = 10.0, allow_negative_numbers = true)]
    elo1: f64,
    /// Keeps the games in a folder, as mavis league does; the same command continues it (default: they are not kept)
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The standings as one JSON object
    #[arg(long)]
    json: bool,
}

impl Match {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let config = self.config()?;
        let test = self.test().config().or_bad_input()?;
        let scratch = Scratch::new(self.out.is_none())?;
        let folder = self.out.as_deref().unwrap_or(&scratch.folder);
        let games = if LeagueStore::is_in(folder) {
            LeagueStore::read(folder).map_err(super::league::store_failure)?.1
        } else {
            Vec::new()
        };
        let names = [config.players[0].name().to_owned(), config.players[1].name().to_owned()];
        let mut watch = Watch::over(Duel::new(names.clone(), games, test), self.out.is_some());
        let options = run_options(self.concurrency);
        play_watched(&mut watch, &config, Path::new(""), folder, &options)?;
        let (standings, _) = stands(folder, Intervals::Sandwich)?;
        let (_, games) = LeagueStore::read(folder).map_err(super::league::store_failure)?;
        if let Some(folder) = &self.out {
            wrote(folder);
        }
        if self.json {
            return answer_json(&report::json(&standings));
        }
        let [first, second] = &names;
        let score = Duel::new(names.clone(), games, test);
        answer(&format!("{}\n{first} against {second}: {score}", report::table(&standings)))
    }

    fn test(&self) -> SprtSection {
        SprtSection { elo0: self.elo0, elo1: self.elo1, ..SprtSection::default() }
    }

    fn config(&self) -> Result<LeagueConfig, BadInput> {
        let rules: Rules = self.game.parse().or_bad_input()?;
        // Tables have the names as they were typed.
        let player = |line: &String| PlayerConfig { name: Some(line.clone()), ..PlayerConfig::new(line) };
        let mut players = vec![player(&self.first), player(&self.second)];
        if self.first == self.second {
            players[1].name = Some(format!("{} (2)", self.second));
        }
        let title = format!("{} - {}", self.first, self.second);
        let mut config = LeagueConfig::new(&title, &self.game, players);
        config.seed = self.seed;
        config.clock.clone_from(&self.clock);
        config.schedule.pairs = self.games.div_ceil(2);
        config.limits.time = self.movetime;
        config.limits.nodes = self.nodes;
        config.sprt = self.sprt.then(|| self.test());
        let (book, random_plies) = match rules {
            Rules::Chess => (Some("table4".to_owned()), 0),
            Rules::Chess960 => (None, 0),
            _ => (None, 2),
        };
        let without_book = self.book.is_none() || rules == Rules::Chess960;
        config.openings.random_plies =
            self.random_plies.unwrap_or(if without_book { random_plies } else { 0 });
        config.openings.book = self.book.clone().or(book);
        config.validate().or_bad_input()?;
        Ok(config)
    }
}

/// A folder for a match that is not kept; it goes with the match.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new(needed: bool) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("mavis-match-{}", std::process::id()));
        if needed {
            std::fs::create_dir(&folder)?;
        }
        Ok(Self { folder })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It does not exist where the games are kept elsewhere.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
