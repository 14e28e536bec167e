//! Games on disk: written after every move, so that nothing is lost however the program ends.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::input::BadInput;
use anyhow::Context as _;
use mavis_data::pgn::{PgnGame, PgnReader};
use mavis_game::{Game as _, Move, Position};
use mavis_stable::{
    kill_safe::replace_file,
    time::{Date, unix_seconds},
};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The file of one game.
pub(crate) struct SavedGame {
    pub(crate) path: PathBuf,
    /// Player lines; `human` for a person.
    names: [String; 2],
    date: String,
}

impl SavedGame {
    /// A file for a new game: the one given, or the next free name in the user's folder of games.
    pub(crate) fn new(path: Option<PathBuf>, start: &Position, names: [String; 2]) -> anyhow::Result<Self> {
        let date = Date::of_unix_seconds(unix_seconds()).pgn();
        let path = match path {
            Some(path) => path,
            None => free_name(&folder(), &date.replace('.', "-"), start.rules().name())?,
        };
        Ok(Self { path, names, date })
    }

    /// Refuses a file that holds something, which a new game would replace.
    pub(crate) fn check_free(path: &Path) -> Result<(), BadInput> {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() || found.len() > 0 => {
                let text =
                    format!("{} is there already; --continue FILE continues a saved game", path.display());
                Err(BadInput::new(text))
            }
            _ => Ok(()),
        }
    }

    /// Writes the game so far.
    pub(crate) fn write(&self, start: &Position, moves: &[Move], result: &str) -> anyhow::Result<()> {
        let mut game = PgnGame::played(start, moves, [&self.names[0], &self.names[1]], result);
        game.set_tag("Date", self.date.clone());
        let text = game.to_string();
        replace_file(&self.path, |file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// A game read back: where it starts, the moves, and who plays.
pub(crate) struct Continued {
    pub(crate) path: PathBuf,
    pub(crate) start: Position,
    pub(crate) moves: Vec<Move>,
    pub(crate) names: [String; 2],
}

impl Continued {
    /// A file, or the latest game that is not over.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, BadInput> {
        let path = match path {
            Some(path) => path,
            None => latest(&folder())
                .ok_or_else(|| BadInput::new(format!("no unfinished game in {}", folder().display())))?,
        };
        let game = read(&path)?;
        if game.result != "*" {
            return Err(BadInput::new(format!("{}: the game is over: {}", path.display(), game.result)));
        }
        let name = |tag: &str| game.tag(tag).unwrap_or("human").to_owned();
        let names = [name("White"), name("Black")];
        Ok(Self { path, moves: game.moves.iter().map(|made| made.mv).collect(), start: game.start, names })
    }
}

fn read(path: &Path) -> Result<PgnGame, BadInput> {
    let bad =
        |error: &dyn std::fmt::Display| BadInput::new(format!("cannot read {}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| bad(&error))?;
    let mut games = PgnReader::new(&text);
    let game = games.next().ok_or_else(|| bad(&"no game in it"))?.map_err(|error| bad(&error))?;
    // The file is written anew after every move, with this game alone.
    match games.next() {
        None => Ok(game),
        Some(_) => Err(bad(&"more than one game in it; put the one to continue into a file of its own")),
    }
}

/// Where games are kept; the current folder for a user without a home.
fn folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    data.map_or_else(|| PathBuf::from("."), |data| data.join("mavis/games"))
}

fn latest(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let is_game = path.extension().is_some_and(|ending| ending == "pgn");
        is_game.then_some((entry.metadata().ok()?.modified().ok()?, path))
    });
    let mut files: Vec<_> = files.collect();
    files.sort_unstable_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, path)| path).find(|path| read(path).is_ok_and(|game| game.result == "*"))
}

/// Takes the first free name, so that two games begun at once do not share a file.
fn free_name(folder: &Path, date: &str, game: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for number in 1_u32.. {
        let path = folder.join(format!("{date}-{game}-{number}.pgn"));
        match fs::File::create_new(&path) {
            Ok(mut file) => {
                file.flush()?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }
    anyhow::bail!("no free name in {}", folder.display())
}
