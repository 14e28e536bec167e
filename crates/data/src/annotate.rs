//! Positions in, an oracle's value for every legal move out.

mod kind;
mod sheet;

pub use kind::{AnnotateInput, AnnotateJob, Judge, Judged, Pace};

use crate::duplicates::RowSet;
use crate::job::{Job, JobError, JobEvent, Meter};
use crate::table::{TableReader, n_rows, table_files};
use crate::unique::repeats;
use crate::wire::{AnnotationRow, MoveRow, MoveText, OracleName, Place, PositionRow, ScoreUnit};
use mavis_game::{Game, Position};
use mavis_oracle::{Identity, Oracle, Ranking, Score};
use mavis_queue::{Local, Queue};
use sheet::Sheet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to annotate.
#[derive(Clone, Debug)]
pub struct AnnotateSettings {
    /// The table of positions: files and folders.
    pub positions: Vec<PathBuf>,
    /// The job's folder, which becomes the table of annotations.
    pub out: PathBuf,
    /// Positions per shard.
    pub shard_size: u64,
    /// Raised to end the work: positions in hand are finished and kept, no further one is begun.
    pub stop: Arc<AtomicBool>,
}

/// What an annotation did, earlier runs included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// Rows of the table.
    pub n_rows: u64,
    /// Positions set aside; the manifest names them with the reason.
    pub n_aside: u64,
    /// Positions that occur in the input more than once and were asked about once.
    pub n_repeats: u64,
    /// Positions still to do, when it was stopped.
    pub n_left: u64,
}

/// Who is to judge, as jobs say it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The oracle's line, from which workers on other machines make the oracle; runners of this process have theirs.
    pub line: String,
    /// What every oracle calls itself.
    pub identity: Identity,
    /// How many positions a job gets.
    pub pace: Pace,
}

