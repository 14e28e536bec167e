//! Annotation stopped anywhere: what was judged is kept, and the table is the same.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use crate::support::{rows, write};
use mavis_data::job::JobEvent;
use mavis_data::wire::{AnnotationRow, Place, PositionRow};
use mavis_data::{AnnotateSettings, Annotated, annotate};
use mavis_game::{Game, Position, Rules};
use mavis_oracle::{Identity, Oracle, OracleError, RankedMove, Ranking, Score};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Values by the position's key; positions whose key ends in 0 fail.
struct Keys {
    n_asked: Arc<AtomicU64>,
}

impl Oracle for Keys {
    fn identity(&self) -> Identity {
        Identity { name: "keys".to_owned(), version: "1".to_owned(), settings: String::new() }
    }

    fn evaluate(&mut self, position: &Position) -> Result<Ranking, OracleError> {
        self.n_asked.fetch_add(1, Ordering::Relaxed);
        if position.key().is_multiple_of(10) {
            let reason = "its key ends in 0".to_owned();
            return Err(OracleError::NoAnswer {
                oracle: "keys".to_owned(),
                position: position.to_string(),
                reason,
            });
        }
        let score = |idx: u64| Score::WinRate((position.key() >> idx) as u8 as f32 / 255.0);
        let moves = (0..).zip(position.legal_moves());
        let moves = moves.map(|(idx, mv)| RankedMove::new(Rules::Connect4, mv, score(idx), None));
        Ok(Ranking { moves: moves.collect() })
    }
}

/// Positions of random games; openings repeat.
fn positions(path: &Path, n: usize) {
    let mut random = 7_u32;
    let mut table = Vec::new();
    while table.len() < n {
        let mut position = Position::start(Rules::Connect4);
        while table.len() < n {
            table.push(PositionRow { place: Place::of(&position, None), played: None });
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match position.random_move(random) {
                Some(mv) => position.play_unchecked(mv),
                None => break,
            }
        }
    }
    write(path, &table);
}

/// How a run ends early.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Never,
    /// By the flag, after so many positions.
    Stop(u64),
    /// Without any time to tidy up, after so many positions.
    Kill(u64),
}

/// A run; `None` if it was killed.
fn run(folder: &Path, out: &str, end: End, n_asked: &Arc<AtomicU64>) -> Option<Annotated> {
    let settings = AnnotateSettings {
        positions: vec![folder.join("positions.parquet")],
        out: folder.join(out),
        shard_size: 3_000,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let oracles = (0..3).map(|_| Box::new(Keys { n_asked: Arc::clone(n_asked) }) as Box<dyn Oracle>);
    let mut n_before = None;
    let watch = |event: JobEvent<'_>| {
        let JobEvent::Progress { n_done, .. } = event else { return };
        let n_here = n_done - *n_before.get_or_insert(n_done);
        match end {
            End::Stop(n) if n_here >= n => settings.stop.store(true, Ordering::Relaxed),
            End::Kill(n) if n_here >= n => std::panic::resume_unwind(Box::new("killed")),
            _ => {}
        }
    };
    let run = AssertUnwindSafe(|| annotate(&settings, oracles.collect(), watch).unwrap());
    catch_unwind(run).ok()
}

#[test]
fn stops_anywhere_leave_the_same_table_and_ask_little_again() {
    let folder = tempfile::tempdir().unwrap();
    positions(&folder.path().join("positions.parquet"), 20_000);
    let n_calm = Arc::new(AtomicU64::new(0));
    let calm = run(folder.path(), "calm", End::Never, &n_calm).unwrap();
    assert!(calm.n_left == 0 && calm.n_aside > 500 && calm.n_repeats > 1_000, "{calm:?}");

    // Stops by the flag lose nothing.
    let n_stopped = Arc::new(AtomicU64::new(0));
    for n in [0, 1, 300, 3_000] {
        let stopped = run(folder.path(), "stopped", End::Stop(n), &n_stopped).unwrap();
        assert!(stopped.n_left > 0, "after {n}: {stopped:?}");
    }
    assert_eq!(run(folder.path(), "stopped", End::Never, &n_stopped), Some(calm));
    assert_eq!(n_stopped.load(Ordering::Relaxed), n_calm.load(Ordering::Relaxed));

    // A kill loses the piece in work and what threads had ahead.
    let n_killed = Arc::new(AtomicU64::new(0));
    let kills = [50, 300, 2_800, 257, 6_000];
    for n in kills {
        assert_eq!(run(folder.path(), "killed", End::Kill(n), &n_killed), None);
    }
    assert_eq!(run(folder.path(), "killed", End::Never, &n_killed), Some(calm));
    let n_again = n_killed.load(Ordering::Relaxed) - n_calm.load(Ordering::Relaxed);
    assert!(n_again <= kills.len() as u64 * (256 + 3 * 16 * 64), "{n_again} asked again");

    let names = |out: &str| {
        let entries = std::fs::read_dir(folder.path().join(out)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for out in ["stopped", "killed"] {
        assert_eq!(names(out), names("calm"));
        for name in names("calm") {
            let [calm, other] =
                ["calm", out].map(|out| std::fs::read(folder.path().join(out).join(&name)).unwrap());
            assert!(calm == other, "{out}/{}", name.display());
        }
    }
    let n_rows: usize = names("calm")
        .iter()
        .filter(|name| name.to_string_lossy().ends_with(".parquet"))
        .map(|name| rows::<AnnotationRow>(&folder.path().join("calm").join(name)).len())
        .sum();
    assert_eq!(n_rows as u64, calm.n_rows);
}
