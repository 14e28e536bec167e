//! A league's folder: configuration, sessions and the append-only game log.

use super::{ConfigError, Difference, LeagueConfig, StoredGame};
use crate::results::{GameResult, Results};
use mavis_stable::folder_lock::{FolderLock, LockError};
use mavis_stable::kill_safe::{replace_file, sync_folder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A league's folder, open for writing by this process alone.
///
/// `config.toml` is the whole configuration, `sessions.jsonl` has a line for every run (versions, players' own names),
/// `games.jsonl` one line for every finished game, on disk before the next one counts on it.
#[derive(Debug)]
pub struct LeagueStore {
    folder: PathBuf,
    games: File,
    sessions: File,
    /// Held while this process writes.
    _lock: FolderLock,
    /// Finished games in the order of the log.
    pub finished: Vec<StoredGame>,
    /// Bytes of a line that a kill had cut short, dropped when the log was opened.
    pub dropped: usize,
    first_session: Option<LeagueSession>,
}

/// The file that makes a folder a league.
const CONFIG: &str = "config.toml";

/// One run of a league.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeagueSession {
    /// Version of Mavis.
    pub mavis: String,
    /// Seconds since 1970.
    pub started: u64,
    /// What each player calls itself, engine versions included.
    pub players: BTreeMap<String, String>,
}

/// A folder that holds no usable league.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot use {path}: {error}")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Another process runs this league, or the folder cannot be written.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder holds another league.
    #[error("{folder} holds a league with another configuration:\n{}", list(.differences))]
    Changed {
        /// The folder.
        folder: String,
        /// What differs, from disk to now.
        differences: Vec<Difference>,
    },
    /// A player reports another name or version than when the league began.
    #[error("player '{player}' was '{before}' when the league began and is '{now}' now")]
    OtherPlayer {
        /// Its name in the league.
        player: String,
        /// Its own name then.
        before: String,
        /// Its own name now.
        now: String,
    },
    /// The stored configuration does not parse.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A line inside the log is damaged.
    #[error("{path} line {line}: {reason}")]
    Line {
        /// Which file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(|difference| format!("  {difference}")).collect::<Vec<_>>().join("\n")
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |error| StoreError::Io { path: path.display().to_string(), error }
}

impl LeagueStore {
    /// Whether a folder holds a league.
    #[must_use]
    pub fn is_in(folder: &Path) -> bool {
        folder.join(CONFIG).exists()
    }

    /// Opens the folder, makes it if need be, and reads what is there.
    ///
    /// # Errors
    /// When another process runs it, it holds another league, or a file is damaged beyond a torn last line.
    pub fn open(folder: &Path, config: &LeagueConfig) -> Result<Self, StoreError> {
        let lock = FolderLock::take(folder)?;
        let config_path = folder.join(CONFIG);
        if config_path.exists() {
            let before = read_config(folder)?;
            let differences = before.difference(config);
            if !differences.is_empty() {
                return Err(StoreError::Changed { folder: folder.display().to_string(), differences });
            }
        }
        let toml = config.to_toml()?;
        replace_file(&config_path, |file| file.write_all(toml.as_bytes())).map_err(io_error(&config_path))?;
        let games_path = folder.join("games.jsonl");
        let mut games = append_to(&games_path)?;
        let (finished, good_bytes, total_bytes) = read_lines(&games_path, &mut games)?;
        if good_bytes < total_bytes {
            games.set_len(good_bytes as u64).map_err(io_error(&games_path))?;
            games.sync_all().map_err(io_error(&games_path))?;
        }
        let sessions_path = folder.join("sessions.jsonl");
        let mut sessions = append_to(&sessions_path)?;
        let (list, good, total): (Vec<LeagueSession>, _, _) = read_lines(&sessions_path, &mut sessions)?;
        if good < total {
            sessions.set_len(good as u64).map_err(io_error(&sessions_path))?;
        }
        sync_folder(folder).map_err(io_error(folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            games,
            sessions,
            _lock: lock,
            finished,
            dropped: total_bytes.saturating_sub(good_bytes),
            first_session: list.into_iter().next(),
        })
    }

    /// Notes that a run begins.
    ///
    /// # Errors
    /// When a player calls itself otherwise than in the league's first run, or the line cannot be written.
    pub fn begin_session(&mut self, session: &LeagueSession) -> Result<(), StoreError> {
        if let Some(first) = &self.first_session {
            for (player, now) in &session.players {
                if let Some(before) = first.players.get(player).filter(|before| *before != now) {
                    let (player, before, now) = (player.clone(), before.clone(), now.clone());
                    return Err(StoreError::OtherPlayer { player, before, now });
                }
            }
        } else {
            self.first_session = Some(session.clone());
        }
        let path = self.folder.join("sessions.jsonl");
        write_lines(&mut self.sessions, std::slice::from_ref(session)).map_err(io_error(&path))
    }