/// Asks the oracles about every position once, one oracle per thread, and writes shards of annotations in the order of the input. All
/// oracles must have the same identity. Running again continues where the last run stopped, and the table is the same whatever
/// was stopped when, as long as the oracle's limit is not a time.
///
/// # Errors
/// When the folder holds another job, a table cannot be read or written, the oracle fails on a whole shard, or its network
/// fails ([`mavis_oracle::OracleError::Broken`]).
pub fn annotate(
    settings: &AnnotateSettings,
    oracles: Vec<Box<dyn Oracle>>,
    watch: impl FnMut(JobEvent<'_>),
) -> Result<Annotated, JobError> {
    let first = oracles.first().ok_or_else(|| JobError::Oracle("no oracle given".to_owned()))?;
    let request = Request { line: String::new(), identity: first.identity(), pace: Pace::by_time() };
    let judges = oracles.into_iter().map(|oracle| Judge::new(oracle, request.pace.clone()));
    annotate_on(settings, &request, &mut Local::new(judges.collect()), watch)
}

/// The same on a queue of the caller's, whose runners may be on other machines.
///
/// # Errors
/// As [`annotate`], and when the queue gives no result.
pub fn annotate_on(
    settings: &AnnotateSettings,
    request: &Request,
    queue: &mut impl Queue<AnnotateJob>,
    mut watch: impl FnMut(JobEvent<'_>),
) -> Result<Annotated, JobError> {
    let n_input = n_rows(&settings.positions)?;
    let repeats = repeats::<PositionRow, _>(&settings.positions, &settings.out.join("positions"))?;
    let n_total = n_input - repeats.len();
    let shard_size = settings.shard_size.max(1);
    let n_shards = n_total.div_ceil(shard_size);
    let job_settings = job_settings(settings, &request.identity, n_input)?;
    let mut job = Job::open(&settings.out, "annotate", job_settings, n_shards)?;
    let in_work = (0..n_shards).find(|&shard| !job.is_done(shard)).unwrap_or(n_shards);
    let mut sheet = Sheet::resume(&job, in_work)?;
    let n_complete: u64 = job.manifest().done.values().map(|shard| shard.n_items).sum();
    let mut meter = Meter::new(n_total, n_complete.saturating_add(sheet.kept.n_items));
    let work = Work::new(settings, request, &repeats, &job, (in_work, sheet.kept.n_items))?;
    queue.run(work.take_while(|_| !settings.stop.load(Ordering::Relaxed)), |chunk, rows| {
        let n_items = rows.len() as u64;
        sheet.take(chunk, rows, &mut job, shard_size.min(n_total), &mut watch)?;
        watch(meter.add(n_items));
        Ok::<(), JobError>(())
    })?;
    sheet.journal.keep()?;
    let shards = job.manifest().done.values();
    let n_aside = shards.clone().map(|shard| shard.aside.len() as u64).sum();
    let n_done: u64 = shards.clone().map(|shard| shard.n_items).sum();
    let n_rows = shards.flat_map(|shard| shard.files.values()).sum();
    let n_left = n_total.saturating_sub(n_done).saturating_sub(sheet.kept.n_items);
    Ok(Annotated { n_rows, n_aside, n_repeats: repeats.len(), n_left })
}

/// What the table depends on. Paths may move, so the input is known by the names and rows of its files.
fn job_settings(
    settings: &AnnotateSettings,
    identity: &Identity,
    n_input: u64,
) -> Result<BTreeMap<String, String>, JobError> {
    let names: Vec<String> = table_files(&settings.positions)?
        .iter()
        .map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    Ok([
        ("input", names.join(" ")),
        ("input rows", n_input.to_string()),
        ("shard size", settings.shard_size.to_string()),
        ("oracle", identity.name.clone()),
        ("oracle version", identity.version.clone()),
        ("oracle settings", identity.settings.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

/// Where the positions of a job belong.
struct Chunk {
    shard: u64,
    /// Whether the shard ends with it.
    last: bool,
}

/// The jobs that are still to do.
struct Work<'a> {
    rows: std::iter::Zip<std::ops::RangeFrom<u64>, TableReader<PositionRow>>,
    repeats: &'a RowSet,
    done: Vec<u64>,
    /// The shard in work, and how many of its items an earlier run has kept.
    kept: (u64, u64),
    pace: Pace,
    line: Arc<str>,
    oracle: Arc<OracleName>,
    shard_size: u64,
    /// Unique positions seen so far.
    n_seen: u64,
    n_total: u64,
}

impl<'a> Work<'a> {
    fn new(
        settings: &AnnotateSettings,
        request: &Request,
        repeats: &'a RowSet,
        job: &Job,
        kept: (u64, u64),
    ) -> Result<Self, JobError> {
        Ok(Self {
            rows: (0..).zip(TableReader::open(&settings.positions)?),
            repeats,
            done: job.manifest().done.keys().copied().collect(),
            kept,
            pace: request.pace.clone(),
            line: request.line.as_str().into(),
            oracle: oracle_name(&request.identity),
            shard_size: settings.shard_size.max(1),
            n_seen: 0,
            n_total: n_rows(&settings.positions)? - repeats.len(),
        })
    }

    /// Whether a job ends behind the position at this place of its shard.
    fn is_full(&self, n_rows: usize, place: u64) -> bool {
        match self.pace {
            // Small ones at the end, so that no thread is left with a long one when the others are done.
            Pace::ByTime(_) => {
                let n_left = (self.n_total - self.n_seen) as usize;
                n_rows >= self.pace.job_size().min((n_left + n_rows) / 8).max(1)
            }
            // Cut at the same places wherever an earlier run was stopped, so that its jobs are found again.
            Pace::Fixed(_) => (place + 1).is_multiple_of(self.pace.job_size() as u64),
        }
    }
}

impl Iterator for Work<'_> {
    type Item = Result<(Chunk, AnnotateInput), JobError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rows = Vec::new();
        loop {
            let (idx, row) = self.rows.next()?;
            let row = match row {
                Ok(row) => row,
                Err(error) => return Some(Err(error.into())),
            };
            if self.repeats.contains(idx) {
                continue;
            }
            let (shard, place) = (self.n_seen / self.shard_size, self.n_seen % self.shard_size);
            self.n_seen += 1;
            let last = self.n_seen.is_multiple_of(self.shard_size) || self.n_seen == self.n_total;
            let is_kept = shard == self.kept.0 && place < self.kept.1;
            if is_kept || self.done.binary_search(&shard).is_ok() {
                continue;
            }
            rows.push(row);
            if last || self.is_full(rows.len(), place) {
                let (line, oracle) = (Arc::clone(&self.line), Arc::clone(&self.oracle));
                return Some(Ok((Chunk { shard, last }, AnnotateInput { line, oracle, rows })));
            }
        }
    }
}

/// The row of a ranking.
pub(crate) fn annotation(
    position: &Position,
    ranking: &Ranking,
    game_id: Option<String>,
    oracle: &Arc<OracleName>,
) -> Result<AnnotationRow, String> {
    let n_legal = position.n_legal_moves();
    if ranking.moves.len() != n_legal {
        return Err(format!("{} rankings for {n_legal} legal moves", ranking.moves.len()));
    }
    let mut moves = Vec::with_capacity(n_legal);
    for judged in &ranking.moves {
        let text = position.move_text(judged.mv);
        moves.push(MoveRow {
            mv: MoveText::from(&text).map_err(|_| format!("'{text}' is too long for a move"))?,
            win_probability: Some(judged.win_probability),
            score: Some(score(judged.score)),
            plies: judged.plies.map(|plies| plies as i32),
        });
    }
    Ok(AnnotationRow {
        place: Place::of(position, game_id),
        best: moves.first().map(|row| row.mv),
        value: moves.first().and_then(|row| row.win_probability),
        moves,
        oracle: Arc::clone(oracle),
    })
}

fn score(score: Score) -> (f32, ScoreUnit) {
    match score {
        Score::Centipawns(centipawns) => (centipawns as f32, ScoreUnit::Centipawns),
        Score::Mate(moves) => (moves as f32, ScoreUnit::Mate),
        Score::Solved(score) => (score as f32, ScoreUnit::Solved),
        Score::WinRate(rate) => (rate, ScoreUnit::WinRate),
        Score::Margin(margin) => (margin, ScoreUnit::Margin),
    }
}

/// The identity of an oracle as a table keeps it.
pub(crate) fn oracle_name(identity: &Identity) -> Arc<OracleName> {
    Arc::new(OracleName {
        name: identity.name.clone(),
        version: identity.version.clone(),
        settings: identity.settings.clone(),
    })
}
