//! Self-play stopped anywhere: finished games are kept, and the tables are the same.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use mavis_data::job::JobEvent;
use mavis_data::{SelfplaySettings, Selfplayed, selfplay};
use mavis_game::{Game, Position, Rules};
use mavis_oracle::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Values by the position's key; some positions fail.
struct Keys {
    /// Positions asked for, by all oracles of a run.
    n_asked: Arc<AtomicU64>,
    /// After so many the run is stopped, at a place that no thread decides by its speed.
    stop_after: u64,
    stop: Arc<AtomicBool>,
}

impl Oracle for Keys {
    fn identity(&self) -> Identity {
        Identity { name: "keys".to_owned(), version: "1".to_owned(), settings: String::new() }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        if self.n_asked.fetch_add(1, Ordering::Relaxed) >= self.stop_after {
            self.stop.store(true, Ordering::Relaxed);
        }
        if position.key().is_multiple_of(200) {
            let (oracle, reason) = ("keys".to_owned(), "its key divides by 200".to_owned());
            return Err(OracleError::NoAnswer { oracle, position: position.to_string(), reason });
        }
        let score = |idx: u64| Score::WinRate((position.key() >> idx) as u8 as f32 / 255.0);
        let moves = (0..).zip(position.legal_moves());
        let moves = moves.map(|(idx, mv)| RankedMove::new(Rules::Connect4, mv, score(idx), None));
        Ok(Ranking { moves: moves.collect() })
    }
}

/// How a run ends early.
#[derive(Clone, Copy)]
enum End {
    Never,
    /// By the flag, after so many positions.
    Stop(u64),
    /// Without any time to tidy up, after so many games.
    Kill(u64),
}

/// A run, and the games that were done at its end; `None` if it was killed.
fn run(out: &Path, end: End) -> Option<(Selfplayed, u64)> {
    let (n_asked, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let settings = SelfplaySettings {
        start: Position::start(Rules::Connect4),
        n_games: 250,
        epsilon: 0.5,
        random_plies: 2,
        seed: 1,
        max_plies: 100,
        shard_size: 200,
        out: out.to_owned(),
        stop: Arc::clone(&stop),
    };
    let stop_after = if let End::Stop(n) = end { n } else { u64::MAX };
    let oracle = || Keys { n_asked: Arc::clone(&n_asked), stop_after, stop: Arc::clone(&stop) };
    let oracles = (0..3).map(|_| Box::new(oracle()) as Box<dyn Oracle>).collect();
    let (mut n_before, mut n_last) = (None, 0);
    let watch = |event: JobEvent<'_>| {
        let JobEvent::Progress { n_done, .. } = event else { return };
        n_last = n_done;
        let n_here = n_done - *n_before.get_or_insert(n_done - 1);
        if matches!(end, End::Kill(n) if n_here >= n) {
            std::panic::resume_unwind(Box::new("killed"));
        }
    };
    let done = catch_unwind(AssertUnwindSafe(|| selfplay(&settings, oracles, watch).unwrap())).ok();
    done.map(|done| (done, n_last))
}

/// The files of a job with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in [".", "games", "annotations"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                let name = format!("{part}/{}", entry.file_name().display());
                files.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

#[test]
fn stops_anywhere_leave_the_same_games_and_lose_no_finished_one() {
    let folder = tempfile::tempdir().unwrap();
    let [calm, stopped, killed] = ["calm", "stopped", "killed"].map(|name| folder.path().join(name));
    let (whole, _) = run(&calm, End::Never).unwrap();
    assert!(whole.n_left == 0 && whole.n_aside > 2, "{whole:?}");

    let mut n_before = 0;
    for n in [300, 300, 600] {
        let (done, n_done) = run(&stopped, End::Stop(n)).unwrap();
        // All of this happens in the first shard: a game has some twenty positions.
        assert_eq!(done.n_left, 250 - n_done, "after {n}: {done:?}");
        assert!(n_done > n_before && n_done < 200, "{n_done} after {n_before}");
        n_before = n_done;
        assert!(files(&stopped).keys().any(|name| name.ends_with(".piece")));
    }
    for end in [End::Kill(7), End::Stop(900), End::Kill(60), End::Kill(1)] {
        run(&killed, end);
    }
    for out in [stopped, killed] {
        assert_eq!(run(&out, End::Never).unwrap().0, whole);
        assert!(files(&out) == files(&calm), "{:?}", files(&out).keys());
    }
}