    /// Puts games on disk; when this returns they are there whatever happens next.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&mut self, games: Vec<StoredGame>) -> Result<(), StoreError> {
        if games.is_empty() {
            return Ok(());
        }
        let path = self.folder.join("games.jsonl");
        write_lines(&mut self.games, &games).map_err(io_error(&path))?;
        self.finished.extend(games);
        Ok(())
    }

    /// Reads a league without running it; also while another process does.
    ///
    /// # Errors
    /// When the folder holds no league or a file is damaged beyond a torn last line.
    pub fn read(folder: &Path) -> Result<(LeagueConfig, Vec<StoredGame>), StoreError> {
        let config = read_config(folder)?;
        let path = folder.join("games.jsonl");
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((config, Vec::new())),
            Err(error) => return Err(io_error(&path)(error)),
        };
        let (games, _, _) = read_lines(&path, &mut file)?;
        Ok((config, games))
    }
}

/// The results of stored games, in the order of the schedule; games of players not in the list are left out.
#[must_use]
pub fn results_of(names: &[String], games: &[StoredGame]) -> Results {
    let index = |name: &String| names.iter().position(|known| known == name);
    let mut list: Vec<(u64, GameResult)> = games
        .iter()
        .filter_map(|game| {
            let (first, second) = (index(&game.first)?, index(&game.second)?);
            let (outcome, pair) = (game.result.into(), game.pair);
            Some((game.game, GameResult { first, second, outcome, pair }))
        })
        .collect();
    list.sort_by_key(|(number, _)| *number);
    Results { players: names.to_vec(), games: list.into_iter().map(|(_, game)| game).collect() }
}

fn read_config(folder: &Path) -> Result<LeagueConfig, StoreError> {
    let path = folder.join(CONFIG);
    let text = fs::read_to_string(&path).map_err(io_error(&path))?;
    Ok(LeagueConfig::of_any_game(&text)?)
}

fn append_to(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io_error(path))
}

fn write_lines<T: Serialize>(file: &mut File, items: &[T]) -> io::Result<()> {
    let mut text = Vec::new();
    for item in items {
        serde_json::to_writer(&mut text, item)?;
        text.push(b'\n');
    }
    file.write_all(&text)?;
    file.sync_data()
}

/// Every line of a log, the bytes they fill, and the bytes of the file; only the last line may be torn.
fn read_lines<T: for<'de> Deserialize<'de> + Numbered>(
    path: &Path,
    file: &mut File,
) -> Result<(Vec<T>, usize, usize), StoreError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(io_error(path))?;
    file.read_to_end(&mut bytes).map_err(io_error(path))?;
    let (mut items, mut good, mut seen) = (Vec::new(), 0, BTreeSet::new());
    let fault =
        |line: usize, reason: String| StoreError::Line { path: path.display().to_string(), line, reason };
    for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
        if !line.ends_with(b"\n") {
            break;
        }
        match serde_json::from_slice::<T>(line) {
            Ok(item) => {
                if let Some(game) = item.numbers().into_iter().flatten().find(|&game| game > MOST_GAMES) {
                    return Err(fault(
                        number,
                        format!("game or pair {game} (expected at most {MOST_GAMES})"),
                    ));
                }
                if item.numbers().is_some_and(|[game, _]| !seen.insert(game)) {
                    return Err(fault(number, "this game is in the log twice".to_owned()));
                }
                items.push(item);
            }
            // A file system may keep the length of a torn write but not its bytes.
            Err(_) if line.len().saturating_add(good) == bytes.len() => break,
            Err(error) => return Err(fault(number, error.to_string())),
        }
        good = line.len().saturating_add(good);
    }
    Ok((items, good, bytes.len()))
}

/// Far more games than anybody plays, and few enough that numbers can be counted up and doubled.
const MOST_GAMES: u64 = 1 << 48;

/// Lines that must not come twice.
trait Numbered {
    /// Of the game and of its pair.
    fn numbers(&self) -> Option<[u64; 2]>;
}

impl Numbered for StoredGame {
    fn numbers(&self) -> Option<[u64; 2]> {
        Some([self.game, self.pair])
    }
}

impl Numbered for LeagueSession {
    fn numbers(&self) -> Option<[u64; 2]> {
        None
    }
}
